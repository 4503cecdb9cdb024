"""Tests of `policies/`."""
