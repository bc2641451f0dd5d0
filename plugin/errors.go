// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/result-enricher/result-enricher/enrich"
	"github.com/result-enricher/result-enricher/enrich/sandbox"
)

// Causes that arise in this package. Those of the sandbox and of the rules have
// their sentinels there.
var (
	errVersion      = errors.New("incompatible CNI versions")
	errEnvironment  = errors.New("invalid environment variables")
	errDecoding     = errors.New("cannot decode")
	errConfig       = errors.New("invalid configuration")
	errOwnNamespace = errors.New("plugin's netns and netns from CNI_NETNS should not be the same")
	errMACDiffers   = errors.New("mac of the pod link is not that of prevResult")
	errPanic        = errors.New("panic in the plugin")
)

// Codes from 100 on are the plugin's own (CNI specification, "Error").
const (
	codeLinkMissing uint = 100
	codeMACDiffers  uint = 101
)

// codes maps causes to CNI error codes and to what a person should do next. The
// first that fits counts.
var codes = []struct {
	cause error
	code  uint
	next  string
}{
	{errVersion, types.ErrIncompatibleCNIVersion, "use a cniVersion that the VERSION command lists; CHECK needs 0.4.0"},
	{errEnvironment, types.ErrInvalidEnvironmentVariables, "the runtime must set the variables of the CNI specification"},
	{errConfig, types.ErrInvalidNetworkConfig, "correct the result-enricher entry of the conflist"},
	{errOwnNamespace, types.ErrInvalidNetNS, "give CNI_NETNS a namespace of its own, or set CNI_NETNS_OVERRIDE"},
	{errPanic, types.ErrInternal, "report it with the stack on stderr"},
	{errMACDiffers, codeMACDiffers, "something changed the pod's interface after ADD"},
	{sandbox.ErrInterrupted, types.ErrTryAgainLater, "try again"},
	{sandbox.ErrNotPermitted, types.ErrInvalidNetNS, "run the plugin with CAP_SYS_ADMIN over the namespace"},
	{sandbox.ErrNoNamespace, types.ErrInvalidNetNS, "the sandbox is gone, or CNI_NETNS is wrong"},
	{sandbox.ErrNotNamespace, types.ErrInvalidNetNS, "CNI_NETNS must be the path of a network namespace"},
	{sandbox.ErrNoLink, codeLinkMissing, "the interface plugin must create CNI_IFNAME in the sandbox"},
	{enrich.ErrLinkMissing, codeLinkMissing, "the interface plugin must create CNI_IFNAME in the sandbox"},
	{enrich.ErrIncomplete, types.ErrTryAgainLater, "try again"},
	{errDecoding, types.ErrDecodingFailure, "the input must be one JSON object, and prevResult a Result of its cniVersion"},
}

// cniError is the one place where a cause becomes a CNI error. The chain of
// causes stands in the details: msg is for matching and counting.
func cniError(err error) *types.Error {
	for _, c := range codes {
		if errors.Is(err, c.cause) {
			return types.NewError(c.code, c.cause.Error(), err.Error()+"; "+c.next)
		}
	}
	return types.NewError(types.ErrInternal, "unexpected error", err.Error())
}
