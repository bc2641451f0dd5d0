// SPDX-License-Identifier: Apache-2.0

// Package churn keeps pods coming and going, and remembers what became of them.
//
// It uses one Deployment of the default namespace, whose oldest running pods it deletes again and again.
package churn

import (
	"maps"
	"slices"
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
	stop chan struct{}
	done chan struct{}

	// Written by the loop until done is closed.
	statuses map[string]string
	err      error
}

// Start makes the Deployment and begins. Stop must be called; it is at the end of the Ginkgo node.
func Start(api *stack.APIServer, name string, replicas int) *Churn {
	ginkgo.GinkgoHelper()
	c := &Churn{api: api, name: name, stop: make(chan struct{}), done: make(chan struct{}), statuses: map[string]string{}}
	api.Apply(stack.DeploymentObject(name, replicas))
	go c.loop()
	ginkgo.DeferCleanup(func() {
		if c.stop != nil {
			c.Stop()
		}
	})
	return c
}

// Stop ends it and deletes the Deployment. It returns the network-status of every pod that had one, by the pods' names.
func (c *Churn) Stop() map[string]string {
	ginkgo.GinkgoHelper()
	close(c.stop)
	c.stop = nil
	<-c.done
	gomega.Expect(c.err).NotTo(gomega.HaveOccurred())
	// Those that came since the last look.
	gomega.Expect(c.look()).Error().NotTo(gomega.HaveOccurred())
	_, err := c.api.Kubectl("delete", "deployment", c.name, "--cascade=foreground", "--timeout=3m")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return maps.Clone(c.statuses)
}

func (c *Churn) loop() {
	defer close(c.done)
	stop := c.stop
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticks.C:
		}
		pods, err := c.look()
		if err == nil && len(pods) > 0 {
			_, err = c.api.Kubectl(append([]string{"delete", "pod", "--wait=false"}, pods...)...)
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
	var running []string
	for _, pod := range pods {
		if status := pod.NetworkStatus(); status != "" {
			c.statuses[pod.Metadata.Name] = status
			if pod.Status.Phase == "Running" && pod.Metadata.DeletionTimestamp == "" {
				running = append(running, pod.Metadata.Name)
			}
		}
	}
	slices.Sort(running)
	return running[:min(batch, len(running))], nil
}
