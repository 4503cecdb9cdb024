"""Questions to clusters and orders about nodes, over a real engine: what comes back, and what if nobody is there."""

import asyncio
import uuid
from datetime import timedelta
from typing import Any, cast

import pytest
from temporalio.client import Client

from activities.live_logs import MOST_BYTES, MOST_LINES, merged_lines, wanted_lines
from activities.ports import PortError, Runtime
from api.ports import ClusterSilent, NoAnswerYet, NodeBusy, QuestionUnknown
from definitions.cluster_calls import Answer, CheckAsk, ClusterCall, LogsAsk, NodeVerb, RankLine, RankLogsAsk, RankPlace
from definitions.errors import PerdureError
from tests.replay.record_clusters import ASKS, REF, order, served
from tests.support.polling import eventually_async
from tests.support.scripted_cluster import NOW, ScriptedCluster, ScriptedLog, pod, runtime_with_log
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
    ranks = [(line.text, line.rank) for line in answers["rank-logs"].rank_lines]
    assert ranks == [(f"line {number}", rank) for number in range(3) for rank in range(2)]
    assert answers["metrics"].metrics is not None
    assert [(line.name, len(line.points)) for line in answers["metrics"].metrics.series] == [("loss", 3)]


@pytest.mark.timeout(300)
async def test_what_a_job_wrote_does_not_stay_in_the_engine(temporal_client: Client) -> None:
    cluster = name()
    async with served(temporal_client, ScriptedCluster(), cluster) as queue:
        asker = TemporalClusters(temporal_client, queue, SOON)
        for kind in ("rank-logs", "check"):
            await asker.ask(ClusterCall(cluster=cluster, ask=ASKS[kind]))

        async def left() -> bool:
            found = [each.id async for each in temporal_client.list_workflows("WorkflowType='ClusterCallWorkflow'")]
            return len([each for each in found if each.startswith(f"call/{cluster}/")]) == 1

        await eventually_async(left, 240, "only the check is left")  # the engine removes in its own time


async def test_a_cluster_without_a_worker_is_silent(temporal_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    real = options.question
    monkeypatch.setattr(
        options, "question", lambda queue: real(queue) | {"schedule_to_start_timeout": timedelta(milliseconds=300)}
    )
    async with served(temporal_client, ScriptedCluster(), name()) as queue:
        asker = TemporalClusters(temporal_client, queue, SOON)
        with pytest.raises(ClusterSilent):
            await asker.ask(ClusterCall(cluster="nobody", ask=CheckAsk()))


async def test_a_worker_that_does_not_know_a_question_is_told_from_a_silent_one(temporal_client: Client) -> None:
    cluster = name()
    async with served(temporal_client, ScriptedCluster(), cluster, without=["read_rank_logs"]) as queue:
        with pytest.raises(QuestionUnknown):
            await TemporalClusters(temporal_client, queue, SOON).ask(
                ClusterCall(cluster=cluster, ask=ASKS["rank-logs"])
            )


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


@pytest.mark.parametrize("text", ["", "x" * 1000, "\x1b[0m" * 1000, "\N{SNOWMAN}" * 1000], ids=len)
def test_an_answer_never_holds_more_than_fits(text: str) -> None:
    runtime = cast(Runtime, ScriptedLog(100_000, text))
    one = wanted_lines(runtime, LogsAsk(ref=REF, rank=0, limit=100_000))
    several, more = merged_lines(runtime, ranks_ask(3, limit=100_000))
    assert more
    for answer in (Answer(lines=one), Answer(rank_lines=several)):
        assert 0 < len(answer.lines or answer.rank_lines) <= MOST_LINES
        assert len(answer.model_dump_json().encode()) <= MOST_BYTES + 1000


def ranks_ask(ranks: int, **more: Any) -> RankLogsAsk:
    return RankLogsAsk(ref=REF, ranks=tuple(RankPlace(rank=rank) for rank in range(ranks)), **more)


def test_lines_of_several_ranks_are_the_first_by_time_whatever_the_size_of_a_page() -> None:
    runtime = runtime_with_log(500)
    places = {rank: RankPlace(rank=rank) for rank in range(4)}
    found: list[RankLine] = []
    more = True
    while more:
        ask = RankLogsAsk(ref=REF, ranks=tuple(places.values()), limit=70)
        lines, more = merged_lines(runtime, ask)
        assert len(lines) <= 70
        found += lines
        places |= {line.rank: RankPlace(rank=line.rank, cursor=line.cursor) for line in lines}
    assert [(line.text, line.rank) for line in found] == [(f"line {n}", rank) for n in range(500) for rank in range(4)]


def test_each_rank_is_read_from_its_own_place() -> None:
    places = (RankPlace(rank=0, cursor="8"), RankPlace(rank=1, tail=1), RankPlace(rank=2, cursor="10"))
    lines, more = merged_lines(runtime_with_log(10), RankLogsAsk(ref=REF, ranks=places))
    assert [(line.rank, line.text) for line in lines] == [(0, "line 8"), (0, "line 9"), (1, "line 9")]
    assert not more


def test_a_look_at_ranks_with_little_news_reads_each_log_once() -> None:
    log = ScriptedLog(3)
    merged_lines(cast(Runtime, log), ranks_ask(16))
    assert log.reads == 16
