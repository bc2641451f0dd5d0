// SPDX-License-Identifier: Apache-2.0

package attachment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/utils"
)

// maxSize bounds what is read of one file, in bytes.
const maxSize = 16 << 20

// record is one file of libcni's cache.
type record struct {
	path        string
	containerID string
	network     string
	ifName      string
	// netns is empty in files of libcni before v1.3.
	netns string
	// cniVersion is the configuration's, for a Result that says none.
	cniVersion string
	result     []byte
}

// errForeign: the file is none of libcni's, or another container's.
var errForeign = errors.New("not libcni's")

// readCache reads the records of one container, or of all for an empty ID.
// Directories that do not exist hold nothing.
func readCache(dirs []string, containerID string) ([]record, error) {
	var all []record
	var errs []error
	var read []string
	for _, dir := range dirs {
		for _, d := range []string{dir, filepath.Join(dir, "results")} {
			target, err := filepath.EvalSymlinks(d)
			if errors.Is(err, fs.ErrNotExist) || err == nil && slices.Contains(read, target) {
				continue
			}
			read = append(read, target)
			found, err := readDir(d, containerID)
			errs = append(errs, err)
			all = append(slices.DeleteFunc(all, func(r record) bool {
				return slices.ContainsFunc(found, func(later record) bool {
					return later.containerID == r.containerID && later.ifName == r.ifName
				})
			}), found...)
		}
	}
	return all, errors.Join(errs...)
}

func readDir(dir, containerID string) ([]record, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	var found []record
	var errs []error
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		r, err := readFile(path, containerID)
		switch {
		case err == nil:
			found = append(found, r)
		case errors.Is(err, errForeign), errors.Is(err, fs.ErrNotExist): // the container went meanwhile
		case containerID == "" || strings.Contains(e.Name(), "-"+containerID+"-"):
			errs = append(errs, fmt.Errorf("%w: %s: %w", ErrUnreadable, path, err))
		}
	}
	return found, errors.Join(errs...)
}

func readFile(path, containerID string) (record, error) {
	file, err := os.Open(path)
	if err != nil {
		return record{}, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	switch {
	case err != nil:
		return record{}, err
	case len(data) > maxSize:
		return record{}, fmt.Errorf("larger than %d bytes", maxSize)
	}
	return parseFile(path, data, containerID)
}

// cached are the keys of libcni's cachedInfo. NetNS came with v1.3.0.
type cached struct {
	Kind        string          `json:"kind"`
	ContainerID string          `json:"containerId"`
	Config      []byte          `json:"config"`
	IfName      string          `json:"ifName"`
	NetworkName string          `json:"networkName"`
	NetNS       string          `json:"netns"`
	Result      json.RawMessage `json:"result"`
	// CNIVersion is not in files of a kind, but in the bare Results before.
	CNIVersion string `json:"cniVersion"`
}

// parseFile takes the owner from the content: network names and IDs may have
// the dashes that separate them in a file's name.
func parseFile(path string, data []byte, containerID string) (record, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return record{}, errors.New("empty; the plugin may still be running, or the disk was full")
	}
	var c cached
	if err := json.Unmarshal(data, &c); err != nil {
		if json.Valid(data) {
			return record{}, errForeign // multus's scratch is an array
		}
		return record{}, err
	}
	switch {
	case c.Kind == "" && c.CNIVersion != "":
		return legacy(path, data, containerID)
	case c.Kind != "cniCacheV1":
		return record{}, errForeign
	case containerID != "" && c.ContainerID != containerID:
		return record{}, errForeign
	}
	if err := plausible(c.ContainerID, c.NetworkName, c.IfName); err != nil {
		return record{}, err
	}
	r := record{
		path: path, containerID: c.ContainerID, network: c.NetworkName, ifName: c.IfName,
		netns: c.NetNS, result: c.Result, cniVersion: configVersion(c.Config),
	}
	if len(r.result) == 0 || bytes.Equal(r.result, []byte("null")) {
		// libcni leaves out an empty Result.
		r.result, r.cniVersion = []byte("{}"), types100.ImplementedSpecVersion
	}
	return r, nil
}

// plausible holds what libcni itself asks of these names.
func plausible(containerID, network, ifName string) error {
	if err := utils.ValidateContainerID(containerID); err != nil {
		return err
	}
	if err := utils.ValidateNetworkName(network); err != nil {
		return err
	}
	if err := utils.ValidateInterfaceName(ifName); err != nil {
		return err
	}
	return nil
}

// configVersion is the cniVersion of the cached configuration. One that does not
// say it has the first version there was.
func configVersion(config []byte) string {
	var head struct {
		CNIVersion string `json:"cniVersion"`
	}
	if err := json.Unmarshal(config, &head); err != nil || head.CNIVersion == "" {
		return "0.1.0"
	}
	return head.CNIVersion
}
