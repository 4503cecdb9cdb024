"""The production pair: a real engine server on PostgreSQL, with objects in a bucket."""
