"""The embedded control plane as seen from the command line: up, down, status."""
