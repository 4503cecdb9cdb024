"""Messages that wait to be delivered, and decisions that people ask for later."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine

from store import decisions, outbox
from store.engine import reading, session
from store.errors import BadCursor
from tests.store.builders import NOW
from tests.store.scheduling import POOL, decide, seen, verdict, waiting_job, waits

HOUR = timedelta(hours=1)
TOPIC = f"pool/{POOL}"


def keys(engine: Engine, topic: str = TOPIC, limit: int = 10) -> list[str]:
    with reading(engine) as active:
        return [message.key for message in outbox.waiting(active, topic, limit)]


def test_a_key_written_twice_is_one_message_and_the_first_one_stands(engine: Engine) -> None:
    with session(engine) as active:
        assert outbox.add(active, "placed/a/1/1", TOPIC, "job/acme/a", {"n": 1}, NOW)
        assert not outbox.add(active, "placed/a/1/1", TOPIC, "job/acme/b", {"n": 2}, NOW + HOUR)
        again = outbox.message("placed/a/1/1", TOPIC, "job/acme/c", {"n": 3}, NOW)
        outbox.add_all(active, [again, again, outbox.message("placed/b/1/1", TOPIC, "job/acme/b", {}, NOW + HOUR)])
    with reading(engine) as active:
        messages = outbox.waiting(active, TOPIC, 10)
    assert [(message.target, message.body) for message in messages] == [("job/acme/a", {"n": 1}), ("job/acme/b", {})]


def test_messages_wait_by_age_and_places_before_word_to_leave_them(engine: Engine) -> None:
    with session(engine) as active:
        for key, topic, age in (("displaced/a/1/2", TOPIC, 1), ("placed/a/1/1", TOPIC, 1), ("placed/b/1/1", TOPIC, 2)):
            outbox.add(active, key, topic, "job/acme/a", {}, NOW - HOUR * age)
        outbox.add(active, "placed/c/1/1", "pool/north", "job/acme/c", {}, NOW)
    assert keys(engine) == ["placed/b/1/1", "placed/a/1/1", "displaced/a/1/2"]
    assert keys(engine, limit=1) == ["placed/b/1/1"]
    with reading(engine) as active:
        assert outbox.topics(active, NOW) == [TOPIC]
        assert outbox.topics(active, NOW + HOUR) == [TOPIC, "pool/north"]


def test_a_delivered_message_waits_no_more_and_only_it_is_forgotten(engine: Engine) -> None:
    with session(engine) as active:
        for name in ("a", "b", "c"):
            outbox.add(active, name, TOPIC, f"job/acme/{name}", {}, NOW)
        assert outbox.delivered(active, ["a", "b", "unheard-of"], NOW) == 2
        assert outbox.delivered(active, ["b", "a"], NOW + HOUR) == 0
        assert outbox.delivered(active, [], NOW) == 0
        assert outbox.forget(active, NOW, 10) == 0
    assert keys(engine) == ["c"]
    with session(engine) as active:
        assert [outbox.forget(active, NOW + timedelta(seconds=1), 1) for _ in range(3)] == [1, 1, 0]
    assert keys(engine) == ["c"]


def test_decisions_are_paged_newest_first_and_forgotten_by_age(engine: Engine) -> None:
    job = waiting_job(engine)
    for number in range(1, 6):
        decide(engine, verdict(waits=(waits(seen(engine, job), position=number),), document={"round": number}))
    with reading(engine) as active:
        first = decisions.page(active, POOL, 3)
        rest = decisions.page(active, POOL, 3, first.next)
        assert [[row.number for row in page.items] for page in (first, rest)] == [[5, 4, 3], [2, 1]]
        assert rest.next is None
        assert decisions.page(active, "north", 3).items == []
        found = decisions.get(active, POOL, 4)
        assert found is not None
        assert (found.document, found.digest, found.at, found.token) == ({"round": 4}, "d1", NOW, 4)
        assert decisions.get(active, "north", 4) is decisions.get(active, POOL, 9) is None
        with pytest.raises(BadCursor):
            decisions.page(active, POOL, 3, "x")
    with session(engine) as active:
        assert decisions.forget(active, NOW, 10) == 0
        assert [decisions.forget(active, NOW + HOUR, 3) for _ in range(3)] == [3, 2, 0]
