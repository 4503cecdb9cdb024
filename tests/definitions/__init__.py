"""Tests of `definitions/`."""
