"""What Alembic runs for every command. The connection comes from store/migrate.py, which holds the lock and commits."""

from alembic import context

from store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    # SQLite can roll DDL back as well: a migration that is killed half way leaves the file as it was.
    transactional_ddl=True,
)
context.run_migrations()
