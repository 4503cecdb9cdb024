"""One-line faults, each of which must turn a named test red: a check of the tests, not of the code."""
