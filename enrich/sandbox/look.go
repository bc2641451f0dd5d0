// SPDX-License-Identifier: Apache-2.0

package sandbox

import "github.com/result-enricher/result-enricher/enrich"

// Look observes all that the rules need for prev.
func (s *Sandbox) Look(prev *enrich.Prev, call enrich.Call, opts enrich.Options) enrich.Observation {
	own := s.Same(enrich.OtherSandboxes(prev, call))
	obs := s.Observe(Request{
		IfName:        call.IfName,
		Links:         enrich.LinksWanted(prev, call, own),
		DefaultRoutes: opts.Gateways,
	})
	obs.OwnSandboxes = own
	return obs
}
