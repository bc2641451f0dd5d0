// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/process"
)

// Etcd is a running etcd of one member.
type Etcd struct {
	// URL is the client URL.
	URL string
}

// StartEtcd starts Debian's etcd.
func StartEtcd() *Etcd {
	ginkgo.GinkgoHelper()
	client := fmt.Sprintf("http://127.0.0.1:%d", freePort())
	peer := fmt.Sprintf("http://127.0.0.1:%d", freePort())
	process.Start(exec.Command("etcd",
		"--data-dir", tempDir("etcd"),
		"--listen-client-urls", client,
		"--advertise-client-urls", client,
		"--listen-peer-urls", peer,
		"--initial-advertise-peer-urls", peer,
		"--initial-cluster", "default="+peer,
		// Durable storage is not what is tested, and other tests may keep the disk busy.
		"--unsafe-no-fsync",
	), answers(plainHTTP, client+"/health"))
	return &Etcd{URL: client}
}

// Put stores a value as JSON.
func (e *Etcd) Put(key string, value any) {
	ginkgo.GinkgoHelper()
	gomega.Expect(e.call("put", object{"key": []byte(key), "value": marshal(value)}, nil)).To(gomega.Succeed())
}

// List returns all keys with the prefix, and their values.
func (e *Etcd) List(prefix string) (map[string][]byte, error) {
	var answer struct {
		Kvs []struct {
			Key   []byte `json:"key"`
			Value []byte `json:"value"`
		} `json:"kvs"`
	}
	// The end of the range is the prefix with its last byte one higher.
	end := []byte(prefix)
	end[len(end)-1]++
	if err := e.call("range", object{"key": []byte(prefix), "range_end": end}, &answer); err != nil {
		return nil, err
	}
	found := map[string][]byte{}
	for _, kv := range answer.Kvs {
		found[string(kv.Key)] = kv.Value
	}
	return found, nil
}

// call uses etcd's JSON gateway, in which keys and values are base64, as Go encodes []byte.
func (e *Etcd) call(method string, request object, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	response, err := plainHTTP.Post(e.URL+"/v3/kv/"+method, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd %s %s: %s", method, strings.TrimSpace(string(body)), response.Status)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}
