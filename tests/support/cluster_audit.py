"""An auditor of a cluster that believes nobody: it reads the API server and its audit log, not our tables."""

import re
from collections import Counter
from dataclasses import dataclass

from tests.support.cluster import Namespace, TestCluster
from tests.support.cluster_worker import ACCOUNT

# What an attempt may have in the cluster while it lives, and what of it may outlive it.
KINDS = ("pods", "services", "secrets")
CREATED = 201


@dataclass(frozen=True)
class ClusterAuditor:
    cluster: TestCluster
    space: Namespace

    def attempts(self, name: str) -> list[int]:
        """Numbers of the attempts for which a Job was really made, once for each Job: a doubled one is there twice."""
        made = re.compile(rf"{re.escape(name)}-[0-9a-f]{{12}}-(\d+)")
        found: Counter[int] = Counter()
        for event in self.cluster.audit(self.space.name, ACCOUNT):
            thing = event.get("objectRef", {})
            kept = event["verb"] == "create" and "dryRun" not in event["requestURI"]
            if not kept or (thing.get("resource"), thing.get("namespace")) != ("jobs", self.space.name):
                continue
            match = made.fullmatch(thing.get("name", ""))
            if match and event["responseStatus"]["code"] == CREATED:
                found[int(match[1])] += 1
        return sorted(found.elements())

    def pods_made(self, name: str) -> dict[int, int]:
        """By attempt: how many pods the cluster's controller has made for its Job, as its events say."""
        made = re.compile(rf"{re.escape(name)}-[0-9a-f]{{12}}-(\d+)")
        found: Counter[int] = Counter()
        for event in self.space.api.items(f"{self.space.path}/events", fieldSelector="reason=SuccessfulCreate"):
            match = made.fullmatch(event["involvedObject"]["name"])
            if match and event["involvedObject"]["kind"] == "Job":
                found[int(match[1])] += int(event.get("count") or 1)
        return dict(found)

    def strays(self, job: str) -> list[str]:
        """Everything in the namespace that belongs to an attempt of this job."""
        query = {"labelSelector": f"perdure.dev/job={job}"}
        found = [f"jobs {item['metadata']['name']}" for item in self.space.api.items(self.space.jobs, **query)]
        for kind in KINDS:
            items = self.space.api.items(f"{self.space.path}/{kind}", **query)
            found += [f"{kind} {item['metadata']['name']}" for item in items]
        return found
