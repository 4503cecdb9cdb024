"""Tests of the whole control plane with real parts."""
