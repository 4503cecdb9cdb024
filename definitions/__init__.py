"""What things are: wire models, enums, ids, error codes and named timeouts."""
