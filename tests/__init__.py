"""Tests, mirroring the folders they speak about."""
