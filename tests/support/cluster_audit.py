"""An auditor of a cluster that believes nobody: it reads the API server and its audit log, not our tables."""

import re
from collections import Counter
from dataclasses import dataclass

from tests.support.cluster import Namespace, TestCluster
from tests.support.cluster_worker import ACCOUNT

# What an attempt may have in the cluster while it lives, and what of it may outlive it.
KINDS = ("pods", "services", "secrets")
CREATED = 201
MADE = re.compile(r"(.+)-[0-9a-f]{12}-(\d+)")  # names of Jobs


@dataclass(frozen=True)
class ClusterAuditor:
    cluster: TestCluster
    space: Namespace

    def attempts(self, name: str) -> list[int]:
        """Numbers of the attempts for which a Job was really made, once for each Job: a doubled one is there twice."""
        return self.attempts_of_all().get(name, [])

    def attempts_of_all(self) -> dict[str, list[int]]:
        """The same for every job, by name."""
        found: dict[str, list[int]] = {}
        for event in self.cluster.audit(self.space.name, ACCOUNT):
            thing = event.get("objectRef", {})
            kept = event["verb"] == "create" and "dryRun" not in event["requestURI"]
            if not kept or (thing.get("resource"), thing.get("namespace")) != ("jobs", self.space.name):
                continue
            match = MADE.fullmatch(thing.get("name", ""))
            if match and event["responseStatus"]["code"] == CREATED:
                found.setdefault(match[1], []).append(int(match[2]))
        return {name: sorted(numbers) for name, numbers in found.items()}

    def pods_made(self, name: str) -> dict[int, int]:
        """By attempt: how many pods the cluster's controller has made for its Job, as its events say."""
        return self.pods_made_of_all().get(name, {})

    def pods_made_of_all(self) -> dict[str, dict[int, int]]:
        """The same for every job, by name."""
        found: dict[str, Counter[int]] = {}
        for event in self.space.api.items(f"{self.space.path}/events", fieldSelector="reason=SuccessfulCreate"):
            match = MADE.fullmatch(event["involvedObject"]["name"])
            if match and event["involvedObject"]["kind"] == "Job":
                found.setdefault(match[1], Counter())[int(match[2])] += int(event.get("count") or 1)
        return {name: dict(pods) for name, pods in found.items()}

    def strays(self, job: str | None = None) -> list[str]:
        """Everything in the namespace that belongs to an attempt of this job, or of any."""
        query = {"labelSelector": "perdure.dev/job" if job is None else f"perdure.dev/job={job}"}
        found = [f"jobs {item['metadata']['name']}" for item in self.space.api.items(self.space.jobs, **query)]
        for kind in KINDS:
            items = self.space.api.items(f"{self.space.path}/{kind}", **query)
            found += [f"{kind} {item['metadata']['name']}" for item in items]
        return found
