"""What a job is told when it is accepted where there are queues, and where there are none."""

import json
from typing import Any

import pytest

from definitions.errors import Exit, PerdureError
from definitions.job import Job, JobSpec
from definitions.places import Ticket
from policies.scheduling.admission import ticket_from, ticket_of
from policies.scheduling.asking import shape_of
from tests.definitions.test_job_model import job
from tests.definitions.test_queue_model import document
from tests.policies.scheduling.test_document_checks import H100, HALL, pool, queue, read


def priority_class(name: str, **given: Any) -> dict[str, Any]:
    return document("PriorityClass", given, name)


TREE = (
    queue("all", quotas={"cpus": {"limit": 16}, "gpus": {"limit": 8}}),
    queue("research", "all", default=True, quotas={"cpus": {"limit": 5}, "flavors": {"h100": {"limit": 4}}}),
    queue("production", "all"),
    priority_class("batch", value=1, default=True),
    priority_class("urgent", value=9, usableBy=["production"]),
    H100,
    HALL,
    pool(),
)


def spec(**given: Any) -> JobSpec:
    return Job.model_validate(job(**given)).spec


def ticket(*documents: dict[str, Any], **given: Any) -> Ticket | None:
    return ticket_of(read(*documents) if documents else [], spec(**given))


def refused(*documents: dict[str, Any], **given: Any) -> PerdureError:
    with pytest.raises(PerdureError) as found:
        ticket(*documents, **given)
    return found.value


@pytest.mark.parametrize(("given", "name"), [({}, "research"), ({"queue": "production"}, "production")])
def test_a_job_waits_in_the_queue_that_it_names_or_in_the_default_one(given: Any, name: str) -> None:
    found = ticket(*TREE, **given)
    assert found is not None
    assert found.queue == name


def test_class_and_priority_go_onto_the_ticket() -> None:
    assert ticket(*TREE, priority=7) == Ticket(queue="research", priority=7, priority_class="batch")
    urgent = ticket(*TREE, queue="production", priorityClass="urgent")
    assert urgent == Ticket(queue="production", priority=0, priority_class="urgent")


def test_a_default_class_that_is_not_for_the_queue_is_none() -> None:
    special = priority_class("special", value=5, default=True, usableBy=["production"])
    found = ticket(queue("production"), queue("research"), special, queue="research")
    assert found == Ticket(queue="research")


def test_without_queues_a_job_starts_at_once() -> None:
    assert ticket() is None
    assert ticket(H100, HALL, pool()) is None
    assert ticket(priorityClass="theirs", cluster="north") is None  # the cluster's own


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"queue": "research"}, "spec.queue"),
        ({"priority": 3}, "spec.priority"),
        ({"priorityClass": "batch"}, "spec.priorityClass"),
        ({"priority": 3, "cluster": "north"}, "spec.priority"),
    ],
)
def test_without_queues_what_only_they_give_a_meaning_is_refused(given: Any, where: str) -> None:
    found = refused(H100, **given)
    assert (found.code.code, found.where) == ("PD-2120", where)
    assert "apply a Queue" in found.remedy


@pytest.mark.parametrize(
    ("given", "code", "says"),
    [
        ({"queue": "reserch"}, "PD-2122", "there are: all, research, production"),
        ({"priorityClass": "btach"}, "PD-2123", "there are: batch, urgent"),
        ({"priorityClass": "urgent"}, "PD-2124", "only for those of production"),
        ({"placement": {"topology": {"required": "rck"}}}, "PD-2126", "there are: block, rack"),
    ],
)
def test_a_name_that_is_not_there_or_not_for_the_job_is_named_with_those_that_are(
    given: Any, code: str, says: str
) -> None:
    found = refused(*TREE, **given)
    assert found.code.code == code
    assert says in found.detail


@pytest.mark.parametrize(
    ("given", "close"),
    [
        ({"queue": "reserch"}, "research"),
        ({"priorityClass": "btach"}, "batch"),
        ({"placement": {"topology": {"preferred": "rakc"}}}, "rack"),
    ],
)
def test_a_misspelled_name_is_guessed(given: Any, close: str) -> None:
    assert refused(*TREE, **given).remedy == f"Did you mean {close}?"


def test_where_no_queue_is_the_default_one_must_be_named() -> None:
    found = refused(queue("research"), queue("production"))
    assert found.code.code == "PD-2121"
    assert "research, production" in found.detail


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        ({"resources": {"cpus": 6}}, "the job asks for 6 processors, and queue research may use at most 5 processors"),
        (
            {"resources": {"cpus": 9}, "nodes": 2, "queue": "production"},
            "the job asks for 18 processors, and queue all, which is above production, may use at most 16 processors",
        ),
        (
            {"resources": {"gpus": 5, "gpuType": "H100"}},
            "the job asks for 5 GPUs of H100, and queue research may use at most 4 GPUs of H100",
        ),
        (
            {"resources": {"gpus": 9}, "queue": "production"},
            "the job asks for 9 GPUs, and queue all, which is above production, may use at most 8 GPUs",
        ),
    ],
)
def test_more_than_a_limit_is_refused_with_the_queue_and_the_limit(given: Any, detail: str) -> None:
    found = refused(*TREE, **given)
    assert (found.code.code, found.code.exit, found.detail) == ("PD-2125", Exit.QUOTA, detail)


def test_as_much_as_a_limit_is_accepted() -> None:
    assert ticket(*TREE, resources={"cpus": 5, "gpus": 4, "gpuType": "H100"}) is not None


def test_every_limit_that_is_passed_is_named_at_once() -> None:
    found = refused(*TREE, resources={"cpus": 6, "gpus": 5, "gpuType": "H100"})
    assert {fault.where for fault in found.errors} == {"spec.resources.cpus", "spec.resources.gpus"}


@pytest.mark.parametrize("how", ["required", "preferred"])
def test_how_close_together_is_part_of_what_is_asked(how: str) -> None:
    given = spec(placement={"topology": {how: "rack"}}, nodes=2)
    assert ticket_of(read(*TREE), given) is not None
    assert json.loads(shape_of(given))["near"] == {how: "rack"}


def test_stored_documents_say_the_same_as_read_ones() -> None:
    assert ticket_from(list(TREE), spec(priority=7)) == ticket(*TREE, priority=7)
    assert ticket_from([], spec()) is None


RULE = [{"labelSelector": {"matchLabels": {"app": "cache"}}, "topologyKey": "kubernetes.io/hostname"}]
REQUIRED, PREFERRED = (f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("required", "preferred"))


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
def test_a_rule_about_other_pods_is_refused_where_the_scheduler_gives_places(kind: str) -> None:
    given = {"cluster": "north", "placement": {"affinity": {kind: {REQUIRED: RULE}}}}
    found = refused(*TREE, **given)
    assert (found.code.code, found.where) == ("PD-2127", f"spec.placement.affinity.{kind}.{REQUIRED}")
    assert ticket(**given) is None, "without queues the cluster's own scheduler keeps it"


def test_a_preference_about_other_pods_and_an_empty_rule_keep_nobody_out() -> None:
    rules = {"podAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": RULE[0]}]}, "podAntiAffinity": {REQUIRED: []}}
    assert ticket(*TREE, cluster="north", placement={"affinity": rules}) is not None


def reservation(name: str = "night", **given: Any) -> dict[str, Any]:
    base = {"queue": "research", "capacity": {"nodes": 1}, "start": "2027-03-05T10:00", "length": "1h"}
    return document("Reservation", {**base, "timeZone": "Etc/UTC", **given}, name)


@pytest.mark.parametrize(
    ("of", "given", "code"),
    [
        ({}, {}, None),
        ({"queue": "all"}, {}, None),
        ({"queue": "all"}, {"queue": "production"}, None),
        ({}, {"queue": "production"}, "PD-2162"),
        ({"users": {"queues": ["production"]}}, {"queue": "production"}, None),
        ({}, {"reservation": "nigth"}, "PD-2160"),
        ({"cluster": "north"}, {}, "PD-2162"),
        ({"cluster": "north"}, {"cluster": "north"}, None),
        ({}, {"cluster": "north"}, "PD-2162"),
    ],
)
def test_a_job_runs_in_a_reservation_of_its_cluster_and_queue(
    of: dict[str, Any], given: dict[str, Any], code: str | None
) -> None:
    documents, asked = (*TREE, reservation(**of)), {"reservation": "night", **given}
    if code is None:
        found = ticket(*documents, **asked)
        assert found is not None
        assert found.reservation == "night"
    else:
        assert (refused(*documents, **asked).code.code, refused(*documents, **asked).where) == (
            code,
            "spec.reservation",
        )


def test_without_queues_no_job_runs_in_a_reservation() -> None:
    assert refused(reservation="night").code.code == "PD-2120"
    assert refused(*TREE, reservation("night"), reservation="nigth").remedy == "Did you mean night?"
