"""Secrets by name: versions, limits, tenants, deletion, and that no plain value is ever in the database."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, select

from activities.adapters.secrets import SqlSecrets
from activities.ports import PortError, SecretValues
from definitions.errors import PerdureError
from store import secrets, system
from store.engine import open_engine, reading, session, transaction
from store.errors import NameTaken
from store.sealing import Keys
from store.tables_access import SecretRow
from tests.store.builders import HERE, NOW, OTHERS
from tests.support.database import migrated

KEYS = Keys([b"n" * 32])
VALUE = "correct-horse-battery"


def _create(engine: Engine, name: str = "hub-token", value: str = VALUE, where: tuple[str, str] = HERE) -> SecretRow:
    return transaction(engine, lambda active: secrets.create(active, KEYS, *where, name, value, NOW, owner="ada"))


def _rotate(engine: Engine, value: str, keys: Keys = KEYS) -> SecretRow | None:
    later = NOW + timedelta(days=1)
    return transaction(engine, lambda active: secrets.rotate(active, keys, *HERE, "hub-token", value, later))


def _resolve(engine: Engine, *names: str, keys: Keys = KEYS, where: tuple[str, str] = HERE) -> dict[str, str]:
    port: SecretValues = SqlSecrets(engine, keys)
    return port.resolve(*where, frozenset(names))


def test_an_attempt_gets_the_newest_version(engine: Engine) -> None:
    first = _create(engine)
    _create(engine, "other", "other-value")
    assert _resolve(engine, "hub-token", "other") == {"hub-token": VALUE, "other": "other-value"}
    second = _rotate(engine, "brand-new-value")
    assert second is not None
    assert _resolve(engine, "hub-token") == {"hub-token": "brand-new-value"}
    assert (first.version, second.version) == (1, 2)
    assert (second.created_at, second.rotated_at) == (NOW, NOW + timedelta(days=1))
    with reading(engine) as active:
        listed = secrets.page(active, *HERE, limit=10).items
    assert [(row.name, row.version) for row in listed] == [("hub-token", 2), ("other", 1)]


def test_every_missing_secret_is_named_and_no_value_is(engine: Engine) -> None:
    _create(engine)
    with pytest.raises(PortError, match="no secret a, b in acme/vision") as refused:
        _resolve(engine, "b", "hub-token", "a")
    assert (refused.value.permanent, refused.value.code) == (True, "PD-3722")
    assert VALUE not in str(refused.value)


@pytest.mark.parametrize("where", OTHERS)
def test_others_secrets_are_out_of_reach(engine: Engine, where: tuple[str, str]) -> None:
    _create(engine)
    with pytest.raises(PortError, match="no secret hub-token"):
        _resolve(engine, "hub-token", where=where)
    with session(engine) as active:
        assert secrets.get(active, *where, "hub-token") is None
        assert secrets.page(active, *where, limit=10).items == []
        assert secrets.rotate(active, KEYS, *where, "hub-token", "stolen-value", NOW) is None
        assert not secrets.delete(active, *where, "hub-token", NOW)
    assert _create(engine, value="their-own-value", where=where).version == 1
    assert _resolve(engine, "hub-token") == {"hub-token": VALUE}


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("", "PD-3720"),
        ("abc", "PD-3720"),
        ("abcd", None),
        ("x" * 65536, None),
        ("x" * 65537, "PD-3721"),
        ("é" * 32769, "PD-3721"),
        ("with\0nul", "PD-3725"),
        ("half \ud800", "PD-3725"),
    ],
)
def test_only_values_that_can_be_masked_kept_and_given_are_taken(engine: Engine, value: str, code: str | None) -> None:
    for write in _writers(engine):
        if code is None:
            write(value)
            assert _resolve(engine, "hub-token") == {"hub-token": value}
            continue
        with pytest.raises(PerdureError) as refused:
            write(value)
        assert refused.value.code.code == code
        assert not value or value not in str(refused.value)


def _writers(engine: Engine) -> list[Callable[[str], object]]:
    """Create on an empty database, then rotate what is there."""

    def create(value: str) -> object:
        return _create(engine, value=value)

    def rotate(value: str) -> object:
        with reading(engine) as active:
            there = secrets.get(active, *HERE, "hub-token")
        if there is None:
            _create(engine)
        return _rotate(engine, value)

    return [create, rotate]


def test_a_name_is_created_once_and_free_after_deletion_with_a_new_version(engine: Engine) -> None:
    _create(engine)
    with pytest.raises(NameTaken, match="exists") as refused:
        _create(engine)
    assert "perdure secrets rotate hub-token" in str(refused.value)
    with session(engine) as active:
        assert secrets.delete(active, *HERE, "hub-token", NOW)
        assert not secrets.delete(active, *HERE, "hub-token", NOW)
        assert secrets.get(active, *HERE, "hub-token") is None
    assert _rotate(engine, "new-value") is None
    assert _create(engine).version == 2


def test_deleting_destroys_what_was_sealed(engine: Engine) -> None:
    _create(engine)
    _rotate(engine, "brand-new-value")
    with session(engine) as active:
        secrets.delete(active, *HERE, "hub-token", NOW)
    with reading(engine) as active:
        assert {(row.nonce, row.ciphertext) for row in active.scalars(select(SecretRow))} == {(b"", b"")}


def test_no_plain_value_is_in_the_files_of_the_database(sqlite_url: str, tmp_path: Path) -> None:
    with migrated(sqlite_url) as engine:
        _create(engine)
        found = [file for file in tmp_path.iterdir() if VALUE.encode() in file.read_bytes()]
        assert found == []
        assert any(b"hub-token" in file.read_bytes() for file in tmp_path.iterdir())  # the search does find things


def test_a_key_that_is_not_loaded_is_named(engine: Engine) -> None:
    _create(engine)
    with pytest.raises(PortError, match=f"sealed with key {KEYS.newest}") as refused:
        _resolve(engine, "hub-token", keys=Keys([b"x" * 32]))
    assert (refused.value.permanent, refused.value.code) == (True, "PD-3723")


def test_after_resealing_the_older_key_can_be_thrown_away(engine: Engine) -> None:
    _create(engine)
    _create(engine, where=OTHERS[0])
    both, newest = Keys([b"x" * 32, b"n" * 32]), Keys([b"x" * 32])
    for done in (2, 0):
        with session(engine) as active:
            rows = system.secrets_sealed_otherwise(active, both.newest, 100)
            assert sum(secrets.reseal(active, both, row) for row in rows) == done
    assert _resolve(engine, "hub-token", keys=newest) == {"hub-token": VALUE}
    assert _resolve(engine, "hub-token", keys=newest, where=OTHERS[0]) == {"hub-token": VALUE}


def test_a_row_copied_over_another_tenants_does_not_open(engine: Engine) -> None:
    _create(engine)
    theirs = _create(engine, value="their-own-value", where=OTHERS[0])
    with session(engine) as active:
        mine = active.scalars(select(SecretRow).where(SecretRow.tenant == HERE[0])).one()
        stolen = active.get_one(SecretRow, (*OTHERS[0], theirs.name, theirs.version))
        stolen.nonce, stolen.ciphertext, stolen.key_id = mine.nonce, mine.ciphertext, mine.key_id
    with pytest.raises(PortError, match="was changed"):
        _resolve(engine, "hub-token", where=OTHERS[0])


def test_of_twenty_creators_one_wins_and_of_twenty_rotations_all_count(engine: Engine) -> None:
    gate = threading.Barrier(20)

    def create(number: int) -> str:
        gate.wait(30)
        try:
            _create(engine, value=f"value-{number}")
        except NameTaken:
            return "refused"
        return "created"

    with ThreadPoolExecutor(20) as pool:
        assert Counter(pool.map(create, range(20))) == {"created": 1, "refused": 19}
        rotated = list(pool.map(lambda number: _rotate(engine, f"value-{number}"), range(20)))
    assert sorted(row.version for row in rotated if row) == list(range(2, 22))


def test_a_database_that_fails_is_worth_another_try(sqlite_url: str) -> None:
    engine = open_engine(sqlite_url)  # never migrated
    with pytest.raises(PortError) as failed:
        _resolve(engine, "hub-token")
    assert (failed.value.permanent, failed.value.code) == (False, "PD-3706")
    engine.dispose()
