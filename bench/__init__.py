"""Benchmarks: JSON out, each with its ratio in the same run."""
