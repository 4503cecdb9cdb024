"""What must be there before the control plane serves: tables, the key for secrets, the local admin's key.

Runs once at each `perdure up`, before the other processes. Every step can be repeated after a crash at any point.
"""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from definitions.errors import PerdureError
from definitions.ids import DEFAULT_TENANT
from definitions.principal import Role
from store import migrate, sealing, tokens
from store.engine import open_engine, session
from workers.process import run
from workers.settings import Settings

ADMIN = "local-admin"
PAGE = 500


def main() -> NoReturn:
    run("migrate", prepare)


def prepare(settings: Settings) -> None:
    """Raises PerdureError when the database is of a newer version or the key cannot be used."""
    os.umask(0o077)
    settings.folder.mkdir(parents=True, exist_ok=True)
    migrate.upgrade(settings.database)
    sealing.make_key_file(settings.secrets_key_file)
    sealing.load_keys(os.environ, settings.secrets_key_file)
    engine = open_engine(settings.database)
    try:
        ensure_admin(engine, settings.admin_file, datetime.now(UTC), given=settings.admin_token_file is not None)
    finally:
        engine.dispose()


def ensure_admin(engine: Engine, file: Path, now: datetime, *, given: bool = False) -> None:
    """Let the key in `file` in as the default tenant's admin; make file and key where there is no usable one.

    A file that was `given` by an operator is not ours to write: when it holds no usable key, PD-4103 is raised.

    The file is written before the row: a crash in between leaves a key that the next call lets in. A key that was
    revoked or is unreadable is replaced, and the admin keys of earlier files are revoked.
    """
    key = _read(file)
    with session(engine) as active:
        if key is None or not _usable(active, key, now):
            if given:
                raise PerdureError("PD-4103", f"{file} holds no key that lets an admin in", where=str(file))
            key = tokens.new_key()
            _write(file, key)
        row = tokens.ensure(active, key, DEFAULT_TENANT, ADMIN, Role.ADMIN, now)
        _revoke_others(active, row.id, now)


def _read(file: Path) -> str | None:
    try:
        key = file.read_text().strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    return key if tokens.is_key(key) else None


def _usable(active: Session, key: str, now: datetime) -> bool:
    """Whether the key lets in now, or was never seen."""
    row = tokens.ensure(active, key, DEFAULT_TENANT, ADMIN, Role.ADMIN, now)
    return tokens.find(active, key, now) is not None and row.tenant == DEFAULT_TENANT


def _write(file: Path, key: str) -> None:
    """Replace the file whole, mode 0600, on disk before this returns."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as output:
        output.write(key + "\n")
        output.flush()
        os.fsync(output.fileno())
    draft.replace(file)
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(folder)
    os.close(folder)


def _revoke_others(active: Session, current: str, now: datetime) -> None:
    after = None
    while True:
        page = tokens.page(active, DEFAULT_TENANT, limit=PAGE, after=after)
        for row in page.items:
            if row.name == ADMIN and row.id != current and row.revoked_at is None:
                tokens.revoke(active, DEFAULT_TENANT, row.id, now)
        if (after := page.next) is None:
            return
