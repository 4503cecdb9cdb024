"""Tests of `workflows/`."""
