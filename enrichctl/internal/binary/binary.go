// SPDX-License-Identifier: Apache-2.0

// Package binary puts the plugin's binary into the directories where runtimes look
// for it, and tells what is there.
//
// It changes nothing but the file result-enricher in the directories it is given,
// through package swap, and runs the plugin with CNI_COMMAND=VERSION or with no
// CNI_COMMAND at all, both of which touch nothing.
//
// The convention it relies on: a runtime finds a plugin by its type, which is the
// name of a file in one of its binary directories.
package binary

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/containernetworking/cni/pkg/version"
)

// runTime bounds one run of a plugin, which takes milliseconds.
const runTime = 10 * time.Second

// busyPause is waited before a binary that somebody has open for writing is run
// again, busyTries how often.
const (
	busyPause = 20 * time.Millisecond
	busyTries = 50
)

// Supported runs a plugin with CNI_COMMAND=VERSION and gives the CNI versions of its
// answer. An error says that the file is no plugin that runs here.
func Supported(ctx context.Context, path string) ([]string, error) {
	stdout, stderr, err := run(ctx, path, "CNI_COMMAND=VERSION")
	if err != nil {
		return nil, fmt.Errorf("run %s with CNI_COMMAND=VERSION: %w%s", path, err, quoted(stderr))
	}
	info, err := (&version.PluginDecoder{}).Decode(stdout)
	if err != nil {
		return nil, fmt.Errorf("read what %s answered to CNI_COMMAND=VERSION: %w", path, err)
	}
	if len(info.SupportedVersions()) == 0 {
		return nil, fmt.Errorf("run %s with CNI_COMMAND=VERSION: it supports no version", path)
	}
	return info.SupportedVersions(), nil
}

var aboutLine = regexp.MustCompile(`(?m)^CNI plugin result-enricher (.+)$`)

// Version gives the version that the plugin tells a person who starts it, or an error.
func Version(ctx context.Context, path string) (string, error) {
	_, stderr, err := run(ctx, path)
	if err != nil {
		return "", fmt.Errorf("run %s: %w%s", path, err, quoted(stderr))
	}
	match := aboutLine.FindSubmatch(stderr)
	if match == nil {
		return "", fmt.Errorf("run %s: it does not say that it is result-enricher", path)
	}
	return string(match[1]), nil
}

// run starts a plugin with nothing in its environment but env. Somebody who forks
// while a binary is written holds it open for writing until the exec, and the kernel then
// refuses to run it ("text file busy"): that passes by itself.
func run(ctx context.Context, path string, env ...string) (stdout, stderr []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	for try := 0; ; try++ {
		var out, errs bytes.Buffer
		cmd := exec.CommandContext(ctx, path)
		cmd.Env = append([]string{}, env...)
		cmd.Dir = "/"
		cmd.Stdin = strings.NewReader(`{"cniVersion":"1.0.0"}`)
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		if !errors.Is(err, unix.ETXTBSY) || try == busyTries {
			return out.Bytes(), errs.Bytes(), err
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(busyPause):
		}
	}
}

func quoted(stderr []byte) string {
	text := strings.TrimSpace(string(stderr))
	if text == "" {
		return ""
	}
	return fmt.Sprintf(" (it said: %.300q)", text)
}

// Sum is the SHA-256 of a file.
type Sum [sha256.Size]byte

func (s Sum) String() string { return hex.EncodeToString(s[:]) }

func sumOf(path string) (Sum, error) {
	f, err := os.Open(path)
	if err != nil {
		return Sum{}, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return Sum{}, fmt.Errorf("read %s: %w", path, err)
	}
	return Sum(h.Sum(nil)), nil
}
