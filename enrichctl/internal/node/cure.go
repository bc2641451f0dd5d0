// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// cureOf says what helps against an error of the operating system.
func cureOf(err error) string {
	switch {
	case errors.Is(err, unix.EROFS):
		return "mount the directory for writing (a hostPath volume without readOnly), or remount the file system"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return "run as root, privileged where SELinux or AppArmor confine containers; look for an immutable file with lsattr"
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return "free some space on that file system"
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return "name the right directory"
	}
	return "look at the system's log"
}

// settings that end a fight with another agent, by the plugin type it manages.
var settings = []struct{ pluginType, advice string }{
	{"cilium-cni", "Cilium rewrites its file on every change in the directory: set cni.exclusive=false in its Helm values"},
	{"istio-cni", "Istio's node agent may pick another file: set cni.cniConfFileName to this file's name in its Helm values"},
	{"linkerd-cni", "Linkerd's installer may insist on being last and writes again after every change: update linkerd2-cni to a release that only asks for its entry to be there"},
}

// advice says what to set so that the agents of a list's plugins leave the entry alone.
func advice(plugins []string) string {
	var all []string
	for _, s := range settings {
		for _, t := range plugins {
			if t == s.pluginType {
				all = append(all, s.advice)
				break
			}
		}
	}
	if len(all) == 0 {
		return fmt.Sprintf("find out which agent writes the file (plugins: %s) and tell it to leave foreign entries alone", strings.Join(plugins, ", "))
	}
	return strings.Join(all, "; ")
}
