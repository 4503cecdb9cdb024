"""The container images of this project, built without a container runtime: see README.md."""
