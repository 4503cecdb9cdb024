"""What is sent to the API in bodies and queries, and what a body that comes back is taken for."""

import json
from typing import Any

from activities.adapters.kubernetes.connection import Query
from activities.adapters.kubernetes.errors import Answer, Target, refusal
from activities.adapters.kubernetes.kinds import Kind

Object = dict[str, Any]


def encoded(body: Object, kind: Kind) -> bytes:
    """An object as JSON; its kind need not be in it."""
    return json.dumps({"apiVersion": kind.api_version, "kind": kind.value.name, **body}).encode()


def checked(answer: Answer, target: Target) -> Object:
    """The object in a success; otherwise the error that the answer stands for is raised."""
    if answer.ok and (value := answer.json()):
        return value
    raise refusal(answer, target)


def deletion(grace: int | None, uid: str, *, background: bool) -> bytes:
    options: Object = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": uid},
        "propagationPolicy": "Background" if background else "Foreground",
    }
    return json.dumps(options | ({} if grace is None else {"gracePeriodSeconds": grace})).encode()


def eviction(pod: str, grace: int | None, uid: str | None) -> bytes:
    options: Object = {} if grace is None else {"gracePeriodSeconds": grace}
    if uid is not None:
        options["preconditions"] = {"uid": uid}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}, "deleteOptions": options}
    return json.dumps(body).encode()


def selectors(labels: str | None, fields: str | None) -> Query:
    both = (("labelSelector", labels), ("fieldSelector", fields))
    return tuple((name, value) for name, value in both if value)


def dry(run: bool) -> Query:
    return (("dryRun", "All"),) if run else ()
