// SPDX-License-Identifier: Apache-2.0

package consumer

import (
	"errors"
	"fmt"

	types100 "github.com/containernetworking/cni/pkg/types/100"
)

// Context is what the consumers know beside the Result.
type Context struct {
	// CNIVersion is the configuration's, for a Result that says none.
	CNIVersion  string
	Network     string
	ContainerID string
	IfName      string
	Netns       string
	// Secondary says that the network is not the cluster's default one.
	Secondary bool
}

// The names of the consumers.
const (
	NameContainerd  = "containerd"
	NameMultus      = "multus"
	NameFirecracker = "firecracker"
	NameNomad       = "nomad"
)

// Names are the consumers in the order of [Predict].
func Names() []string { return []string{NameContainerd, NameMultus, NameFirecracker, NameNomad} }

// How a prediction ends.
const (
	OutcomeGood  = "good"
	OutcomeError = "error"
	OutcomePanic = "panic"
)

// Prediction is what one consumer makes of a Result.
type Prediction struct {
	Consumer string `json:"consumer"`
	// ByReading says that no test holds this against the consumer's own code.
	ByReading bool `json:"byReading,omitempty"`
	// Outcome is "good", "error" or "panic".
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
	// View is a Containerd, []NetworkStatus, Firecracker or Nomad; nil unless the
	// outcome is good.
	View any `json:"view,omitempty"`
	// Faults are what the value lacks. Of what failed, only Firecracker has some:
	// what would be wrong if a tap were made next.
	Faults []Fault `json:"faults,omitempty"`
}

// Fault is something that a consumer does not get, or gets wrong.
type Fault struct {
	// Code is one of the constants.
	Code    string `json:"code"`
	Message string `json:"message"`
}

// What can be wrong with a value.
const (
	FaultNoInterface    = "no-interface"    // the pod's interface is not named
	FaultNoMAC          = "no-mac"          // or its MAC is not
	FaultNoAddress      = "no-address"      // there is no address
	FaultLostAddress    = "lost-address"    // an address is not where it is looked for
	FaultNoDefault      = "no-default"      // no entry is the default network's
	FaultExtraEntry     = "extra-entry"     // an entry is not the pod's interface
	FaultNoGateway      = "no-gateway"      // a gateway is missing where one is wanted
	FaultPanic          = "panic"           // the next plugin panics
	FaultWrongInterface = "wrong-interface" // an interface of the host stands for the pod's
)

// Predict gives all predictions for the JSON of a Result.
func Predict(raw []byte, c Context) []Prediction {
	predictions := make([]Prediction, 0, len(Names()))
	result, err := Decode(raw, c.CNIVersion)
	for _, name := range Names() {
		p := Prediction{Consumer: name, ByReading: name == NameNomad, Outcome: OutcomeGood}
		failed := err
		if failed == nil {
			failed = p.predict(result, c)
		}
		if failed != nil {
			p.View, p.Error, p.Outcome = nil, failed.Error(), OutcomeError
			if errors.Is(failed, ErrPanic) {
				p.Outcome = OutcomePanic
			}
		}
		predictions = append(predictions, p)
	}
	return predictions
}

func (p *Prediction) predict(result *types100.Result, c Context) error {
	switch p.Consumer {
	case NameMultus:
		statuses, err := PredictMultus(result, c.Network, !c.Secondary)
		if err != nil {
			return err
		}
		p.View, p.Faults = statuses, multusFaults(statuses, result, c)
		return nil
	case NameFirecracker:
		return p.firecracker(result, c)
	}
	view, err := PredictContainerd(result, c.IfName)
	if err != nil {
		return err
	}
	if p.Consumer == NameContainerd {
		p.View, p.Faults = view, view.faults(c)
		return nil
	}
	status, err := PredictNomad(view)
	if err != nil {
		return err
	}
	p.View, p.Faults = status, status.faults(c)
	return nil
}

// firecracker describes a chain that ends before a tap is made by what
// tc-redirect-tap would copy for the machine.
func (p *Prediction) firecracker(result *types100.Result, c Context) error {
	view, err := PredictFirecracker(result, c.ContainerID)
	if !errors.Is(err, ErrNoMachine) {
		if err == nil {
			p.View, p.Faults = view, view.faults()
			_, err = view.BootParameter()
		}
		return err
	}
	copied, redirect := PredictRedirect(result, c.IfName, c.Netns)
	if p.Faults = redirectFaults(copied); redirect != nil {
		p.Faults = []Fault{fault(FaultPanic, "tc-redirect-tap would: %v", redirect)}
	}
	return err
}

func fault(code, format string, args ...any) Fault {
	return Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}
