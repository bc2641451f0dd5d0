// SPDX-License-Identifier: Apache-2.0

package conflist_test

import (
	"errors"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

func TestConflist(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "conflist")
}

// ours is the entry without settings.
const ours = `{"type":"result-enricher"}`

// supported is what the plugin's VERSION answer lists.
var supported = []string{"0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"}

// list wraps the bytes of a plugins array in a conflist.
func list(plugins string) string {
	return `{"cniVersion":"0.3.1","name":"net","plugins":` + plugins + `}`
}

// code gives the code of a refusal, "" for no error.
func code(err error) string {
	if err == nil {
		return ""
	}
	var refusal *conflist.Refusal
	if !errors.As(err, &refusal) {
		return "no refusal: " + err.Error()
	}
	return refusal.Code
}
