"""What is remembered: tables, migrations and repositories."""
