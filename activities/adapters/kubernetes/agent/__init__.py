"""PID 1 of a job's container: standard library only, run isolated, with nothing of ours but the shim beside it."""
