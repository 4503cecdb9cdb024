//go:build tools

// Package tools names the programs that are built here, so that the module file pins them and all they need.
package tools

import (
	_ "go.temporal.io/server/cmd/server"
	_ "go.temporal.io/server/cmd/tools/sql"
)
