"""What the worker's own account asked of the API server, by verb and resource, from the server's audit log."""

from collections import Counter
from datetime import datetime
from typing import Any

from tests.support.cluster import Namespace, TestCluster
from tests.support.cluster_worker import ACCOUNT

GOAL = 12


def calls(cluster: TestCluster, space: Namespace, began: float, ended: float) -> Counter[str]:
    """How often each was asked between two times (seconds since the epoch). A watch counts once, when it began."""
    found: Counter[str] = Counter()
    counted = set()
    for event in cluster.audit(space.name, ACCOUNT):
        at = datetime.fromisoformat(event["requestReceivedTimestamp"]).timestamp()
        if began <= at < ended and event["auditID"] not in counted:
            counted.add(event["auditID"])
            found[_what(event)] += 1
    return found


def jobs_made(cluster: TestCluster, space: Namespace) -> int:
    """How often a Job was really made by the worker, repeats included."""
    return sum(
        1
        for event in cluster.audit(space.name, ACCOUNT)
        if _what(event) == "create jobs"
        and "dryRun" not in event["requestURI"]
        and event["responseStatus"]["code"] == 201
    )


def by_job(counted: Counter[str], jobs: int) -> dict[str, float]:
    return {what: round(count / jobs, 3) for what, count in counted.most_common()}


def _what(event: dict[str, Any]) -> str:
    thing = event.get("objectRef", {})
    parts = [thing.get("resource", event["requestURI"].split("?")[0]), thing.get("subresource")]
    return f"{event['verb']} {'/'.join(part for part in parts if part)}"
