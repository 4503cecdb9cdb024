"""The termination message: all that matters of every rank, in what the kubelet keeps."""

from typing import Any

import pytest

from activities.adapters.kubernetes.agent.message import MOST, build, parse
from activities.adapters.kubernetes.pod.commands import parse_failure, parse_receipts
from definitions.attempt import OomEvidence, RankEvidence, RankState, StoppedBy

TOKEN = "0123456789abcdef" * 2


def receipt(rank: int, **changes: Any) -> dict[str, Any]:
    return {
        "rank": rank,
        "state": "exited",
        "exit_code": 0,
        "started_at": "2026-11-29T20:00:00.000123Z",
        "ended_at": "2026-11-29T21:02:03.456789Z",
        **changes,
    }


def test_what_a_receipt_says_is_read_again() -> None:
    said = {
        "exit_code": None,
        "signal": 9,
        "stopped_by": "gang",
        "start_error": "workdir",
        "oom": "confirmed",
        "disk_full": True,
        "leftovers": 3,
        "restarts": 4,
        "detail": "what it was",
    }
    found = parse_receipts(build(TOKEN, [receipt(5, **said)]), "node-1")
    assert found is not None
    assert (found.token, found.more) == (TOKEN, 0)
    assert found.ranks == {
        5: RankEvidence.model_validate(
            {
                **receipt(5, **said),
                "node": "node-1",
                "started_at": "2026-11-29T20:00:00.000Z",
                "ended_at": "2026-11-29T21:02:03.456Z",
                "ready": False,
            }
        )
    }
    assert found.ranks[5].oom is OomEvidence.CONFIRMED


@pytest.mark.parametrize(
    ("count", "changes", "all_there"),
    [
        (64, {}, True),
        (64, {"exit_code": None, "signal": 15, "stopped_by": "gang", "detail": "rank 3 ended badly" * 20}, True),
        (500, {}, False),
    ],
    ids=["64 that ended well", "64 that did not", "too many"],
)
def test_a_message_is_never_longer_than_what_is_kept(count: int, changes: dict[str, Any], *, all_there: bool) -> None:
    text = build(TOKEN, [receipt(rank, **changes) for rank in range(count)])
    assert len(text) <= MOST
    _, ranks, more = parse(text)
    assert len(ranks) + more == count
    assert (more == 0) == all_there


def test_of_too_many_ranks_those_that_failed_are_named() -> None:
    receipts = [receipt(rank, exit_code=1 if rank % 50 == 49 else 0, detail="é" * 300) for rank in range(500)]
    _, ranks, more = parse(build(TOKEN, receipts))
    assert {rank for rank, said in ranks.items() if said["exit_code"] == 1} == set(range(49, 500, 50))
    assert more > 0


def test_a_lost_rank_and_one_that_never_ran_are_told_apart() -> None:
    lost = receipt(0, state="lost", exit_code=None, started_at=None)
    never = receipt(1, exit_code=None, started_at=None, start_error="gate", stopped_by=None)
    found = parse_receipts(build(TOKEN, [lost, never]), "n")
    assert found is not None
    assert [found.ranks[rank].state for rank in (0, 1)] == [RankState.LOST, RankState.EXITED]
    assert [found.ranks[rank].start_error for rank in (0, 1)] == [None, "gate"]
    assert found.ranks[1].stopped_by is not StoppedBy.GANG


@pytest.mark.parametrize(
    "text",
    ["", "OOMKilled", "[]", "{}", '{"v":2,"token":"x","t":0,"ranks":[]}', '{"v":1,"token":"x","t":0,"ranks":[{}]}'],
)
def test_other_words_are_no_receipts(text: str) -> None:
    assert parse_receipts(text, "n") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [('{"code": "PD-3200", "message": "no"}', ("PD-3200", "no")), ("Error", None), ("[]", None), ("{}", None)],
)
def test_an_init_steps_last_words_are_read(text: str, expected: tuple[str, str] | None) -> None:
    assert parse_failure(text) == expected
