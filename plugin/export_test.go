// SPDX-License-Identifier: Apache-2.0

package plugin

// ReadTime is readTime for the specs of the binary.
const ReadTime = readTime
