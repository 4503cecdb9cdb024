"""Tests of `api/`."""
