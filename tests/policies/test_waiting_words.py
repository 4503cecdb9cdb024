"""What is said of a gang that waits, from the refusal that is stored with it."""

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as some

from policies.scheduling.model import Cause, Refusal
from policies.waiting_words import can_ever, refusal_of, shortage_words, unit_of, would_help

REFUSALS = some.builds(
    Refusal,
    request=some.just("job"),
    cause=some.sampled_from(Cause),
    resource=some.sampled_from(("", "cpu", "memory", "gpu", "gpu/H100", "slice/1g.10gb", "pods")),
    needed=some.integers(0, 2**40),
    free=some.integers(0, 2**40),
    bound=some.none() | some.integers(0, 2**40),
    at=some.sampled_from(("", "research")),
)


@given(REFUSALS)
def test_every_refusal_is_read_as_it_was_stored_and_has_words(refusal: Refusal) -> None:
    stored = {**asdict(refusal), "cause": refusal.cause.value, "planned": [{"node": "n1"}]}
    assert refusal_of(stored) == refusal
    helps = would_help(refusal)
    assert helps
    assert all(line.endswith(".") and not line.startswith("-") for line in helps)
    assert shortage_words(refusal).startswith("needs ")


@given(REFUSALS)
def test_only_what_no_end_of_others_would_change_can_never_run(refusal: Refusal) -> None:
    above = refusal.cause is Cause.LIMIT and refusal.bound is not None and refusal.needed > refusal.bound
    assert (can_ever(refusal) is False) == (refusal.cause in (Cause.NEVER, Cause.OVER) or above)


@pytest.mark.parametrize("stored", [None, {}, {"cause": "moon"}, {"resource": "gpu"}])
def test_what_a_newer_version_stored_is_no_refusal(stored: dict[str, str] | None) -> None:
    assert refusal_of(stored) is None


@pytest.mark.parametrize(
    ("resource", "needed", "words"),
    [
        ("gpu/H100", 24_000, "needs 24 GPUs of H100, 1 of 2 free in research"),
        ("cpu", 1500, "needs 1500m processors, 1 of 2 free in research"),
        ("pods", 3, "needs 3 nodes, 1000 of 2000 free in research"),
    ],
)
def test_amounts_are_told_in_the_units_of_people(resource: str, needed: int, words: str) -> None:
    refusal = Refusal("job", Cause.CAPACITY, resource, needed, 1000, 2000, at="research")
    assert shortage_words(refusal) == words
    memory = Refusal("job", Cause.CAPACITY, "memory", 2**33, 5 * 2**29, 2**34)
    assert shortage_words(memory) == "needs 8Gi of memory, 2.5Gi of 16Gi free"
    assert unit_of(resource)[0] in ("GPUs", "processors", "bytes", "nodes")
