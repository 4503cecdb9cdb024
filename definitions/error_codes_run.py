"""Codes PD-3000 to PD-3999: the runtime, checkpoints, snapshots and the embedded control plane."""
