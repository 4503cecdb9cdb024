"""People, the workflow and the scheduler at one window at once: each change is there whole, or was refused."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import Engine

from definitions.reservation_calls import WindowAnswer, WindowVerb
from tests.support.database import migrated
from tests.support.reserved_rig import BEGINS, NAME, ReservedRig, reservation

ENDS = BEGINS + timedelta(hours=2)
MANY = 16


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with migrated(database_url) as opened:
        yield opened


def test_of_many_who_extend_a_window_the_latest_end_that_was_granted_stands(engine: Engine) -> None:
    rig = ReservedRig(engine, reservation(extension={"most": "2h"}))
    rig.decide()

    def ask(minutes: int) -> WindowAnswer:
        answer = rig.ask(WindowVerb.EXTEND, until=ENDS + timedelta(minutes=minutes))
        rig.keep()
        return answer

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(ask, range(1, MANY + 1)))
    granted = [answer.ends_at for answer in answers if not answer.denied]
    (row,) = rig.windows()
    assert row.ends_at == max(ends for ends in granted if ends is not None) == ENDS + timedelta(minutes=MANY)
    assert row.version == 2 + len(granted)
    assert {answer.denied for answer in answers} <= {"", "the new end is not later than the end that it has"}
    assert row.nodes == ["lab-0000", "lab-0001"]


def test_a_window_that_is_given_up_while_it_is_decided_about_is_given_up(engine: Engine) -> None:
    rig = ReservedRig(engine, reservation(), reservation("noon", start="2026-11-29T14:30"))
    with ThreadPoolExecutor(3) as threads:
        decided, looked = threads.submit(rig.decide), [threads.submit(rig.keep, name) for name in (NAME, "noon")]
        assert rig.ask(WindowVerb.CANCEL).denied == ""
        assert decided.result().decision
        assert not any(look.result().over for look in looked[1:])
    rig.keep()
    rig.decide()
    (given_up,), (other,) = rig.windows(), rig.windows("noon")
    assert (given_up.phase, given_up.cancelled_at is not None) == ("ended", True)
    assert (other.phase, len(other.nodes or ())) == ("upcoming", 2)
