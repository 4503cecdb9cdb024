"""Tests of `activities/`."""
