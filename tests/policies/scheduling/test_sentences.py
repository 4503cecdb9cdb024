"""Every cause has a sentence with its numbers and units."""

import pytest

from policies.scheduling.model import Cause, Promise, Refusal
from policies.scheduling.sentences import amount, gone, leaves, reason, starts, when, why

GIB = 1 << 30


def refusal(cause: Cause, *numbers: object, **more: str) -> Refusal:
    return Refusal("job", cause, *numbers, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (refusal(Cause.STOPPED, at="q"), "queue q, or one above it, is stopped: nothing new starts there"),
        (
            refusal(Cause.LIMIT, "cpu", 6000, 5000, 5000, at="q"),
            "needs 6 processors, and queue q has 5 left of 5 processors that it may use",
        ),
        (
            refusal(Cause.LIMIT, "gpu/H100", 16_000, 4000, 32_000, at="q"),
            "needs 16 GPUs of H100, and queue q has 4 left of 32 GPUs of H100 that it may use",
        ),
        (
            refusal(Cause.NEVER, "gpu", 16_000, 8000, 8000),
            "fits nowhere today: it needs 16 GPUs, and nodes that it may be on have 8",
        ),
        (
            refusal(Cause.NEVER, "pods", 4, 0, 0),
            "fits nowhere today: there is no node that it may be on by labels, taints and model of GPU",
        ),
        (
            refusal(Cause.NEVER, "pods", 4, 0, 0, "rack"),
            "fits nowhere today: there is no node that it may be on: none is labelled rack",
        ),
        (refusal(Cause.NEVER, "pods", 4, 0, 3), "needs 4 nodes, and were all nodes empty, 3 would find room"),
        (
            refusal(Cause.CAPACITY, "gpu", 16_000, 4500, 64_000),
            "needs 16 GPUs, and 4.5 of 64 are free on nodes that it may be on",
        ),
        (
            refusal(Cause.CAPACITY, "memory", 64 * GIB, 2 * GIB, 128 * GIB),
            "needs 64Gi of memory, and 2Gi of 128Gi are free on nodes that it may be on",
        ),
        (
            refusal(Cause.CAPACITY, "pods", 1, 0, 8),
            "needs 1 node with enough free on each, and 0 of 8 have it",
        ),
        (refusal(Cause.CAPACITY), "there is no room for it now"),
        (
            refusal(Cause.TOPOLOGY, "pods", 4, 2, 4, "r1"),
            "needs 4 nodes close together, and 2 are free so; r1 comes closest",
        ),
        (refusal(Cause.TOPOLOGY), "there is room, and not close enough together"),
        (
            refusal(Cause.PROMISED),
            "there is room now, and it is promised to jobs before it, which it would delay",
        ),
        (refusal(Cause.ORDER, at="q", behind="b"), "queue q keeps a strict order, and job b before it waits"),
        (refusal(Cause.EVICTING, behind="b"), "its places are being freed: job b saves and leaves them"),
        (refusal(Cause.RESERVATION, at="r"), "reservation r has not begun, or all that it keeps is used"),
    ],
)
def test_a_cause_is_told_with_its_numbers(said: Refusal, sentence: str) -> None:
    assert why(said) == sentence


def test_no_cause_is_without_a_sentence() -> None:
    assert all(why(refusal(cause)) for cause in Cause)


def test_a_promise_is_told_apart_from_what_is_only_expected() -> None:
    firm, estimate = (Promise("job", 1_800_000_000, None, (), firm) for firm in (True, False))
    assert when(firm) == "it starts at 2027-01-15 08:00:00 UTC at the latest"
    assert when(estimate) == "it is expected to start about 2027-01-15 08:00:00 UTC"
    assert reason(refusal(Cause.CAPACITY), firm) == f"there is no room for it now; {when(firm)}"


@pytest.mark.parametrize(
    ("resource", "value", "words"),
    [
        ("cpu", 1000, "1 processor"), ("cpu", 1500, "1500m processors"), ("gpu", 1000, "1 GPU"),
        ("gpu/B200", 500, "0.5 GPUs of B200"), ("memory", GIB, "1Gi of memory"), ("pods", 2, "2 nodes"),
        ("slice/1g.10gb", 1, "1 slice 1g.10gb"), ("slice/1g.10gb", 3, "3 slices 1g.10gb"),
    ],
)  # fmt: skip
def test_an_amount_has_its_unit(resource: str, value: int, words: str) -> None:
    assert amount(resource, value) == words


def test_who_starts_and_who_leaves_reads_where_and_why() -> None:
    assert starts(2, 2, False) == "has its places on 2 nodes"
    assert starts(4, 1, True) == "has its 4 places on 1 simulated node"
    assert leaves("it is worth more", "b") == "job b gets its places: it is worth more"
    assert leaves("queue q is being emptied", "") == "queue q is being emptied"
    assert "queue q is not there any more" in gone("q")
