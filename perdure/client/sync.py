"""The synchronous client: carries out what the scripts ask for, and blocks meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from perdure.client import config, wire
from perdure.client._models import JobView, Plan, ScheduleView, SubmitJob
from perdure.client.call import Call, Items, Reply, next_page
from perdure.client.documents import Document
from perdure.client.exchange import TRIES, Target, exchange
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
from perdure.client.script import Effect, Ended, Lost, Pause, Request, Script, Send, Work, advance
from perdure.client.sse import Following
from perdure.client.submitting import Draft, Progress, creating, drafting, planning, request, scheduling, sending
from perdure.client.waiting import waiting
from perdure.errors import PerdureError

T = TypeVar("T")


class Client:
    """A connection to the API. Safe to use from several threads; close it, or use it in a `with`.

    Example:
        with Client.from_env() as client:
            run = client.submit({"apiVersion": "perdure/v1", "kind": "Job", ...})
            print(run.wait().phase)
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        project: str | None = None,
        timeout: float = 30.0,
        tries: int = TRIES,
    ) -> None:
        """`timeout`: seconds without an answer after which a request is given up; `tries`: how often it is sent."""
        self.target = Target(url, key, project)
        self.tries = tries
        self._http = httpx.Client(timeout=timeout, trust_env=wire.trusts_environment(url))
        self.system: System[Client] = System(self)
        self.jobs: Jobs[Client] = Jobs(self)
        self.templates: Templates[Client] = Templates(self)
        self.secrets: Secrets[Client] = Secrets(self)
        self.schedules: Schedules[Client] = Schedules(self)
        self.snapshots: Snapshots[Client] = Snapshots(self)
        self.clusters: Clusters[Client] = Clusters(self)
        self.nodes: Nodes[Client] = Nodes(self)
        self.scheduling_documents: SchedulingDocuments[Client] = SchedulingDocuments(self)
        self.queues: Queues[Client] = Queues(self)
        self.queue: Waiting[Client] = Waiting(self)
        self.capacity: Capacity[Client] = Capacity(self)
        self.decisions: Decisions[Client] = Decisions(self)
        self.flavors: Flavors[Client] = Flavors(self)
        self.priority_classes: PriorityClasses[Client] = PriorityClasses(self)
        self.topologies: Topologies[Client] = Topologies(self)
        self.node_pools: NodePools[Client] = NodePools(self)
        self.reservations: Reservations[Client] = Reservations(self)

    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None, **settings: Any) -> Self:
        """A client for PERDURE_API_URL, PERDURE_API_KEY and PERDURE_PROJECT, else for this machine's control plane.

        `settings` as of the class: `project`, `timeout`, `tries`. Raises PerdureError PD-2906 for unusable ones.
        """
        return cls._to(config.from_environment(environment), settings)

    @classmethod
    def from_config(cls, home: Path | None = None, **settings: Any) -> Self:
        """A client for the control plane whose state is in `home` (PERDURE_HOME, else `~/.perdure`)."""
        return cls._to(config.from_home(home or config.home_folder(os.environ)), settings)

    @classmethod
    def _to(cls, target: Target, settings: dict[str, Any]) -> Self:
        return cls(target.url, target.key, **{"project": target.project, **settings})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. Safe to repeat."""
        self._http.close()

    def submit(
        self,
        document: Document | None = None,
        *,
        template: str | None = None,
        version: int | None = None,
        values: Mapping[str, Any] | None = None,
        name: str | None = None,
        after: Sequence[str] = (),
        folder: Path | None = None,
        project: str | None = None,
        progress: Progress | None = None,
    ) -> Run:
        """Submit a job, from a document or from a template with values. It is accepted when this returns.

        `after`: jobs to wait for, besides those that the document names: `JOB`, which has to succeed, `JOB:fail` or
        `JOB:any`. The working folder (`folder`, else the present one) is kept as a snapshot when the job wants one.
        Raises PerdureApiError for a refusal, SnapshotRefused when the folder cannot be kept.
        """
        body = request(document, template=template, version=version, values=values, name=name, after=after)
        draft = self.run(drafting(body, folder=folder, project=project, progress=progress))
        view = self.run(sending(draft, progress))
        return Run(self, view.id, view.project, view)

    def schedule(
        self,
        document: Document,
        *,
        folder: Path | None = None,
        project: str | None = None,
        progress: Progress | None = None,
    ) -> ScheduleView:
        """Store a schedule. All its jobs run in a copy of the working folder as it is now, when they want one."""
        draft = self.run(scheduling(document, folder=folder, project=project, progress=progress))
        return self.run(creating(draft, progress))

    def attach(self, job: str, *, project: str | None = None) -> Run:
        """A job that is there already, by id or by name (the newest of that name)."""
        view = self.jobs.get(job, project=project)
        return Run(self, view.id, view.project, view)

    def plan(self, draft: Draft[SubmitJob]) -> Plan:
        """What sending a draft would do. Writes nothing."""
        return self.run(planning(draft))

    def call(self, call: Call[T]) -> T:
        """Send one call and read its answer."""
        return self.run(exchange(self.target, call, self.tries))

    def iterate(self, items: Items[T]) -> Iterator[T]:
        """Go over all pages of a list, or follow a stream until it ends."""
        if items.stream is not None:
            yield from self._follow(items.stream)
        pages = items.pages
        while pages is not None:
            page = self.call(pages)
            yield from page.items
            # A log that may still grow has a next page for ever: an empty one is the end of what there is.
            pages = next_page(pages, page.next) if page.next and page.items else None

    def run(self, script: Script[T]) -> T:
        """Carry out a script."""
        outcome: Any = None
        error: Exception | None = None
        try:
            while True:
                effect = advance(script, outcome, error)
                outcome, error = None, None
                try:
                    outcome = self._perform(effect)
                except PerdureError as raised:
                    error = raised
        except Ended as ended:
            value: T = ended.value
            return value

    def _perform(self, effect: Effect) -> Any:
        match effect:
            case Send():
                return self._send(effect.request)
            case Pause():
                return time.sleep(effect.seconds)
            case Work():
                return effect.act()
            case Call():
                return self.call(effect)

    def _send(self, request: Request) -> Reply | Lost:
        try:
            with wire.body(request) as content, self._http.stream(**wire.arguments(request, content)) as response:
                if request.call.into is not None and response.is_success:
                    with request.call.into.open("wb") as file:
                        for chunk in response.iter_bytes():
                            file.write(chunk)
                    return wire.reply(response, b"")
                return wire.reply(response, response.read())
        except httpx.TransportError as error:
            return wire.lost(error)

    def _follow(self, call: Call[T]) -> Iterator[T]:
        following = Following(self.target, call)
        while not following.ended:
            outcome: Reply | Lost = Lost("the connection ended", sent=True)
            try:
                with self._http.stream(**wire.arguments(following.request(), None, stream=True)) as response:
                    if not response.is_success:
                        outcome = wire.reply(response, response.read())
                    else:
                        for line in response.iter_lines():
                            message = following.feed(line)
                            if message is not None:
                                yield call.read(wire.said(message))
            except httpx.TransportError as error:
                outcome = wire.lost(error)
            if not following.ended:
                time.sleep(following.broke(outcome))


class Run(RunVerbs[Client]):
    """A job that was submitted. `view` is what the API last said of it."""

    def __init__(self, client: Client, id: str, project: str | None, view: JobView) -> None:
        super().__init__(client, id, project)
        self.view = view

    def refresh(self) -> JobView:
        """Ask how the job is now."""
        self.view = self.get()
        return self.view

    def wait(self, timeout: float | None = None) -> JobView:
        """Return once the job has ended; the outcome is its `phase`. `timeout` in seconds (PerdureWaitTimeout).

        An API that is away for less than five minutes is waited for: jobs go on without it.
        """
        self.view = self._client.run(waiting(self.id, self.project, timeout))
        return self.view

    def clone(
        self, *, name: str | None = None, overrides: Mapping[str, Any] | None = None, from_step: int | None = None
    ) -> Run:
        """Submit the same document and snapshot again, with changes if wanted, from a checkpoint if wanted."""
        jobs = self._client.jobs
        view = jobs.clone(self.id, name=name, overrides=overrides, from_step=from_step, project=self.project)
        return Run(self._client, view.id, view.project, view)
