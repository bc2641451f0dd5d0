// SPDX-License-Identifier: Apache-2.0

// Command empty does nothing: what it costs is what any Go program costs.
package main

func main() {}
