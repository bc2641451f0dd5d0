// SPDX-License-Identifier: Apache-2.0

// Package churn keeps pods coming and going, and remembers what became of them.
//
// It uses one Deployment of the default namespace, of whose running pods it deletes some again and again.
package churn

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/stack"
)

const (
	// interval is the time between two looks at the pods.
	interval = 500 * time.Millisecond
	// batch is how many go at a time.
	batch = 2
)

// Churn is a Deployment whose pods come and go.
type Churn struct {
	api  *stack.APIServer
	name string
	stop context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	statuses map[string]string

	// The loop's, until done is closed.
	err error
}

// Start makes the Deployment and begins. It goes on until Stop, or the end of the running Ginkgo node.
func Start(api *stack.APIServer, name string, replicas int) *Churn {
	ginkgo.GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	c := &Churn{api: api, name: name, stop: cancel, done: make(chan struct{}), statuses: map[string]string{}}
	api.Apply(stack.DeploymentObject(name, replicas))
	go c.loop(ctx)
	ginkgo.DeferCleanup(c.end)
	return c
}

// Stop ends it and deletes the Deployment. It returns the Statuses.
func (c *Churn) Stop() map[string]string {
	ginkgo.GinkgoHelper()
	c.end()
	gomega.Expect(c.err).NotTo(gomega.HaveOccurred())
	// For the pods that came since the last look.
	_, err := c.look()
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = c.api.Kubectl("delete", "deployment", c.name, "--cascade=foreground", "--timeout=3m")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return c.Statuses()
}

// Statuses returns the network-status of every pod that has had one so far, by the pods' names.
func (c *Churn) Statuses() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.statuses)
}

func (c *Churn) end() {
	c.stop()
	<-c.done
}

func (c *Churn) loop(ctx context.Context) {
	defer close(c.done)
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		pods, err := c.look()
		if err == nil && len(pods) > 0 {
			_, err = c.api.Kubectl(append([]string{"delete", "pod", "--wait=false", "--ignore-not-found"}, pods...)...)
		}
		if err != nil {
			c.err = err
			return
		}
	}
}

// look notes what can be seen, and returns the pods whose turn it is to go.
func (c *Churn) look() ([]string, error) {
	pods, err := c.api.Pods("app=" + c.name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var running []string
	for _, pod := range pods {
		if status := pod.NetworkStatus(); status != "" {
			c.statuses[pod.Metadata.Name] = status
			if pod.Status.Phase == "Running" && pod.Metadata.DeletionTimestamp == "" {
				running = append(running, pod.Metadata.Name)
			}
		}
	}
	return running[:min(batch, len(running))], nil
}
