"""Questions to clusters and orders about nodes, over a real engine: what comes back, and what if nobody is there."""

import asyncio
import uuid
from datetime import timedelta

import pytest
from temporalio.client import Client

from activities.clusters import MOST_BYTES, wanted_lines
from activities.ports import PortError
from api.ports import ClusterSilent, NoAnswerYet, NodeBusy
from definitions.cluster_calls import CheckAsk, ClusterCall, LogsAsk, NodeVerb
from definitions.errors import PerdureError
from tests.replay.record_clusters import ASKS, REF, order, served
from tests.support.polling import eventually_async
from tests.support.scripted_cluster import NOW, ScriptedCluster, pod, runtime_with_log
from workers.cluster_asking import TemporalClusters
from workflows import options

SOON = timedelta(seconds=20)


def name() -> str:
    return f"c-{uuid.uuid4().hex[:8]}"


async def test_each_question_is_answered_by_the_clusters_own_worker(temporal_client: Client) -> None:
    cluster = name()
    async with served(temporal_client, ScriptedCluster(), cluster) as queue:
        asker = TemporalClusters(temporal_client, queue, SOON)
        answers = {kind: await asker.ask(ClusterCall(cluster=cluster, ask=ask)) for kind, ask in ASKS.items()}
    assert answers["check"].report is not None
    assert answers["render"].objects[0]["metadata"]["name"] == "digits"
    assert answers["compare"].changes[0].path == "spec.parallelism"
    assert [line.text for line in answers["logs"].lines] == ["line 0", "line 1", "line 2"]


async def test_log_lines_do_not_stay_in_the_engine(temporal_client: Client) -> None:
    cluster = name()
    async with served(temporal_client, ScriptedCluster(), cluster) as queue:
        asker = TemporalClusters(temporal_client, queue, SOON)
        await asker.ask(ClusterCall(cluster=cluster, ask=ASKS["logs"]))
        await asker.ask(ClusterCall(cluster=cluster, ask=ASKS["check"]))

        async def left() -> bool:
            found = [each.id async for each in temporal_client.list_workflows("WorkflowType='ClusterCallWorkflow'")]
            return len([each for each in found if each.startswith(f"call/{cluster}/")]) == 1

        await eventually_async(left, 90, "only the check is left")  # the engine removes in its own time


async def test_a_cluster_without_a_worker_is_silent(temporal_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    real = options.question
    monkeypatch.setattr(
        options, "question", lambda queue: real(queue) | {"schedule_to_start_timeout": timedelta(milliseconds=300)}
    )
    async with served(temporal_client, ScriptedCluster(), name()) as queue:
        asker = TemporalClusters(temporal_client, queue, SOON)
        with pytest.raises(ClusterSilent):
            await asker.ask(ClusterCall(cluster="nobody", ask=CheckAsk()))


async def test_what_the_cluster_refuses_with_comes_back_under_its_own_code(temporal_client: Client) -> None:
    cluster = name()
    scripted = ScriptedCluster(fails=PortError("may not list nodes", permanent=True, code="PD-3103"))
    async with served(temporal_client, scripted, cluster) as queue:
        with pytest.raises(PerdureError, match="may not list nodes") as refused:
            await TemporalClusters(temporal_client, queue, SOON).ask(ClusterCall(cluster=cluster, ask=CheckAsk()))
    assert refused.value.code.code == "PD-3103"


async def test_a_drain_puts_the_node_out_of_service_and_asks_each_pod_once(temporal_client: Client) -> None:
    cluster = name()
    scripted = ScriptedCluster(pods_there=[(pod("a"), pod("b")), (pod("b"),), ()])
    async with served(temporal_client, scripted, cluster) as queue:
        done = await TemporalClusters(temporal_client, queue, SOON).order(order(NodeVerb.DRAIN, cluster), "r1")
    assert scripted.done == ["cordon gpu-7: new kernel (ada)", "evict a", "evict b"]
    assert done.message == "2 pods left"


async def test_one_thing_at_a_time_is_done_to_a_node_and_putting_it_back_ends_a_drain(temporal_client: Client) -> None:
    cluster = name()
    scripted = ScriptedCluster(pods_there=[(pod("a"),)])
    async with served(temporal_client, scripted, cluster) as queue:
        impatient = TemporalClusters(temporal_client, queue, timedelta(milliseconds=500))
        with pytest.raises(NoAnswerYet):
            await impatient.order(order(NodeVerb.DRAIN, cluster), "r1")
        with pytest.raises(NoAnswerYet):  # the same request is waited for again
            await impatient.order(order(NodeVerb.DRAIN, cluster), "r1")
        with pytest.raises(NodeBusy):
            await impatient.order(order(NodeVerb.CORDON, cluster), "r2")
        patient = TemporalClusters(temporal_client, queue, SOON)
        done = await patient.order(order(NodeVerb.UNCORDON, cluster), "r3")
    assert done.message == "pods may start there again"
    assert (scripted.done[0], scripted.done[-1]) == ("cordon gpu-7: new kernel (ada)", "uncordon gpu-7")


async def test_an_order_without_a_reason_says_who_gave_it(temporal_client: Client) -> None:
    cluster = name()
    scripted = ScriptedCluster()
    async with served(temporal_client, scripted, cluster) as queue:
        asker = TemporalClusters(temporal_client, queue, SOON)
        await asyncio.gather(asker.order(order(NodeVerb.CORDON, cluster, ""), "r1"))
    assert scripted.done == ["cordon gpu-7: by ada"]


@pytest.mark.parametrize(
    ("ask", "numbers"),
    [
        ({}, range(1000)),
        ({"tail": 3}, range(2497, 2500)),
        ({"cursor": "2498"}, range(2498, 2500)),
        ({"cursor": "2400", "limit": 2}, range(2400, 2402)),
        ({"since": NOW + timedelta(seconds=2499)}, range(2499, 2500)),
        ({"tail": 0}, range(0)),
    ],
)
def test_lines_are_those_that_were_asked_for(ask: dict[str, object], numbers: range) -> None:
    wanted = LogsAsk.model_validate({"ref": REF, "rank": 0, **ask})
    found = wanted_lines(runtime_with_log(2500), wanted)
    assert [line.text for line in found] == [f"line {number}" for number in numbers]


def test_an_answer_never_holds_more_than_fits() -> None:
    found = wanted_lines(runtime_with_log(100_000), LogsAsk(ref=REF, rank=0, limit=100_000))
    assert 0 < sum(len(line.text) + 64 for line in found) <= MOST_BYTES
