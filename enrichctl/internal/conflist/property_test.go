// SPDX-License-Identifier: Apache-2.0

package conflist_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

var _ = Describe("random lists", func() {
	// Seeded by ginkgo's --seed, so that a failure can be run again.
	newWriter := func() *writer {
		return &writer{Rand: rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 7))}
	}
	const rounds = 800

	It("without our entry are accepted, and come back byte for byte", func() {
		w := newWriter()
		for range rounds {
			data := []byte(w.conflist(false))
			entry := w.entry()
			out, err := conflist.Ensure(data, entry, supported)
			Expect(err).NotTo(HaveOccurred(), "%q", data)
			back, n, err := conflist.Remove(out)
			Expect(err).NotTo(HaveOccurred(), "%q", out)
			Expect(n).To(Equal(1), "%q", out)
			Expect(bytes.Equal(back, data)).To(BeTrue(), "%q became %q", data, back)
			Expect(checkEnsure(data, entry)).To(Succeed(), "%q", data)
		}
	})

	It("with our entry anywhere keep every promise", func() {
		w := newWriter()
		moved := 0
		for range rounds {
			data := []byte(w.conflist(true))
			Expect(checkEnsure(data, w.entry())).To(Succeed(), "%q", data)
			Expect(checkRemove(data)).To(Succeed(), "%q", data)
			Expect(checkInspect(data)).To(Succeed(), "%q", data)
			if info, err := conflist.Inspect(data); err == nil && info.InFront() {
				moved++
			}
		}
		Expect(moved).To(BeNumerically(">", 20), "the generator makes the hard cases too")
	})

	It("cut off anywhere are not ready, and never an edit", func() {
		w := newWriter()
		for range 200 {
			data := []byte(strings.TrimSpace(w.conflist(true)))
			cut := data[:w.IntN(len(data))]
			out, err := conflist.Ensure(cut, []byte(ours), supported)
			Expect(out).To(BeNil())
			Expect(code(err)).To(Or(Equal(conflist.CodeInvalidJSON), Equal(conflist.CodeEmpty)), "%q", cut)
			Expect(checkRefusal(cut, nil, err)).To(Succeed()) // both codes are temporary
		}
	})
})

// writer writes random conflists that every reader accepts.
type writer struct{ *rand.Rand }

func (w *writer) pick(of ...string) string { return of[w.IntN(len(of))] }

func (w *writer) space() string {
	return w.pick("", "", "", " ", "\n", "\r\n", "\t", "\n    ", "\r\n\t\t", "  \n\n ")
}

func (w *writer) entry() []byte {
	entry, err := conflist.Entry([]byte(w.pick(`{}`, `{"gateways":true}`, `{ "n" : 1e3, "x": {"type":"y", "a":[1, 2]} }`, `{"logLevel":"debug","ü":"<&>"}`)))
	Expect(err).NotTo(HaveOccurred())
	return entry
}

func (w *writer) conflist(withOurs bool) string {
	plugins := []string{w.plugin()}
	for w.IntN(3) > 0 {
		plugins = append(plugins, w.plugin())
	}
	if withOurs {
		for range 1 + w.IntN(3) {
			at := w.IntN(len(plugins) + 1)
			plugins = append(plugins[:at], append([]string{w.own()}, plugins[at:]...)...)
		}
	}
	var array strings.Builder
	for i, p := range plugins {
		if i > 0 {
			array.WriteString(w.space() + ",")
		}
		array.WriteString(w.space() + p)
	}
	members := []string{
		w.member(w.pick(`"name"`, `"n\u0061me"`), w.text()),
		w.member(w.pick(`"plugins"`, `"plu\u0067ins"`), "["+array.String()+w.space()+"]"),
		w.member(w.pick(`"cniVersion"`, `"\u0063niVersion"`), w.pick(`"0.3.0"`, `"0.3.1"`, `"0.4.0"`, `"1.0.0"`, `"1.1.0"`)),
	}
	for _, optional := range []string{
		`"disableCheck":true`, `"disableGC" : "False"`, `"loadOnlyInlinedPlugins":false`, `"cniVersions":["1.0.0", "0.2.0"]`,
		`"unknown":{"plugins":[{"type":"result-enricher"}]}`, `"type":"odd"`, `"NAMES":[null]`,
	} {
		if w.IntN(4) == 0 {
			members = append(members, optional)
		}
	}
	return w.space() + w.object(members) + w.space()
}

func (w *writer) member(key, value string) string {
	return key + w.space() + ":" + w.space() + value
}

func (w *writer) object(members []string) string {
	w.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	var b strings.Builder
	b.WriteString("{" + w.space())
	for i, m := range members {
		if i > 0 {
			b.WriteString(w.space() + "," + w.space())
		}
		b.WriteString(m)
	}
	return b.String() + w.space() + "}"
}

func (w *writer) plugin() string {
	members := []string{w.member(w.pick(`"type"`, `"type"`, `"\u0074ype"`, `"Type"`),
		w.pick(`"calico"`, `"portmap"`, `"tc-redirect-tap"`, `"loopback"`, `"RESULT-ENRICHER"`, `"b\u0061ndwidth"`, `"result-enricher2"`))}
	for i := range w.IntN(4) {
		members = append(members, w.member(fmt.Sprintf(`"k%d"`, i), w.value(3)))
	}
	if w.IntN(3) == 0 {
		members = append(members, w.member(`"ipam"`, w.object([]string{w.member(`"type"`, w.text())})))
	}
	return w.object(members)
}

func (w *writer) own() string {
	members := []string{w.member(w.pick(`"type"`, `"type"`, `"t\u0079pe"`, `"TYPE"`), w.pick(`"result-enricher"`, `"result\u002denricher"`))}
	if w.IntN(2) == 0 {
		members = append(members, w.member(w.pick(`"gateways"`, `"x"`), w.value(2)))
	}
	return w.object(members)
}

func (w *writer) text() string {
	raw := w.pick("", "net", "a b", "]}", `"type":"result-enricher"`, `\"`, "ü\u2028", "<&>", "[{", "\x7f")
	encoded, err := json.Marshal(raw)
	Expect(err).NotTo(HaveOccurred())
	return string(encoded)
}

func (w *writer) value(depth int) string {
	if depth == 0 || w.IntN(3) > 0 {
		return w.pick("null", "true", "0", "-0.0", "1e3", "1E-7", "18446744073709551616", "0.1000", `"9001"`, "[]", "{}", w.text())
	}
	if w.IntN(2) == 0 {
		return "[" + w.space() + w.value(depth-1) + w.space() + "," + w.value(depth-1) + "]"
	}
	return w.object([]string{w.member(`"type"`, w.pick(`"result-enricher"`, `"x"`)), w.member(`"plugins"`, w.value(depth-1))})
}
