// SPDX-License-Identifier: Apache-2.0

package conflist_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/containernetworking/cni/libcni"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

// checkEnsure runs Ensure and says which of its promises it breaks; nil when it keeps them. The property test and the
// fuzz targets share it.
func checkEnsure(data, entry []byte) error {
	original := bytes.Clone(data)
	out, err := conflist.Ensure(data, entry, supported)
	if !bytes.Equal(data, original) {
		return errors.New("wrote to its input")
	}
	if err != nil {
		return checkRefusal(data, out, err)
	}

	base, _, err := conflist.Remove(data)
	if err != nil {
		return fmt.Errorf("accepted what Remove refuses: %w", err)
	}
	back, n, err := conflist.Remove(out)
	switch {
	case err != nil:
		return fmt.Errorf("remove what was inserted: %w", err)
	case n != 1:
		return fmt.Errorf("%d entries are there afterwards", n)
	case !bytes.Equal(back, base):
		return fmt.Errorf("removing gives back %q, not %q", back, base)
	}

	again, err := conflist.Ensure(out, entry, supported)
	switch {
	case err != nil:
		return fmt.Errorf("ensure again: %w", err)
	case &again[0] != &out[0]:
		return fmt.Errorf("a second pass writes %q", again)
	}

	if bytes.Equal(base, data) && !onePieceInserted(data, out, entry) {
		return fmt.Errorf("bytes outside the element changed: %q", out)
	}
	return checkRead(base, out, entry)
}

// checkRead holds what libcni reads of a list with our entry against what it reads of the same list without.
func checkRead(without, with, entry []byte) error {
	was, err := libcni.NetworkConfFromBytes(without)
	if err != nil {
		return fmt.Errorf("libcni does not read the list that was accepted: %w", err)
	}
	is, err := libcni.NetworkConfFromBytes(with)
	if err != nil {
		return fmt.Errorf("libcni does not read the edited list: %w", err)
	}
	if diff := differenceButOurs(was, is); diff != "" {
		return fmt.Errorf("libcni reads another %s", diff)
	}
	wanted, err := libcni.NetworkPluginConfFromBytes(entry)
	if err != nil {
		return err
	}
	names := types(is)
	at := slices.Index(names, conflist.PluginType)
	if at < 1 || slices.Contains(names[at+1:], conflist.PluginType) {
		return fmt.Errorf("libcni reads %v", names)
	}
	// InjectConf decodes and encodes both, which gives them one order of keys.
	got, errGot := libcni.InjectConf(is.Plugins[at], nil)
	want, errWant := libcni.InjectConf(wanted, nil)
	if errGot != nil || errWant != nil || !bytes.Equal(got.Bytes, want.Bytes) {
		return fmt.Errorf("libcni reads the entry as %s", is.Plugins[at].Bytes)
	}
	return nil
}

// checkRefusal holds a refusal against its promises: named, with advice, never for a reason inside this package, and
// never blaming libcni for what libcni accepts.
func checkRefusal(data, out []byte, err error) error {
	var refusal *conflist.Refusal
	if !errors.As(err, &refusal) {
		return fmt.Errorf("an error that is no refusal: %w", err)
	}
	switch {
	case out != nil:
		return fmt.Errorf("bytes beside the refusal: %q", out)
	case refusal.Code == "" || len(refusal.Detail) < 20:
		return fmt.Errorf("a refusal without reason: %w", refusal)
	case refusal.Code == conflist.CodeCheckFailed:
		return errors.New("an edit went wrong")
	case refusal.Code == conflist.CodeUnreadable:
		if readByLibcni(data) == nil {
			return fmt.Errorf("libcni reads this: %w", refusal)
		}
	case refusal.Temporary != (refusal.Code == conflist.CodeEmpty || refusal.Code == conflist.CodeInvalidJSON):
		return fmt.Errorf("temporary is %v: %w", refusal.Temporary, refusal)
	}
	return nil
}

// readByLibcni reads what has plugins as a list, and all else as the configuration of a single plugin: as a list it would
// be one whose plugins are in files of their own, of which libcni looks at hardly anything.
func readByLibcni(data []byte) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return err
	}
	if _, ok := keys["plugins"]; ok {
		_, err := libcni.NetworkConfFromBytes(data)
		return err
	}
	_, err := libcni.NetworkPluginConfFromBytes(data)
	return err
}

// onePieceInserted reports whether out is data with one piece put in, which is a comma, white space and entry.
func onePieceInserted(data, out, entry []byte) bool {
	size := len(out) - len(data)
	if size == 0 {
		return bytes.Equal(data, out)
	}
	for at := bytes.Index(out, entry) + len(entry) - size; at >= 0 && at <= len(data); {
		piece := out[at : at+size]
		separator, isEntry := bytes.CutSuffix(piece, entry)
		if isEntry && string(bytes.Trim(separator, " \t\r\n")) == "," && bytes.Equal(out[:at], data[:at]) && bytes.Equal(out[at+size:], data[at:]) {
			return true
		}
		next := bytes.Index(out[at+size:], entry) // the same bytes may have been elsewhere before
		if next < 0 {
			return false
		}
		at += next + len(entry)
	}
	return false
}

// checkRemove runs Remove and says which of its promises it breaks.
func checkRemove(data []byte) error {
	original := bytes.Clone(data)
	out, n, err := conflist.Remove(data)
	if !bytes.Equal(data, original) {
		return errors.New("wrote to its input")
	}
	if err != nil {
		return checkRefusal(data, out, err)
	}
	if n == 0 {
		if len(data) > 0 && &out[0] != &data[0] {
			return errors.New("other bytes without a removal")
		}
		return nil
	}
	again, more, err := conflist.Remove(out)
	if err != nil || more != 0 || !bytes.Equal(again, out) {
		return fmt.Errorf("a second pass finds %d entries: %w", more, err)
	}
	was, err := libcni.NetworkConfFromBytes(data)
	if err != nil {
		return nil //nolint:nilerr // a list that libcni does not read may be cleaned all the same
	}
	is, err := libcni.NetworkConfFromBytes(out)
	if err != nil {
		return fmt.Errorf("libcni no longer reads the list: %w", err)
	}
	if slices.Contains(types(is), conflist.PluginType) {
		return fmt.Errorf("libcni still reads %v", types(is))
	}
	if len(was.Plugins)-len(is.Plugins) != n {
		return fmt.Errorf("%d removed of %v", n, types(was))
	}
	if diff := differenceButOurs(was, is); diff != "" {
		return fmt.Errorf("libcni reads another %s", diff)
	}
	return nil
}

// checkInspect holds Inspect against libcni.
func checkInspect(data []byte) error {
	info, err := conflist.Inspect(data)
	if err != nil {
		return checkRefusal(data, nil, err)
	}
	if info.Single {
		conf, err := libcni.NetworkPluginConfFromBytes(data)
		if err != nil {
			return fmt.Errorf("libcni does not read the plugin: %w", err)
		}
		if conf.Network.Type != info.Plugins[0] {
			return fmt.Errorf("libcni reads the type %q", conf.Network.Type)
		}
		return nil
	}
	l, err := libcni.NetworkConfFromBytes(data)
	switch {
	case err != nil:
		return fmt.Errorf("libcni does not read the list: %w", err)
	case l.Name != info.Name || !slices.Equal(types(l), info.Plugins):
		return fmt.Errorf("libcni reads %q %v", l.Name, types(l))
	case l.DisableCheck != info.DisableCheck, l.DisableGC != info.DisableGC, l.LoadOnlyInlinedPlugins != info.LoadOnlyInlinedPlugins:
		return fmt.Errorf("libcni reads other flags: %+v", l)
	case slices.Contains(supported, info.CNIVersion) && l.CNIVersion != info.CNIVersion:
		return fmt.Errorf("libcni reads cniVersion %q, not %q", l.CNIVersion, info.CNIVersion)
	}
	return nil
}
