"""API keys: how they look, who gets in, and that only a digest is kept."""

import hashlib
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from definitions.principal import Principal, Role
from store import tokens
from store.engine import reading, session
from store.tables_access import TokenRow
from tests.store.builders import NOW


def test_a_key_is_random_scannable_and_checked() -> None:
    keys = {tokens.new_key() for _ in range(200)}
    assert len(keys) == 200
    for key in keys:
        assert key.startswith("pd_live_")
        assert key.removeprefix("pd_live_").isalnum()
        assert len(key) == 57
        assert tokens.is_key(key)


@given(st.integers(8, 56), st.sampled_from(tokens.ALPHABET))
def test_a_key_with_one_letter_wrong_is_refused_without_asking_the_database(place: int, letter: str) -> None:
    key = tokens.new_key()
    wrong = key[:place] + letter + key[place + 1 :]
    assert tokens.is_key(wrong) == (wrong == key)


@pytest.mark.parametrize("text", ["", "pd_live_", "pd_live_" + "0" * 49, "é" * 57, "pd_test_" + "0" * 49])
def test_what_is_not_spelled_like_a_key_is_none(text: str) -> None:
    assert not tokens.is_key(text)


def test_a_created_key_lets_its_principal_in_and_only_its_digest_is_stored(engine: Engine) -> None:
    with session(engine) as active:
        row, key = tokens.create(active, "acme", "ada", Role.MEMBER, NOW, projects=("vision",))
    with reading(engine) as active:
        found = tokens.find(active, key, NOW)
        assert found is not None
        assert tokens.principal(found) == Principal(tenant="acme", name="ada", role=Role.MEMBER, projects=("vision",))
        stored = active.scalars(select(TokenRow)).one()
    values = [str(getattr(stored, column)) for column in stored.__mapper__.columns.keys()]  # noqa: SIM118
    assert not any(key[14:] in value for value in values)
    assert stored.sha256 == hashlib.sha256(key.encode()).hexdigest()
    assert stored.prefix == key[:14]
    assert row.id == stored.id


def test_unknown_expired_and_revoked_keys_let_nobody_in(engine: Engine) -> None:
    with session(engine) as active:
        lasting, key = tokens.create(active, "acme", "ada", Role.ADMIN, NOW)
        _, brief = tokens.create(active, "acme", "ada", Role.ADMIN, NOW, expires_at=NOW + timedelta(hours=1))
        assert tokens.find(active, tokens.new_key(), NOW) is None
        assert tokens.find(active, brief, NOW + timedelta(minutes=59)) is not None
        assert tokens.find(active, brief, NOW + timedelta(hours=1)) is None
        assert not tokens.revoke(active, "rival", lasting.id, NOW)
        assert tokens.find(active, key, NOW) is not None
        assert tokens.revoke(active, "acme", lasting.id, NOW)
        assert not tokens.revoke(active, "acme", lasting.id, NOW)
        active.expire_all()
        assert tokens.find(active, key, NOW) is None


def test_letting_in_a_key_that_exists_is_safe_to_repeat(engine: Engine) -> None:
    key = tokens.new_key()
    ids = set()
    for _ in range(3):
        with session(engine) as active:
            ids.add(tokens.ensure(active, key, "default", "local", Role.ADMIN, NOW).id)
    assert len(ids) == 1
    with reading(engine) as active:
        assert tokens.find(active, key, NOW) is not None


@pytest.mark.parametrize(
    ("uses", "noted"),
    [
        ([0], 0),
        ([0, 59], 0),
        ([0, 60], 60),
        ([0, 30, 61, 90], 61),
    ],
)
def test_a_use_is_noted_at_most_once_a_minute(engine: Engine, uses: list[int], noted: int) -> None:
    with session(engine) as active:
        row, _ = tokens.create(active, "acme", "ada", Role.VIEWER, NOW)
        for seconds in uses:
            when = NOW + timedelta(seconds=seconds)
            before = _last_used(active, row)
            tokens.mark_used(active, "rival", row.id, when)
            tokens.mark_used(active, "acme", row.id, when)
            after = _last_used(active, row)
            assert (before != after) == (before is None or (when - before) >= timedelta(minutes=1))
        assert tokens.use_is_news(row, when + timedelta(minutes=1))
    assert row.last_used_at == NOW + timedelta(seconds=noted)


def test_a_tenant_lists_its_own_keys_newest_first(engine: Engine) -> None:
    with session(engine) as active:
        for number in range(3):
            tokens.create(active, "acme", f"person-{number}", Role.MEMBER, NOW + timedelta(seconds=number))
        tokens.create(active, "rival", "spy", Role.ADMIN, NOW)
        first = tokens.page(active, "acme", limit=2)
        rest = tokens.page(active, "acme", limit=2, after=first.next)
    assert [row.name for row in first.items + rest.items] == ["person-2", "person-1", "person-0"]
    assert rest.next is None


def _last_used(active: Session, row: TokenRow) -> datetime | None:
    active.refresh(row)
    return row.last_used_at
