"""Kubernetes by plain JSON: each call bounded, repeated by rule, and safe to repeat by its caller."""

import copy
import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from activities.adapters.kubernetes.byte_stream import ByteStream
from activities.adapters.kubernetes.calling import Call, Caller, OnCall
from activities.adapters.kubernetes.connection import Connection, Query, Transport
from activities.adapters.kubernetes.errors import Answer, KubeError, Target, refusal
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.messages import Object, checked, deletion, dry, encoded, eviction, selectors
from activities.adapters.kubernetes.retrying import Patience
from activities.adapters.kubernetes.streams import ExecResult, ExecStream, PortForward, Streams
from activities.adapters.kubernetes.watching import Listing, WatchStream

MANAGER = "perdure"
PAGE = 500
RELISTS = 3  # how often a list whose pages were thrown away begins anew
NO_CALL: OnCall = lambda verb, resource, status, seconds: None  # noqa: E731


@dataclass(frozen=True)
class Rule:
    """What one may be allowed to do. `subresource` is empty for the object itself."""

    verb: str
    kind: Kind
    subresource: str = ""


class KubeClient:
    """The API of one cluster in one namespace. Threads may share it. Raises KubeError (a PortError) and nothing else.

    `on_call(verb, resource, status, seconds)` hears of every try of every request.
    """

    def __init__(
        self,
        settings: Connection,
        *,
        on_call: OnCall = NO_CALL,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self.namespace = settings.namespace
        self._on_call = on_call
        self._transport = Transport(settings)
        self._caller = Caller(self._transport, on_call, pause)
        self._streams = Streams(self._transport, on_call, pause)

    def get(self, kind: Kind, name: str) -> Object | None:
        """The object, or None when the API server says that there is none of that name."""
        return self._get(kind, name, self._caller.patience())

    def list(self, kind: Kind, *, labels: str | None = None, fields: str | None = None) -> list[Object]:
        """All objects that match the selectors, at one moment. Each page of it has the time that a call has."""
        return self.listing(kind, labels=labels, fields=fields).items

    def listing(self, kind: Kind, *, labels: str | None = None, fields: str | None = None) -> Listing:
        """`list`, with the version at which a watch continues."""
        for _ in range(RELISTS):
            if (listing := self._pages(kind, selectors(labels, fields))) is not None:
                return listing
        raise KubeError("PD-3111", f"cannot list {kind.plural}: the server threw the pages away while they were read")

    def current_version(self, kind: Kind) -> str:
        """The version that the cluster's objects have reached, by the smallest question that tells it."""
        target = self._target("list", kind)
        answer = self._answer(Call("GET", target, (("limit", "1"),)), self._caller.patience())
        return str(checked(answer, target)["metadata"]["resourceVersion"])

    def create(self, kind: Kind, body: Object, *, dry_run: bool = False) -> Object:
        """Make the object, once. One of that name that is there already is returned as it is: compare its labels.

        After an unknown outcome the object is read back, so that a repetition makes no second one.
        """
        name = str(body["metadata"]["name"])
        target = self._target("create", kind)
        query = (("fieldManager", MANAGER), *dry(dry_run))
        call, patience = Call("POST", target, query, encoded(body, kind)), self._caller.patience()
        for _ in range(RELISTS):
            answer = self._caller.send(call, patience, lambda: self._get(kind, name, patience))
            if isinstance(answer, dict):
                return answer
            if answer.ok:
                return checked(answer, target)
            if answer.status != 409:
                raise refusal(answer, target)
            if (found := self._get(kind, name, patience)) is not None:
                return found
        raise KubeError("PD-3109", f"cannot {target}: {name} comes and goes while it is made", status=409)

    def apply(self, kind: Kind, body: Object, *, dry_run: bool = False, force: bool = True) -> Object:
        """Server-side apply: make the object or set these fields of it. Without `force`, fields of others are kept."""
        target = self._target("patch", kind, str(body["metadata"]["name"]))
        query = (("fieldManager", MANAGER), ("force", "true" if force else "false"), *dry(dry_run))
        call = Call("PATCH", target, query, encoded(body, kind), "application/apply-patch+yaml", conflicts_pass=True)
        return checked(self._answer(call, self._caller.patience()), target)

    def patch(
        self, kind: Kind, name: str, merge: Object, *, uid: str | None = None, subresource: str = ""
    ) -> Object | None:
        """Merge into an object that exists; None when there is none (or, with `uid`, another of that name).

        A `resourceVersion` in `merge` is the caller's lock: when it is not the present one, PD-3109 is raised.
        """
        target = self._target("patch", kind, name, subresource)
        metadata = {**merge.get("metadata", {}), **({"uid": uid} if uid else {})}
        body = {**merge, **({"metadata": metadata} if metadata else {})}
        locked = "uid" in metadata or "resourceVersion" in metadata
        call = Call(
            "PATCH",
            target,
            (("fieldManager", MANAGER),),
            json.dumps(body).encode(),
            "application/merge-patch+json",
            conflicts_pass=not locked,
        )
        patience = self._caller.patience()
        answer = self._answer(call, patience)
        # Another uid is a conflict to some versions of the server, and an immutable field to others.
        if uid is not None and answer.status in (409, 422):
            present = self._get(kind, name, patience)
            if present is None or present["metadata"]["uid"] != uid:
                return None
        return None if answer.says_missing(target) else checked(answer, target)

    def delete(
        self, kind: Kind, name: str, *, grace: int | None = None, uid: str | None = None, background: bool = True
    ) -> bool:
        """Ask for the end of an object; False when there was none (any more). One of another uid is left alone.

        Without `uid` the object that has the name now is meant: its uid is looked up, so that no repetition hits a
        later one. `background=False` keeps the object until everything that it owns is gone.
        """
        patience = self._caller.patience()
        if uid is None:
            if (present := self._get(kind, name, patience)) is None:
                return False
            uid = str(present["metadata"]["uid"])
        target = self._target("delete", kind, name)
        return self._end(Call("DELETE", target, body=deletion(grace, uid, background=background)), uid, patience)

    def evict(self, pod: str, *, grace: int | None = None, uid: str | None = None) -> bool:
        """Ask a pod to leave as a drain does; False when there is none (of that uid).

        Raises PD-3117 at once when a disruption budget forbids it for now.
        """
        target = self._target("create", Kind.POD, pod, "eviction")
        return self._end(Call("POST", target, body=eviction(pod, grace, uid)), uid, self._caller.patience())

    def logs(
        self,
        pod: str,
        container: str,
        *,
        since: str | None = None,
        tail: int | None = None,
        follow: bool = False,
        timestamps: bool = False,
        limit_bytes: int | None = None,
        previous: bool = False,
        within: timedelta = timedelta(hours=1),
    ) -> ByteStream:
        """Bytes of a container's log as they come. `since` is RFC 3339. The stream may be closed by any thread."""
        query: list[tuple[str, str]] = [("container", container)]
        flags = {"follow": follow, "timestamps": timestamps, "previous": previous}
        query += [(name, "true") for name, value in flags.items() if value]
        numbers = {"sinceTime": since, "tailLines": tail, "limitBytes": limit_bytes}
        query += [(name, str(value)) for name, value in numbers.items() if value is not None]
        call = Call("GET", self._target("get", Kind.POD, pod, "log"), tuple(query))
        return self._caller.stream(call, within.total_seconds())

    def exec(
        self, pod: str, container: str, argv: Sequence[str], *, stdin: bytes = b"", within: timedelta
    ) -> ExecResult:
        """Run a command in a container to its end. Raises PD-3116 when it takes longer, PD-3114 when the link breaks:
        then it may or may not have run, and the caller repeats only what may run twice."""
        return self._streams.run(
            self._target("get", Kind.POD, pod, "exec"), container, argv, stdin, within.total_seconds()
        )

    def stream_exec(self, pod: str, container: str, argv: Sequence[str], *, tty: bool = False) -> ExecStream:
        """Run a command and talk with it: stdin, stdout, stderr, and the size of its terminal."""
        return self._streams.interactive(self._target("get", Kind.POD, pod, "exec"), container, argv, tty=tty)

    def port_forward(self, pod: str, port: int) -> PortForward:
        """One connection to a port of a pod, as bytes both ways."""
        return self._streams.forward(self._target("get", Kind.POD, pod, "portforward"), port)

    def watch(
        self, kind: Kind, version: str, *, labels: str | None = None, fields: str | None = None, seconds: float = 240
    ) -> WatchStream:
        """Changes after `version`, for about `seconds`. Raises Gone when the server has forgotten that version."""
        query = (
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", version),
            ("timeoutSeconds", str(max(1, int(seconds)))),
            *selectors(labels, fields),
        )
        return WatchStream.open(self._caller, Call("GET", self._target("watch", kind), query), seconds)

    def can_i(self, rules: Iterable[Rule]) -> dict[Rule, bool]:
        """Which of these the cluster's access rules allow us, in this namespace where they have one."""
        return {rule: self._allowed(rule) for rule in rules}

    def version(self) -> str:
        """The server's version, as `v1.34.4`."""
        target = Target("get", Kind.VERSION, self.namespace)
        return str(checked(self._answer(Call("GET", target), self._caller.patience()), target).get("gitVersion", ""))

    def in_namespace(self, namespace: str) -> "KubeClient":
        """The same connection, for another namespace."""
        other = copy.copy(self)
        other.namespace = namespace
        return other

    def until(self, stopping: threading.Event) -> "KubeClient":
        """The same connection for a thread that is to end: once the event is set, nothing is repeated."""
        other = copy.copy(self)
        other._caller = Caller(self._transport, self._on_call, stopping.wait)
        other._streams = Streams(self._transport, self._on_call, stopping.wait)
        return other

    def close(self) -> None:
        self._transport.close()

    def _target(self, verb: str, kind: Kind, name: str = "", subresource: str = "") -> Target:
        return Target(verb, kind, self.namespace, name, subresource)

    def _answer(self, call: Call, patience: Patience) -> Answer:
        answer = self._caller.send(call, patience)
        assert isinstance(answer, Answer)  # nothing is read back here
        return answer

    def _get(self, kind: Kind, name: str, patience: Patience) -> Object | None:
        target = self._target("get", kind, name)
        answer = self._answer(Call("GET", target), patience)
        return None if answer.says_missing(target) else checked(answer, target)

    def _end(self, call: Call, uid: str | None, patience: Patience) -> bool:
        """Send a call that ends an object. A conflict is told from an object of another uid by looking."""
        target = replace(call.target, subresource="")
        while True:
            answer = self._answer(call, patience)
            if answer.says_missing(target):
                return False
            if answer.status != 409:
                checked(answer, call.target)
                return True
            present = self._get(target.kind, target.name, patience)
            if present is None or (uid is not None and present["metadata"]["uid"] != uid):
                return False
            if not patience.wait():
                raise refusal(answer, call.target)

    def _pages(self, kind: Kind, selectors: Query) -> Listing | None:
        """One list from its first page to its last; None when the server dropped the rest of it meanwhile."""
        target, following, items = self._target("list", kind), "", list[Object]()
        while True:
            query = (("limit", str(PAGE)), *((("continue", following),) if following else ()), *selectors)
            answer = self._answer(Call("GET", target, query), self._caller.patience())
            if answer.status == 410 and following:
                return None
            page = checked(answer, target)
            for item in page.get("items") or ():
                item.setdefault("apiVersion", kind.api_version)
                item.setdefault("kind", kind.value.name)
                items.append(item)
            following = page["metadata"].get("continue") or ""
            if not following:
                return Listing(items, str(page["metadata"].get("resourceVersion", "")))

    def _allowed(self, rule: Rule) -> bool:
        asked = {"verb": rule.verb, "group": rule.kind.group, "resource": rule.kind.plural}
        asked |= {"subresource": rule.subresource} if rule.subresource else {}
        asked |= {"namespace": self.namespace} if rule.kind.namespaced else {}
        target = Target("create", Kind.ACCESS_REVIEW, self.namespace)
        body = encoded({"spec": {"resourceAttributes": asked}}, Kind.ACCESS_REVIEW)
        review = checked(self._answer(Call("POST", target, body=body), self._caller.patience()), target)
        return bool(review["status"].get("allowed"))
