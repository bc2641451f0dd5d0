// SPDX-License-Identifier: Apache-2.0

package attachment

import (
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrich/sandbox/inspect"
)

var _ = It("takes the gateway of the lowest metric, in whatever order routes are listed", func() {
	route := func(gateway string, metric int) inspect.Route {
		return inspect.Route{
			Destination: netip.MustParsePrefix("0.0.0.0/0"), Gateway: netip.MustParseAddr(gateway), Metric: metric,
		}
	}
	a := Attachment{Addresses: []Address{{Prefix: netip.MustParsePrefix("192.0.2.7/24")}}}
	a.fillGateways([]inspect.Route{route("192.0.2.1", 300), route("192.0.2.2", 200), route("192.0.2.3", 400)})
	Expect(a.Addresses[0].Gateway).To(Equal(netip.MustParseAddr("192.0.2.2")))
})
