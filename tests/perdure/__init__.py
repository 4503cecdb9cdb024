"""Tests of `perdure/`."""
