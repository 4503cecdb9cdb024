"""An elastic job on a cluster: the objects of each attempt are as many as its places, and the volume stays the same."""

import json
from datetime import timedelta
from typing import Any

import yaml

from activities.adapters.kubernetes.objects import render
from definitions.facts import Launched
from definitions.job_state import JobState, Sizes
from definitions.places import Ticket
from definitions.pod_needs import PodNeeds
from policies.job_steps import attempt_launch
from policies.lifecycle import begin
from tests.activities.kubernetes.golden import SETTINGS, Case, rendered
from tests.support.jobs import NOW, after, checkpoint, displaced, ended, new_state, places, rank

SIZES = Sizes(least=1, most=4, asked=4, ceiling=4)


def objects(state: JobState) -> dict[str, Any]:
    """Of the present attempt, by kind."""
    documents = yaml.safe_load_all(rendered(Case(attempt_launch(state), SETTINGS)))
    return {each["kind"]: each for each in documents}


def test_each_attempt_has_as_many_pods_as_places() -> None:
    state = begin(new_state(nodes=4, sizes=SIZES, ticket=Ticket(queue="q"), launch={"pod": PodNeeds()}), NOW).state
    claims = set()
    for number, nodes in enumerate((("n1", "n2"), ("n1", "n2", "n3", "n4"), ("n4",)), 1):
        state = after(state, places(state, *nodes), Launched(attempt=number, at=NOW))
        made = objects(state)
        job = made["Job"]["spec"]
        assert (job["parallelism"], job["completions"], job["maxFailedIndexes"]) == (len(nodes),) * 3
        claims.add(made["PersistentVolumeClaim"]["metadata"]["name"])
        gone = [rank(each, exit_code=None, signal=15) for each in range(len(nodes))]
        state = after(state, displaced(state, "another size", resizes=True))
        state = ended(state, *gone, checkpoints=(checkpoint(number),), at=NOW + timedelta(minutes=number))
    assert len(claims) == 1
    assert state.resume_step == 3
    assert json.loads(state.model_dump_json())["retries_used"] == 0
    assert render.claim_for(attempt_launch(state), SETTINGS) is not None
