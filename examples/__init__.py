"""Examples that are run by the tests."""
