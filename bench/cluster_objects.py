"""The objects of one of the control plane's own jobs, to be made again under other names without it."""

import json
import secrets
from typing import Any

from bench.cluster_rig import READY_WITHIN, Rig
from bench.harness import client
from tests.support.cluster import Namespace
from tests.support.polling import eventually

JOB, TOKEN = "perdure.dev/job", "perdure.dev/token"
BY_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "ownerReferences")
OF_THE_CONTROLLER = ("batch.kubernetes.io/controller-uid", "controller-uid", "batch.kubernetes.io/job-name", "job-name")


class Template:
    """Secret, Job and Service. Each copy has names, labels and a token of its own."""

    def __init__(self, secret: dict[str, Any], job: dict[str, Any], service: dict[str, Any]) -> None:
        labels = job["metadata"]["labels"]
        self._own = {job["metadata"]["name"]: "", labels[JOB]: "", labels[TOKEN]: ""}
        job["spec"] |= {"suspend": False}
        del job["spec"]["selector"]
        for key in OF_THE_CONTROLLER:
            job["spec"]["template"]["metadata"]["labels"].pop(key, None)
        bare = [_bare(each) for each in (secret, job, service)]
        self._texts = [json.dumps(each) for each in bare]

    def make(self, space: Namespace, name: str) -> None:
        paths = (f"{space.path}/secrets", space.jobs, f"{space.path}/services")
        base, job, token = self._own
        own = {base: name, job: name, token: secrets.token_hex(16)}
        for path, text in zip(paths, self._texts, strict=True):
            for old, new in own.items():
                text = text.replace(old, new)
            space.api.post(path, json.loads(text))

    def remove(self, space: Namespace, name: str) -> None:
        """Pods go with the Job. The Service, which the control plane makes a part of its Job, is deleted by itself."""
        space.api.delete(f"{space.jobs}/{name}", propagationPolicy="Background")
        for kind in ("services", "secrets"):
            space.api.delete(f"{space.path}/{kind}/{name}")


def template(rig: Rig) -> Template:
    """Run one job and take its objects while they are there."""
    with client(rig.stack) as opened:
        job = rig.submit(opened, "template")
    query = {"labelSelector": f"{JOB}={job}"}

    def objects() -> Template | None:
        kinds = (f"{rig.space.path}/secrets", rig.space.jobs, f"{rig.space.path}/services")
        found = [rig.space.api.items(path, **query) for path in kinds]
        return Template(*(items[0] for items in found)) if all(found) else None

    taken = eventually(objects, READY_WITHIN, "the objects of a job are there")
    view = rig.stack.until(job, seconds=READY_WITHIN)
    assert view["phase"] == "Succeeded", view["reason"]
    return taken


def _bare(thing: dict[str, Any]) -> dict[str, Any]:
    """As it was before the server took it."""
    meta = {key: value for key, value in thing["metadata"].items() if key not in (*BY_THE_SERVER, "namespace")}
    return {**{key: value for key, value in thing.items() if key != "status"}, "metadata": meta}
