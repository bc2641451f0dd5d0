// SPDX-License-Identifier: Apache-2.0

package predictions

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	gocni "github.com/containerd/go-cni"
	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
	"github.com/firecracker-microvm/firecracker-go-sdk/cni/vmconf"
	"github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/utils"

	"github.com/result-enricher/result-enricher/enrich/consumer"
)

// outcome is how a consumer ends, and the value in a form in which ours and theirs can be compared.
type outcome struct {
	How   string
	Value string
}

// observe runs a consumer and makes an outcome of whatever it does.
func observe(consume func() (any, error)) (seen outcome) {
	defer func() {
		if r := recover(); r != nil {
			seen = outcome{How: consumer.OutcomePanic}
		}
	}()
	value, err := consume()
	if err != nil {
		return outcome{How: consumer.OutcomeError}
	}
	return good(value)
}

func good(value any) outcome {
	text, err := json.Marshal(value)
	if err != nil {
		return outcome{How: "not encodable: " + err.Error()}
	}
	return outcome{How: consumer.OutcomeGood, Value: string(text)}
}

// answer stands for a plugin: it answers ADD with the same Result.
type answer []byte

func (a answer) ExecPlugin(context.Context, string, []byte, []string) ([]byte, error) { return a, nil }

func (a answer) FindInPath(plugin string, _ []string) (string, error) { return plugin, nil }

func (a answer) Decode([]byte) (version.PluginInfo, error) { return version.All, nil }

// viaLibcni is the Result as libcni decodes it from what the last plugin printed. The rest of its ADD, the cache, changes
// nothing in it.
func viaLibcni(raw []byte, c consumer.Context) (types.Result, error) {
	conf := fmt.Sprintf(`{"cniVersion":%q,"name":"net","type":"any"}`, c.CNIVersion)
	args := &invoke.Args{Command: "ADD", ContainerID: c.ContainerID, NetNS: c.Netns, IfName: c.IfName}
	return invoke.ExecPluginWithResult(context.Background(), "any", []byte(conf), args, answer(raw))
}

// realContainerd is what go-cni makes of it. Its Setup, which cannot be given a Result, is ADD and these two steps.
func realContainerd(raw []byte, c consumer.Context) outcome {
	return observe(func() (any, error) {
		result, err := viaLibcni(raw, c)
		if err != nil {
			return nil, err
		}
		newest, err := types100.NewResultFromResult(result)
		if err != nil {
			return nil, err
		}
		runtime, err := gocni.New(gocni.WithInterfacePrefix(strings.TrimSuffix(c.IfName, "0")))
		if err != nil {
			return nil, err
		}
		view, err := runtime.(interface {
			GetCNIResultFromResults([]*types100.Result) (*gocni.Result, error)
		}).GetCNIResultFromResults([]*types100.Result{newest})
		if err != nil {
			return nil, err
		}
		return fromGoCNI(view), nil
	})
}

// fromGoCNI is go-cni's value in the form of ours.
func fromGoCNI(view *gocni.Result) consumer.Containerd {
	c := consumer.Containerd{Interfaces: map[string]consumer.ContainerdInterface{}, DNS: view.DNS[0], Routes: view.Routes}
	for name, config := range view.Interfaces {
		e := consumer.ContainerdInterface{
			MAC: config.Mac, Sandbox: config.Sandbox, PciID: config.PciID, SocketPath: config.SocketPath,
			IPs: []consumer.ContainerdIP{},
		}
		for _, ip := range config.IPConfigs {
			e.IPs = append(e.IPs, consumer.ContainerdIP{IP: ip.IP, Gateway: ip.Gateway})
		}
		c.Interfaces[name] = e
	}
	return c
}

// realMultus is the call that multus makes for each network.
func realMultus(raw []byte, c consumer.Context) outcome {
	return observe(func() (any, error) {
		result, err := viaLibcni(raw, c)
		if err != nil {
			return nil, err
		}
		return utils.CreateNetworkStatuses(result, c.Network, !c.Secondary, nil)
	})
}

// machine is a static configuration in a form for both, without the MTU, and with the guest kernel's parameter.
type machine struct {
	Tap, Netns, MAC, Address string
	Gateway                  any
	Routes                   []*types.Route
	DNS                      types.DNS
	Boot                     string
}

// realFirecracker is what the SDK does with the Result of ADD. missing says that it got as far as looking for the tap in
// a namespace, and that there is none.
func realFirecracker(raw []byte, c consumer.Context) (seen outcome, missing bool) {
	seen = observe(func() (any, error) {
		result, err := viaLibcni(raw, c)
		if err != nil {
			return nil, err
		}
		conf, err := vmconf.StaticNetworkConfFrom(result, c.ContainerID)
		if err != nil {
			missing = strings.HasPrefix(err.Error(), "failed to find netns") || strings.HasPrefix(err.Error(), "failed to find MTU")
			return nil, err
		}
		return machine{
			Tap: conf.TapName, Netns: conf.NetNSPath, MAC: conf.VMMacAddr, Address: conf.VMIPConfig.Address.String(),
			Gateway: conf.VMIPConfig.Gateway, Routes: conf.VMRoutes, Boot: conf.IPBootParam(),
			DNS: types.DNS{
				Nameservers: conf.VMNameservers, Domain: conf.VMDomain, Search: conf.VMSearchDomains, Options: conf.VMResolverOptions,
			},
		}, nil
	})
	return seen, missing
}

// predicted gives our outcome for one consumer.
func predicted(raw []byte, c consumer.Context, name string) outcome {
	for _, p := range consumer.Predict(raw, c) {
		switch {
		case p.Consumer != name:
			continue
		case p.Outcome != consumer.OutcomeGood:
			return outcome{How: p.Outcome}
		}
		if f, ok := p.View.(consumer.Firecracker); ok {
			boot, err := f.BootParameter()
			if err != nil {
				return outcome{How: err.Error()} // Predict has it as the outcome
			}
			return good(machine{
				Tap: f.Tap, Netns: f.Netns, MAC: f.MAC, Address: f.Address.String(), Gateway: f.Gateway,
				Routes: f.Routes, DNS: f.DNS, Boot: boot,
			})
		}
		return good(p.View)
	}
	return outcome{How: "no prediction"}
}
