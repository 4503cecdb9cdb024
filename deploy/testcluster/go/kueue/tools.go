//go:build tools

// Package tools names the program that is built here, so that the module file pins it and all it needs.
package tools

import _ "sigs.k8s.io/kueue/cmd/kueue"
