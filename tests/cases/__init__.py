"""Tests of the written cases, one by one."""
