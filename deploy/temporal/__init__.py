"""A production workflow engine: the configuration of its server for PostgreSQL, with or without TLS."""
