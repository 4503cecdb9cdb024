"""API, client and command line offer the same verbs: one table, checked against all three."""

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import typer

from perdure.cli.main import app
from perdure.client import _models as models
from perdure.client.call import Call
from perdure.client.groups import (
    Capacity,
    Clusters,
    Decisions,
    Flavors,
    Jobs,
    NodePools,
    Nodes,
    PriorityClasses,
    Queues,
    Reservations,
    RunVerbs,
    Schedules,
    SchedulingDocuments,
    Secrets,
    Snapshots,
    System,
    Templates,
    Topologies,
    Waiting,
)
from perdure.client.verbs import Iterate, OwnIterate, OwnVerb, Verb

OPENAPI = json.loads((Path(__file__).parents[2] / "docs" / "openapi.json").read_text())
GROUPS = {
    "system": System,
    "jobs": Jobs,
    "templates": Templates,
    "secrets": Secrets,
    "schedules": Schedules,
    "snapshots": Snapshots,
    "clusters": Clusters,
    "nodes": Nodes,
    "scheduling_documents": SchedulingDocuments,
    "queues": Queues,
    "queue": Waiting,
    "capacity": Capacity,
    "decisions": Decisions,
    "flavors": Flavors,
    "priority_classes": PriorityClasses,
    "topologies": Topologies,
    "node_pools": NodePools,
    "reservations": Reservations,
}
# Documents of the scheduler, by noun of the API -> (of the client, of the command line).
SCHEDULING = {
    "queues": ("queues", "queues"),
    "flavors": ("flavors", "flavors"),
    "priorityClasses": ("priority_classes", "priority-classes"),
    "topologies": ("topologies", "topologies"),
    "nodePools": ("node_pools", "pools"),
}
# operation of the API -> (method of the client, command). Everything that one of the three has is here.
TABLE: dict[str, tuple[str, str]] = {
    "system.health": ("system.health", "version --server"),
    "system.version": ("system.version", "version --server"),
    "system.errors": ("system.errors", "errors"),
    "system.doctor": ("system.doctor", "doctor"),
    "system.metrics": ("system.metrics", "metrics"),
    "jobs.submit": ("jobs.submit", "run"),
    "jobs.list": ("jobs.list", "jobs list"),
    "jobs.validate": ("jobs.validate", "validate"),
    "jobs.render": ("jobs.render", "render"),
    "jobs.diff": ("jobs.diff", "diff"),
    "jobs.apply": ("jobs.apply", "apply"),
    "jobs.import": ("jobs.import_", "import kubernetes"),
    "jobs.objects": ("jobs.objects", "render --cluster"),
    "jobs.objectsDiff": ("jobs.objects_diff", "jobs objects"),
    "jobs.children": ("jobs.children", "jobs children"),
    "jobs.get": ("jobs.get", "jobs show"),
    "jobs.delete": ("jobs.delete", "jobs delete"),
    "jobs.why": ("jobs.why", "jobs why"),
    "jobs.wait": ("jobs.wait", "jobs wait"),
    "jobs.cancel": ("jobs.cancel", "jobs cancel"),
    "jobs.suspend": ("jobs.suspend", "jobs suspend"),
    "jobs.resume": ("jobs.resume", "jobs resume"),
    "jobs.checkpoint": ("jobs.checkpoint", "jobs checkpoint"),
    "jobs.extend": ("jobs.extend", "jobs extend"),
    "jobs.reprioritise": ("jobs.reprioritise", "jobs reprioritise"),
    "jobs.resize": ("jobs.resize", "jobs resize"),
    "jobs.clone": ("jobs.clone", "jobs clone"),
    "jobs.attempts": ("jobs.attempts", "jobs attempts"),
    "jobs.events": ("jobs.events", "jobs events"),
    "jobs.eventsStream": ("jobs.read_events", "jobs events --follow"),
    "jobs.checkpoints": ("jobs.checkpoints", "jobs checkpoints"),
    "jobs.metrics": ("jobs.metrics", "jobs metrics"),
    "jobs.artifacts": ("jobs.artifacts", "jobs artifacts list"),
    "jobs.artifact": ("jobs.artifact", "jobs artifacts get"),
    "jobs.deleteArtifact": ("jobs.delete_artifact", "jobs artifacts delete"),
    "jobs.logs": ("jobs.logs", "jobs logs"),
    "jobs.logsStream": ("jobs.read_logs", "jobs logs --follow"),
    "snapshots.put": ("snapshots.put", "run"),
    "snapshots.head": ("snapshots.head", "run"),
    "templates.create": ("templates.create", "templates create"),
    "templates.list": ("templates.list", "templates list"),
    "templates.get": ("templates.get", "templates show"),
    "templates.delete": ("templates.delete", "templates delete"),
    "templates.render": ("templates.render", "templates render"),
    "secrets.create": ("secrets.create", "secrets create"),
    "secrets.list": ("secrets.list", "secrets list"),
    "secrets.rotate": ("secrets.rotate", "secrets rotate"),
    "secrets.delete": ("secrets.delete", "secrets delete"),
    "schedules.create": ("schedules.create", "schedules create"),
    "schedules.list": ("schedules.list", "schedules list"),
    "schedules.get": ("schedules.get", "schedules show"),
    "schedules.delete": ("schedules.delete", "schedules delete"),
    "schedules.pause": ("schedules.pause", "schedules pause"),
    "schedules.resume": ("schedules.resume", "schedules resume"),
    "schedules.trigger": ("schedules.trigger", "schedules trigger"),
    "clusters.create": ("clusters.create", "clusters add"),
    "clusters.replace": ("clusters.replace", "clusters add --replace"),
    "clusters.list": ("clusters.list", "clusters list"),
    "clusters.get": ("clusters.get", "clusters show"),
    "clusters.check": ("clusters.check", "clusters check"),
    "clusters.delete": ("clusters.delete", "clusters remove"),
    "nodes.list": ("nodes.list", "nodes list"),
    "nodes.get": ("nodes.get", "nodes show"),
    "nodes.cordon": ("nodes.cordon", "nodes cordon"),
    "nodes.uncordon": ("nodes.uncordon", "nodes uncordon"),
    "nodes.drain": ("nodes.drain", "nodes drain"),
    "queue.list": ("queue.list", "queue"),
    "queues.usage": ("queues.usage", "queues usage"),
    "capacity.list": ("capacity.list", "capacity"),
    "decisions.list": ("decisions.list", "decisions list"),
    "decisions.get": ("decisions.get", "decisions show"),
    "reservations.preview": ("reservations.preview", "reservations create --dry-run"),
    "reservations.create": ("reservations.create", "reservations create"),
    "reservations.list": ("reservations.list", "reservations list"),
    "reservations.get": ("reservations.get", "reservations show"),
    "reservations.put": ("reservations.put", "apply"),
    "reservations.delete": ("reservations.delete", "reservations delete"),
    "reservations.windows": ("reservations.windows", "reservations windows"),
    "reservations.extend": ("reservations.extend", "reservations extend"),
    "reservations.cancel": ("reservations.cancel", "reservations cancel"),
    "reservations.calendar": ("reservations.calendar", "reservations calendar"),
    "schedulingDocuments.apply": ("scheduling_documents.apply", "apply"),
    "schedulingDocuments.diff": ("scheduling_documents.diff", "diff"),
    **{f"{api}.list": (f"{client}.list", f"{noun} list") for api, (client, noun) in SCHEDULING.items()},
    **{f"{api}.get": (f"{client}.get", f"{noun} show") for api, (client, noun) in SCHEDULING.items()},
    **{f"{api}.put": (f"{client}.put", "apply") for api, (client, _) in SCHEDULING.items()},
    **{f"{api}.delete": (f"{client}.delete", f"{noun} delete") for api, (client, noun) in SCHEDULING.items()},
}
PAGES = {"system.errorPage", "system.errorPages", "system.reference", "system.style", "system.openapi"}  # for browsers
ONLY_CLIENT = {  # other forms of verbs in the table: all pages at once, a plan, bytes into a file
    "jobs.plan",
    "jobs.download_artifact",
    *(f"jobs.each{what}" for what in ("", "_child", "_attempt", "_checkpoint", "_metric", "_artifact")),
    *(f"{noun}.each" for noun in ("templates", "secrets", "schedules", "clusters", "nodes")),
    *(f"{client}.each" for client, _ in SCHEDULING.values()),
    *(f"reservations.each{what}" for what in ("", "_window", "_calendar")),
    *("queue.each", "capacity.each", "decisions.each", "queues.each_usage"),
}
ONLY_COMMANDS = {
    "jobs exec",
    "jobs port-forward",
    "serve",
    "clusters rbac",
    "clusters worker",
    "up",
    "down",
    "status",
    "completion",
    "simulate",
    "version",
}  # about this machine, not about the API
SAMPLES: dict[type, Any] = {
    str: "x",
    int: 1,
    float: 1.0,
    bool: True,
    Path: Path("x"),
    models.SubmitJob: models.SubmitJob(text="x"),
    models.CreateSchedule: models.CreateSchedule(text="x"),
    models.ImportJobs: models.ImportJobs(text="x"),
}


def operations() -> dict[str, tuple[str, str, dict[str, Any]]]:
    return {
        operation["operationId"]: (method.upper(), path, operation)
        for path, methods in OPENAPI["paths"].items()
        for method, operation in methods.items()
    }


def methods() -> dict[str, Any]:
    """Every verb of the client, by `group.method`."""
    return {
        f"{noun}.{name}": verb.make
        for noun, group in GROUPS.items()
        for name, verb in vars(group).items()
        if isinstance(verb, Verb | Iterate)
    }


def commands() -> dict[str, Any]:
    def walk(path: str, command: Any) -> Iterator[tuple[str, Any]]:
        members = getattr(command, "commands", {})
        if not members:
            yield path, command
        for name, member in members.items():
            yield from walk(f"{path} {name}".strip(), member)

    return dict(walk("", typer.main.get_command(app)))


def test_every_operation_of_the_api_is_in_the_table() -> None:
    assert set(operations()) - PAGES == set(TABLE)


def test_every_method_of_the_client_is_in_the_table() -> None:
    assert set(methods()) - ONLY_CLIENT == {method for method, _ in TABLE.values()}
    assert set(methods()) >= ONLY_CLIENT


def test_every_command_is_in_the_table() -> None:
    named = {command.partition(" --")[0] for _, command in TABLE.values()}
    assert set(commands()) - ONLY_COMMANDS == named - ONLY_COMMANDS
    for command in (command for _, command in TABLE.values() if " --" in command):
        path, _, option = command.partition(" --")
        assert f"--{option}" in {word for parameter in commands()[path].params for word in parameter.opts}


def called(make: Any) -> Call[Any]:
    """The operation with a value for every argument that it must be given."""
    hints = get_type_hints(make)
    given = [
        SAMPLES.get(hints[name], "x")
        for name, parameter in inspect.signature(make).parameters.items()
        if parameter.default is inspect.Parameter.empty
    ]
    made = make(*given, **({"follow": True} if "follow" in inspect.signature(make).parameters else {}))
    return made if isinstance(made, Call) else made.stream


@pytest.mark.parametrize("operation", TABLE)
def test_the_client_sends_what_the_api_describes(operation: str) -> None:
    method, path, described = operations()[operation]
    make = methods()[TABLE[operation][0]]
    call = called(make)
    assert call.operation == operation
    assert call.method == method
    assert re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", re.escape(path).replace(r"\{", "{").replace(r"\}", "}")), call.path)
    query = {each["name"] for each in described.get("parameters", []) if each["in"] == "query"}
    assert set(call.query) | ({"project"} if call.scoped else set()) == query
    takes_key = "idempotency-key" in {each["name"].lower() for each in described.get("parameters", [])}
    assert call.keyed == takes_key


def test_what_can_be_asked_of_a_run_can_be_asked_by_its_id_too() -> None:
    own = {name: verb.make for name, verb in vars(RunVerbs).items() if isinstance(verb, OwnVerb | OwnIterate)}
    assert {make.__name__ for make in own.values()} <= {make.__name__ for make in methods().values()}
