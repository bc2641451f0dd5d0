// SPDX-License-Identifier: Apache-2.0

package cluster_test

import "net/netip"

func isIPv6(address string) bool {
	return netip.MustParseAddr(address).Is6()
}
