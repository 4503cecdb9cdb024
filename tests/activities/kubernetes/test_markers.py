"""What outlives a cluster: markers in the object store, each written once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from activities.adapters.kubernetes.markers import Closing, Markers, Opened
from activities.adapters.objects_folder import FolderObjects
from definitions.attempt import AttemptObservation, Collected
from tests.activities.runtime_world import launch_of

FIRST = Opened(job_uid="1", secret_uid="a", claim="c")


@pytest.fixture
def markers(tmp_path: Path) -> Markers:
    return Markers(FolderObjects(tmp_path))


def test_an_attempt_of_which_nothing_is_known_has_no_marker(markers: Markers) -> None:
    ref = launch_of(("true",)).ref
    found = [markers.launch(ref), markers.opened(ref), markers.closing(ref), markers.collected(ref)]
    assert found == [None] * 4
    assert markers.known(ref) == []


def test_an_attempt_is_claimed_for_one_job_whoever_asks(markers: Markers) -> None:
    ref = launch_of(("true",)).ref
    wanted = [Opened(job_uid=str(number), secret_uid="s") for number in range(20)]
    with ThreadPoolExecutor(20) as pool:
        claims = set(pool.map(lambda each: markers.open(ref, each).job_uid, wanted))
    assert len(claims) == 1
    assert markers.opened(ref) in wanted


def test_who_closed_an_attempt_first_counts(markers: Markers) -> None:
    ref = launch_of(("true",)).ref
    stopped = markers.close(ref, Closing(by="stop", reason="cancelled"))
    assert markers.close(ref, Closing(by="collect")) == stopped == markers.closing(ref)


def test_what_was_launched_and_not_collected_is_found_by_its_job(markers: Markers) -> None:
    first = launch_of(("true",))
    second = first.model_copy(update={"ref": first.ref.model_copy(update={"number": 10, "token": "ab" * 16})})
    other = launch_of(("true",))
    for launch in (second, first, other):
        markers.write_launch(launch)
    assert markers.uncollected(first.ref) == [first.ref, second.ref]
    seen = AttemptObservation(ref=first.ref, at=datetime.now(UTC), ended=True)
    markers.write_collected(first.ref, Collected(observation=seen))
    assert markers.uncollected(first.ref) == [second.ref]
    assert {ref.number for ref in markers.known(first.ref)} == {1, 10}
    assert markers.launch(second.ref) == second


def test_a_forgotten_job_leaves_no_marker_and_others_theirs(markers: Markers) -> None:
    launch, other = launch_of(("true",)), launch_of(("true",))
    for each in (launch, other):
        markers.write_launch(each)
        markers.open(each.ref, FIRST)
    markers.forget(launch.ref)
    markers.forget(launch.ref)
    assert markers.known(launch.ref) == []
    assert markers.opened(other.ref) == FIRST
