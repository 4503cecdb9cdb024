"""Tests of `deploy/testcluster/`."""
