"""The asynchronous client: carries out the same scripts without blocking the event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, TypeVar

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


class AsyncClient:
    """The twin of `Client`: the same verbs, to be awaited. Close it, or use it in an `async with`."""

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
        self._http = httpx.AsyncClient(timeout=timeout, trust_env=wire.trusts_environment(url))
        self.system: System[AsyncClient] = System(self)
        self.jobs: Jobs[AsyncClient] = Jobs(self)
        self.templates: Templates[AsyncClient] = Templates(self)
        self.secrets: Secrets[AsyncClient] = Secrets(self)
        self.schedules: Schedules[AsyncClient] = Schedules(self)
        self.snapshots: Snapshots[AsyncClient] = Snapshots(self)
        self.clusters: Clusters[AsyncClient] = Clusters(self)
        self.nodes: Nodes[AsyncClient] = Nodes(self)
        self.scheduling_documents: SchedulingDocuments[AsyncClient] = SchedulingDocuments(self)
        self.queues: Queues[AsyncClient] = Queues(self)
        self.queue: Waiting[AsyncClient] = Waiting(self)
        self.capacity: Capacity[AsyncClient] = Capacity(self)
        self.decisions: Decisions[AsyncClient] = Decisions(self)
        self.flavors: Flavors[AsyncClient] = Flavors(self)
        self.priority_classes: PriorityClasses[AsyncClient] = PriorityClasses(self)
        self.topologies: Topologies[AsyncClient] = Topologies(self)
        self.node_pools: NodePools[AsyncClient] = NodePools(self)
        self.reservations: Reservations[AsyncClient] = Reservations(self)

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

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Safe to repeat."""
        await self._http.aclose()

    async def submit(
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
    ) -> AsyncRun:
        """Submit a job; see `Client.submit`. The folder is read in a thread, where `progress` is called too."""
        body = request(document, template=template, version=version, values=values, name=name, after=after)
        draft = await self.run(drafting(body, folder=folder, project=project, progress=progress))
        view = await self.run(sending(draft, progress))
        return AsyncRun(self, view.id, view.project, view)

    async def schedule(
        self,
        document: Document,
        *,
        folder: Path | None = None,
        project: str | None = None,
        progress: Progress | None = None,
    ) -> ScheduleView:
        """Store a schedule. All its jobs run in a copy of the working folder as it is now, when they want one."""
        draft = await self.run(scheduling(document, folder=folder, project=project, progress=progress))
        return await self.run(creating(draft, progress))

    async def attach(self, job: str, *, project: str | None = None) -> AsyncRun:
        """A job that is there already, by id or by name (the newest of that name)."""
        view = await self.jobs.get(job, project=project)
        return AsyncRun(self, view.id, view.project, view)

    async def plan(self, draft: Draft[SubmitJob]) -> Plan:
        """What sending a draft would do. Writes nothing."""
        return await self.run(planning(draft))

    async def call(self, call: Call[T]) -> T:
        """Send one call and read its answer."""
        return await self.run(exchange(self.target, call, self.tries))

    async def iterate(self, items: Items[T]) -> AsyncIterator[T]:
        """Go over all pages of a list, or follow a stream until it ends."""
        if items.stream is not None:
            async for item in self._follow(items.stream):
                yield item
        pages = items.pages
        while pages is not None:
            page = await self.call(pages)
            for item in page.items:
                yield item
            # A log that may still grow has a next page for ever: an empty one is the end of what there is.
            pages = next_page(pages, page.next) if page.next and page.items else None

    async def run(self, script: Script[T]) -> T:
        """Carry out a script."""
        outcome: Any = None
        error: Exception | None = None
        try:
            while True:
                effect = advance(script, outcome, error)
                outcome, error = None, None
                try:
                    outcome = await self._perform(effect)
                except PerdureError as raised:
                    error = raised
        except Ended as ended:
            value: T = ended.value
            return value

    async def _perform(self, effect: Effect) -> Any:
        match effect:
            case Send():
                return await self._send(effect.request)
            case Pause():
                return await asyncio.sleep(effect.seconds)
            case Work():
                return await asyncio.to_thread(effect.act)
            case Call():
                return await self.call(effect)

    async def _send(self, request: Request) -> Reply | Lost:
        try:
            with wire.body(request) as content:
                arguments = wire.arguments(request, content)
                if content is not None and not isinstance(content, bytes):
                    arguments["content"] = _pieces(content)
                async with self._http.stream(**arguments) as response:
                    if request.call.into is not None and response.is_success:
                        await _save(response, request.call.into)
                        return wire.reply(response, b"")
                    return wire.reply(response, await response.aread())
        except httpx.TransportError as error:
            return wire.lost(error)

    async def _follow(self, call: Call[T]) -> AsyncIterator[T]:
        following = Following(self.target, call)
        while not following.ended:
            outcome: Reply | Lost = Lost("the connection ended", sent=True)
            try:
                async with self._http.stream(**wire.arguments(following.request(), None, stream=True)) as response:
                    if not response.is_success:
                        outcome = wire.reply(response, await response.aread())
                    else:
                        async for line in response.aiter_lines():
                            message = following.feed(line)
                            if message is not None:
                                yield call.read(wire.said(message))
            except httpx.TransportError as error:
                outcome = wire.lost(error)
            if not following.ended:
                await asyncio.sleep(following.broke(outcome))


class AsyncRun(RunVerbs[AsyncClient]):
    """A job that was submitted. `view` is what the API last said of it."""

    def __init__(self, client: AsyncClient, id: str, project: str | None, view: JobView) -> None:
        super().__init__(client, id, project)
        self.view = view

    async def refresh(self) -> JobView:
        """Ask how the job is now."""
        self.view = await self.get()
        return self.view

    async def wait(self, timeout: float | None = None) -> JobView:  # noqa: ASYNC109  the twin has it too
        """Return once the job has ended; see `Run.wait`."""
        self.view = await self._client.run(waiting(self.id, self.project, timeout))
        return self.view

    async def clone(
        self, *, name: str | None = None, overrides: Mapping[str, Any] | None = None, from_step: int | None = None
    ) -> AsyncRun:
        """Submit the same document and snapshot again; see `Run.clone`."""
        jobs = self._client.jobs
        view = await jobs.clone(self.id, name=name, overrides=overrides, from_step=from_step, project=self.project)
        return AsyncRun(self._client, view.id, view.project, view)


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(file.read, wire.CHUNK):
        yield piece


async def _save(response: httpx.Response, into: Path) -> None:
    with into.open("wb") as file:
        async for chunk in response.aiter_bytes():
            await asyncio.to_thread(file.write, chunk)
