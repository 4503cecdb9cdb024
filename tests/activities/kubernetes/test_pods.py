"""What only real pods can show, beyond the contract of every runtime."""

import uuid
from dataclasses import replace
from datetime import timedelta

import pytest

from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import TOKEN, job_labels, selector
from activities.adapters.kubernetes.picture import Pictures
from activities.adapters.kubernetes.tracking import Attempt
from definitions.attempt import AttemptLaunch, AttemptRef, RankState, StoppedBy, StopRequest
from definitions.pod import PodCause
from definitions.pod_needs import PodNeeds
from tests.activities.kubernetes.pods_world import PodsWorld
from tests.activities.kubernetes.world import running
from tests.activities.runtime_contract_keeping import SAVE
from tests.activities.runtime_world import (
    launch_of,
    lines_of,
    python,
    text_of,
    until_ended,
    until_logged,
    until_running,
)
from tests.support.polling import eventually

pytestmark = [pytest.mark.pods, pytest.mark.timeout(900)]
MOST_CALLS = 12
MIB = 1024**2


def changing(call: str) -> bool:
    return not call.startswith(("watch", "list"))


def test_a_job_with_a_volume_costs_at_most_twelve_calls_and_leaves_the_volume_alone(world: PodsWorld) -> None:
    launch = launch_of(python(SAVE, "7"), nodes=2)
    world.runtime.launch(launch)
    eventually(lambda: world.runtime._tracker.get(launch.ref) and _over(world, launch), world.patience, "its pods end")
    collected = world.runtime.collect(launch)
    calls = [call for call in world.calls if changing(call)]
    assert len(calls) <= MOST_CALLS, calls
    assert [record.step for record in collected.checkpoints] == [7]
    eventually(lambda: not world.objects_of(launch.ref), 30, "nothing of the attempt is left")
    labels = selector(job_labels(launch.ref.tenant, launch.ref.project, launch.ref.job))
    assert len(world.client.list(Kind.PERSISTENT_VOLUME_CLAIM, labels=labels)) == 1
    world.runtime.forget(launch.ref)
    eventually(lambda: not world.client.list(Kind.PERSISTENT_VOLUME_CLAIM, labels=labels), 30, "its volume is gone")


def test_reading_goes_on_where_it_was_when_the_log_has_moved_to_the_store(world: PodsWorld) -> None:
    launch = launch_of(python("for n in range(300): print('line', n)"), processes_per_node=2)
    world.runtime.launch(launch)
    until_ended(world, launch.ref)
    live = lines_of(world, launch.ref, rank=1, page=70)
    world.runtime.collect(launch)
    for place in (0, 69, 150, 298):
        rest = world.runtime.read_logs(launch.ref, 1, cursor=live[place].cursor, limit=1000)
        assert [line.text for line in rest] == [line.text for line in live[place + 1 :]]
    assert text_of(world, launch.ref, rank=1) == [line.text for line in live]


def test_a_pod_deleted_by_force_is_lost_and_ends_its_gang(world: PodsWorld) -> None:
    marker = uuid.uuid4().hex
    launch = launch_of(python("print('up', flush=True)\ntime.sleep(600)", marker), nodes=2)
    world.runtime.launch(launch)
    for rank in range(2):
        until_logged(world, launch.ref, "up", rank)
    _, second = sorted(
        world.client.list(Kind.POD, labels=f"{TOKEN}={launch.ref.token}"), key=lambda pod: str(pod["metadata"]["name"])
    )
    world.client.delete(Kind.POD, second["metadata"]["name"], grace=0)
    seen = until_ended(world, launch.ref)
    assert seen.ranks[1].cause in (PodCause.DELETED, PodCause.LOST, None)
    assert all(rank.state in (RankState.LOST, RankState.EXITED) for rank in seen.ranks)
    assert world.runtime.collect(launch).observation.ended
    eventually(lambda: world.living(marker) == [], world.patience, "nothing of it runs")


def test_the_kernels_own_end_of_a_container_is_told_with_its_limit(world: PodsWorld) -> None:
    code = "print('eating', flush=True)\nmemory = []\nwhile True: memory.append(bytearray(8 * 1024 * 1024))"
    launch = launch_of(python(code), pod=PodNeeds(memory=160 * MIB))
    world.runtime.launch(launch)
    (rank,) = until_ended(world, launch.ref).ranks
    assert rank.cause is PodCause.OUT_OF_MEMORY
    assert rank.last_lines == ("eating",)
    world.runtime.collect(launch)


def test_an_image_that_is_not_there_keeps_a_job_waiting_in_the_kubelets_words(world: PodsWorld) -> None:
    needs = PodNeeds(image="perdure.test/no-such-image:1", image_pull_policy="IfNotPresent")
    launch = launch_of(python(""), pod=needs)
    world.runtime.launch(launch)
    eventually(lambda: "no-such-image" in world.runtime.observe(launch.ref).note, world.patience, "the reason is told")
    assert not world.runtime.observe(launch.ref).ended
    world.runtime.collect(launch)


def test_what_a_running_job_has_written_can_be_looked_at(world: PodsWorld) -> None:
    launch = launch_of(python(SAVE + "print('saved', flush=True)\ntime.sleep(600)", "3"))
    world.runtime.launch(launch)
    until_running(world, launch.ref)
    until_logged(world, launch.ref, "saved")
    look = world.runtime.look(launch.ref)
    assert look is not None
    assert '"step": 3' in look.progress
    assert look.checkpoints == ((f"step-0000000003.{launch.ref.token}", 1),)
    world.runtime.collect(launch)


def test_what_a_gang_without_a_volume_reports_is_seen_of_every_pod_and_outlives_them(world: PodsWorld) -> None:
    code = """
        point = {'step': 3, 'time': '2026-01-01T00:00:00Z', 'attempt': 1, 'metrics': {'loss-' + rank: 0.5}}
        open(run + '/progress.jsonl', 'a').write(json.dumps(point) + '\\n')
        print('reported', flush=True)
        time.sleep(600)
    """
    settings = world.settings.model_copy(update={"storage_bytes": None})
    with running(PodsWorld(world.cluster, world.space, settings, world.objects)) as bare:
        launch = launch_of(python(code), nodes=2)
        bare.runtime.launch(launch)
        for rank in range(2):
            until_logged(bare, launch.ref, "reported", rank)
        # Of a pod that cannot be asked at this moment, nothing is told.
        eventually(lambda: reported(bare, launch) == {"loss-0", "loss-1"}, bare.patience, "both pods are asked")
        bare.runtime.stop(launch.ref, StopRequest(reason="test", grace=timedelta(seconds=5)))
        until_ended(bare, launch.ref)
        assert reported(bare, launch) == {"loss-0", "loss-1"}
        bare.runtime.collect(launch)
        assert bare.objects_of(launch.ref) == []
        assert reported(bare, launch) == {"loss-0", "loss-1"}


def reported(world: PodsWorld, launch: AttemptLaunch) -> set[str]:
    return {name for point in world.runtime.progress(launch.ref) for name in point.metrics}


def _over(world: PodsWorld, launch: AttemptLaunch) -> bool:
    attempt = world.runtime._tracker.get(launch.ref)
    return attempt is not None and world.runtime._observer.judge(launch, attempt).ended


def test_a_stop_reaches_ranks_of_which_the_cluster_does_not_tell_yet_that_they_run(
    world: PodsWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = launch_of(python("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up')\ntime.sleep(600)"))
    world.runtime.launch(launch)
    until_logged(world, launch.ref, "up")
    pictures = world.runtime._requests._pictures

    def late(ref: AttemptRef) -> Attempt:
        """As a node's word about its containers is on its way."""
        attempt = Pictures.asked(pictures, ref)
        seen = {
            uid: replace(each, pod={**each.pod, "status": {"phase": "Pending"}}) for uid, each in attempt.pods.items()
        }
        return replace(attempt, pods=seen)

    monkeypatch.setattr(pictures, "now", late)
    monkeypatch.setattr(pictures, "asked", late)
    world.runtime.stop(launch.ref, StopRequest(reason="cancelled", grace=timedelta(seconds=1)))
    monkeypatch.undo()
    (rank,) = until_ended(world, launch.ref).ranks
    assert (rank.signal, rank.stopped_by) == (9, StoppedBy.REQUEST)
