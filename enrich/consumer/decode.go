// SPDX-License-Identifier: Apache-2.0

package consumer

import (
	"encoding/json"
	"errors"
	"fmt"

	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
)

// How a consumer fails.
var (
	// ErrPanic: the consumer panics. In containerd and multus's daemon this ends
	// the process.
	ErrPanic = errors.New("panic")
	// ErrRefused: the consumer returns an error, and the pod does not start.
	ErrRefused = errors.New("refused")
	// ErrNoMachine: the Result describes no virtual machine. It is ErrRefused for
	// Firecracker, and nothing wrong for a chain that ends before a tap is made.
	ErrNoMachine = fmt.Errorf("%w: no entry has the container's ID as sandbox", ErrRefused)
)

func panics(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrPanic, fmt.Sprintf(format, args...))
}

func refuses(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// Decode gives the Result as a consumer gets it from libcni: decoded in its own
// version and converted to the newest. A Result that says no version has the
// configuration's, cniVersion.
//
// The converters from 0.3.0 to 0.4.0 panic on null entries; that is an ErrPanic.
func Decode(raw []byte, cniVersion string) (result *types100.Result, err error) {
	var keys map[string]any
	if err := json.Unmarshal(raw, &keys); err != nil {
		return nil, refuses("decode the Result: %v", err)
	}
	said, ok := keys["cniVersion"].(string)
	if !ok || said == "" {
		if keys == nil {
			keys = map[string]any{}
		}
		keys["cniVersion"], said = cniVersion, cniVersion
		if raw, err = json.Marshal(keys); err != nil {
			return nil, refuses("encode the Result with its version: %v", err)
		}
	}
	decoded, err := version.NewResult(said, raw)
	if err != nil {
		return nil, refuses("decode the Result: %v", err)
	}
	defer func() {
		if r := recover(); r != nil {
			result, err = nil, panics("the CNI library converts the Result: %v", r)
		}
	}()
	result, err = types100.NewResultFromResult(decoded)
	if err != nil {
		return nil, refuses("convert the Result: %v", err)
	}
	return result, nil
}
