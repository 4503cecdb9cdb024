"""What should happen: pure decisions over facts, with the time given as an argument."""
