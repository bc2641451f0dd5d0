// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/result-enricher/result-enricher/enrich/sandbox"
	"github.com/result-enricher/result-enricher/internal/fieldcase"
	"github.com/result-enricher/result-enricher/plugin"
)

// FuzzStdin gives a command any bytes. Whatever they are: one document or none,
// the exit code that fits it, and under "ignore" no failure of the plugin's own
// once prevResult is an object.
func FuzzStdin(f *testing.F) {
	cases, err := fieldcase.Load("../enrich/testdata/field-cases")
	if err != nil {
		f.Fatal(err)
	}
	for i, c := range cases {
		stdin, err := c.In("/proc/1/nowhere").Stdin()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(stdin, i)
	}
	fixtures, err := filepath.Glob("../enrich/testdata/consumer-fixtures/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for i, file := range fixtures {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(conf("1.0.0", "", string(raw))), i)
	}
	for i, stdin := range []string{"", "{", "null", "[]", `{"prevResult":{}}`, conf("9.9.9", "", calico), conf("0.3.1", `"failurePolicy":"fail"`, calico)} {
		f.Add([]byte(stdin), i)
	}
	commands := []string{"ADD", "CHECK", "DEL", "GC", "STATUS", "VERSION"}
	f.Fuzz(func(t *testing.T, stdin []byte, which int) {
		if config, err := plugin.ParseConfig(stdin); err == nil && config.LogFile != "" {
			return // it would be written, by root maybe
		}
		command := commands[uint(which)%uint(len(commands))]
		env := environment(command, "/proc/1/nowhere")
		var stdout, stderr bytes.Buffer
		code := plugin.Main(plugin.Process{
			Getenv: func(key string) string { return env[key] },
			Stdin:  bytes.NewReader(stdin), Stdout: &stdout, Stderr: &stderr, Open: sandbox.Open,
		})
		checkDocument(t, command, stdout.Bytes(), code)
		if strings.Contains(stderr.String(), "recovered from a panic") {
			t.Errorf("a panic: %s", stderr.String())
		}
		checkPromise(t, command, stdin, stdout.Bytes(), code)
	})
}

func checkDocument(t *testing.T, command string, stdout []byte, code int) {
	silent := command == "DEL" || command == "GC" || command == "STATUS" || command == "CHECK" && code == 0
	switch {
	case silent:
		if code != 0 || len(stdout) > 0 {
			t.Errorf("%s: exit code %d and %q", command, code, stdout)
		}
	case !json.Valid(stdout):
		t.Errorf("%s: not one document: %q", command, stdout)
	case code != 0:
		var e types.Error
		if err := json.Unmarshal(stdout, &e); err != nil || e.Code == 0 || e.Msg == "" {
			t.Errorf("%s: exit code %d without a CNI error: %q", command, code, stdout)
		}
	}
}

func checkPromise(t *testing.T, command string, stdin, stdout []byte, code int) {
	var keys map[string]json.RawMessage
	if command != "ADD" || json.Unmarshal(stdin, &keys) != nil {
		return
	}
	prev := keys["prevResult"]
	_, err := plugin.ParseConfig(stdin)
	var version string
	versionErr := json.Unmarshal(keys["cniVersion"], &version)
	if len(prev) == 0 || prev[0] != '{' || err != nil || versionErr != nil && keys["cniVersion"] != nil {
		return
	}
	if code != 0 && string(keys["failurePolicy"]) != `"fail"` {
		t.Errorf("an ADD failed under ignore: %s", stdout)
	}
}
