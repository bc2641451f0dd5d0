// SPDX-License-Identifier: Apache-2.0

package conflist

// CheckEnsured runs the check that follows each edit, with an entry without settings wanted.
func CheckEnsured(before, after []byte) error {
	doc, err := parseList(before)
	if err != nil {
		return err
	}
	return checkEnsured(doc, after, map[string]any{"type": PluginType})
}
