"""The local admin's key: there after the first start, let in after every crash, and only one at a time."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine

from definitions.errors import PerdureError
from definitions.principal import Principal, Role
from store import tokens
from store.engine import open_engine, reading, session
from workers.migrate import ensure_admin, prepare
from workers.settings import Settings

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> Settings:
    made = Settings(home=tmp_path / "home")
    prepare(made)
    return made


@pytest.fixture
def engine(home: Settings) -> Iterator[Engine]:
    opened = open_engine(home.database)
    yield opened
    opened.dispose()


def who(engine: Engine, key: str) -> Principal | None:
    with reading(engine) as active:
        row = tokens.find(active, key, NOW)
        return tokens.principal(row) if row else None


def live_keys(engine: Engine) -> int:
    with reading(engine) as active:
        return sum(row.revoked_at is None for row in tokens.page(active, "default", limit=100).items)


def key_in(home: Settings) -> str:
    return home.admin_file.read_text().strip()


def test_a_first_start_makes_private_files_and_an_admin_of_the_default_tenant(home: Settings, engine: Engine) -> None:
    assert who(engine, key_in(home)) == Principal(tenant="default", name="local-admin", role=Role.ADMIN)
    files = [file for file in home.folder.iterdir() if file.is_file()]
    assert {"admin.token", "secrets.key", "control.db"} <= {file.name for file in files}
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_a_later_start_changes_nothing(home: Settings, engine: Engine) -> None:
    before = (key_in(home), home.secrets_key_file.read_bytes())
    prepare(home)
    assert (key_in(home), home.secrets_key_file.read_bytes()) == before
    assert live_keys(engine) == 1


def test_a_key_whose_row_was_never_written_is_let_in(home: Settings, engine: Engine) -> None:
    home.admin_file.write_text(tokens.new_key() + "\n")
    ensure_admin(engine, home.admin_file, NOW)
    assert who(engine, key_in(home)) is not None
    assert live_keys(engine) == 1


@pytest.mark.parametrize("content", [None, "", "pd_live_cut", "\udcff"])
def test_a_missing_or_damaged_file_is_replaced_and_its_key_revoked(
    home: Settings, engine: Engine, content: str | None
) -> None:
    before = key_in(home)
    if content is None:
        home.admin_file.unlink()
    else:
        home.admin_file.write_bytes(content.encode(errors="surrogateescape"))
    ensure_admin(engine, home.admin_file, NOW)
    assert who(engine, before) is None
    assert who(engine, key_in(home)) is not None
    assert home.admin_file.stat().st_mode & 0o777 == 0o600


def test_a_key_that_was_revoked_is_replaced(home: Settings, engine: Engine) -> None:
    before = key_in(home)
    with session(engine) as active:
        row = tokens.find(active, before, NOW)
        assert row is not None
        tokens.revoke(active, "default", row.id, NOW)
    ensure_admin(engine, home.admin_file, NOW)
    assert key_in(home) != before
    assert who(engine, key_in(home)) is not None


def test_keys_of_other_principals_stay(home: Settings, engine: Engine) -> None:
    with session(engine) as active:
        _, key = tokens.create(active, "default", "ada", Role.MEMBER, NOW)
    home.admin_file.unlink()
    ensure_admin(engine, home.admin_file, NOW)
    assert who(engine, key) is not None


def test_a_key_file_for_secrets_that_others_can_read_is_refused(home: Settings) -> None:
    home.secrets_key_file.chmod(0o644)
    with pytest.raises(PerdureError, match="PD-3724"):
        prepare(home)
