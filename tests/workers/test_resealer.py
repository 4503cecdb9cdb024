"""After the newest key came in front, nothing needs the older one any more; what no key opens is left alone."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, select

from store import secrets
from store.engine import reading, session
from store.sealing import Keys
from store.tables_access import SecretRow
from tests.store.builders import HERE, NOW, OTHERS
from tests.support.database import migrated
from workers import row_walk
from workers.resealer import Resealer

OLD, NEW = b"o" * 32, b"n" * 32


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with migrated(database_url) as made, session(made) as active:
        for where, names in ((HERE, ("a", "b", "c")), (OTHERS[0], ("a",))):
            for name in names:
                secrets.create(active, Keys([OLD]), *where, name, f"value of {name}", NOW, owner="ada")
        active.commit()
        yield made


def values(engine: Engine, key: bytes, where: tuple[str, str]) -> dict[str, str]:
    with reading(engine) as active:
        return secrets.reveal(active, Keys([key]), *where, ["a", "b", "c"])


def test_all_tenants_secrets_open_with_the_new_key_alone(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_walk, "PAGE", 2)
    with session(engine) as active:
        secrets.rotate(active, Keys([OLD]), *HERE, "a", "second value of a", NOW)
    resealer = Resealer(engine, Keys([NEW, OLD]))
    assert (resealer.reseal(), resealer.reseal()) == (5, 0)
    assert values(engine, NEW, HERE) == {"a": "second value of a", "b": "value of b", "c": "value of c"}
    assert values(engine, NEW, OTHERS[0]) == {"a": "value of a"}


def test_what_no_key_opens_is_left_as_it_is_and_keeps_nothing_else(engine: Engine) -> None:
    with session(engine) as active:
        secrets.create(active, Keys([b"l" * 32]), *HERE, "aa", "sealed with a lost key", NOW, owner="ada")
    assert Resealer(engine, Keys([NEW, OLD])).reseal() == 4
    with reading(engine) as active:
        assert secrets.reveal(active, Keys([b"l" * 32]), *HERE, ["aa"]) == {"aa": "sealed with a lost key"}


def test_what_is_destroyed_meanwhile_stays_destroyed(engine: Engine) -> None:
    with reading(engine) as before:
        row = before.scalars(select(SecretRow).where(SecretRow.tenant == HERE[0], SecretRow.name == "b")).one()
    with session(engine) as active:
        assert secrets.delete(active, *HERE, "b", NOW)
    with session(engine) as active:
        assert not secrets.reseal(active, Keys([NEW, OLD]), row)
    with reading(engine) as active:
        assert active.get_one(SecretRow, (*HERE, "b", 1)).ciphertext == b""
