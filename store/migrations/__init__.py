"""Revisions of the schema, run in-process by store/migrate.py."""
