"""The local runtime: attempts as process trees of this machine, each rank with supervisors of its own."""
