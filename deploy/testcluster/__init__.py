"""A real Kubernetes cluster on one machine, for tests: built from pinned Go modules, removed without a trace.

`python -m deploy.testcluster up` starts one; `cluster.up` is the same for programs.
"""
