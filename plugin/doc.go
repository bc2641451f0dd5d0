// SPDX-License-Identifier: Apache-2.0

// Package plugin speaks the CNI protocol for result-enricher: environment and
// configuration in, one JSON document on stdout and an exit code out. What is
// repaired is decided in enrich, what is seen is read in enrich/sandbox.
//
// It touches what it is given ([Process]) and the log file of the
// configuration, nothing else. It does not use the library's skel: that fails
// an ADD for a namespace that is gone or a version that it does not know, where
// this plugin's promise is to hand on prevResult, and in the plugin's own
// namespace it prints a Result and then an error.
//
// The convention it relies on: whoever runs a chain calls ADD with the Result
// of the plugin before as prevResult (CNI specification, section 3), and calls
// DEL in the reverse order, so that a DEL that fails here would stop the
// teardown of all the others.
package plugin
