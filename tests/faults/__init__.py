"""Tests that kill real processes at named points."""
