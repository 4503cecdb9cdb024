"""What a job asks of the scheduler besides its document: more time, nodes to stay on, nodes to keep off."""

import json
from datetime import timedelta
from typing import Any

import pytest

from definitions.job import JobSpec
from definitions.job_state import JobState
from policies.job_asks import asking_of
from policies.scheduling.asking import Asked, Shapes, Words
from policies.scheduling.model import Where
from tests.support.jobs import new_state

HOUR = timedelta(hours=1)
SPEC = JobSpec(command=("true",), timeout=HOUR, grace_period=timedelta(seconds=5))


def where(state: JobState) -> Any:
    return json.loads(asking_of(SPEC, state).shape)["roles"][0].get("where", {})


def test_time_that_was_added_or_used_up_counts() -> None:
    assert asking_of(SPEC, new_state(timeout=HOUR)).limit == 3605
    assert asking_of(SPEC, new_state(timeout=2 * HOUR, used=HOUR / 2)).limit == 5405
    assert asking_of(SPEC, new_state(timeout=None)).limit is None


def test_nodes_that_failed_it_are_avoided_and_a_pinned_job_asks_for_its_own_alone() -> None:
    assert where(new_state()) == {}
    assert where(new_state(avoid_nodes=("b", "a"))) == {"avoid": ["a", "b"]}
    assert where(new_state(avoid_nodes=("a",), pinned=("a", "c"))) == {"nodes": ["a", "c"]}


@pytest.mark.parametrize(("pool", "avoids"), [(["m"], False), (["m", "n"], True)])
def test_a_machine_that_is_all_there_is_cannot_be_avoided(pool: list[str], avoids: bool) -> None:
    shape = asking_of(SPEC, new_state(avoid_nodes=("m",))).shape
    request = Shapes(Words(nodes={name: {} for name in pool})).request(Asked("j", "research", shape))
    assert (request.roles[0].shape.where != Where()) == avoids
