"""Tests about the shape of the code itself."""
