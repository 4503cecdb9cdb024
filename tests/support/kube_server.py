"""A small API server in memory: enough of Kubernetes for a client's rules, and none of its controllers.

It speaks HTTP on loopback. Objects have uids and versions; names are unique; deletions heed a uid; lists come in pages;
watches send what comes after a version, bookmarks when asked, and 410 for a version that was thrown away.
"""

import copy
import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Object = dict[str, Any]
BEAT = 0.05  # seconds after which a quiet watch sends a bookmark


def status(code: int, reason: str, message: str = "", **details: Any) -> Object:
    """A refusal in the words of the API."""
    return {
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": message or reason, "details": details,
    }  # fmt: skip


@dataclass(frozen=True)
class Place:
    """What a path names: a collection, and in it perhaps one object or a part of it."""

    collection: str
    plural: str
    name: str = ""
    part: str = ""


@dataclass(frozen=True)
class Happened:
    """One change, as watches tell it."""

    version: int
    type: str
    collection: str
    object: Object


@dataclass
class KubeServer:
    """What the server holds. `log` is the truth about everything that happened, in order."""

    objects: dict[str, Object] = field(default_factory=dict)
    log: list[Happened] = field(default_factory=list)
    pages: int | None = None  # objects per page at most, whatever a client asks
    version: int = 1
    forgotten: int = 0
    url: str = ""
    changed: threading.Condition = field(default_factory=threading.Condition)
    closing: bool = False

    def forget(self) -> None:
        """Throw away all changes up to now: who watches from an earlier version is told 410."""
        with self.changed:
            self.version += 1
            self.forgotten = self.version

    def restore(self) -> None:
        """As from a backup of the empty server: nothing is there, and versions begin anew."""
        with self.changed:
            self.objects.clear()
            self.log.clear()
            self.version = 1

    def answer(self, method: str, place: Place, query: dict[str, str], body: Object) -> tuple[int, Object]:
        with self.changed:
            if method == "GET" and not place.name:
                return self._list(place, query)
            if method == "POST" and not place.name:
                return self._create(place, body)
            key = f"{place.collection}/{place.name}"
            if key not in self.objects:
                return 404, status(404, "NotFound", f'{place.plural} "{place.name}" not found',
                                   name=place.name, kind=place.plural)  # fmt: skip
            if method == "GET":
                return 200, self.objects[key]
            if method == "PATCH":
                return self._patch(place, key, body)
            return self._delete(place, key, body)

    def events(self, collection: str, after: int) -> list[Happened]:
        return [event for event in self.log if event.collection == collection and event.version > after]

    def _list(self, place: Place, query: dict[str, str]) -> tuple[int, Object]:
        selector = query.get("labelSelector", "")
        found = [
            item
            for key, item in sorted(self.objects.items())
            if key.rpartition("/")[0] == place.collection and selected(item, selector)
        ]
        start, version = 0, self.version
        if "continue" in query:
            start, version = map(int, query["continue"].split("@"))
            if version != self.version:
                return 410, status(410, "Expired", "the continue parameter is too old")
        end = start + min(int(query.get("limit", len(found) or 1)), self.pages or len(found) or 1)
        more = {"continue": f"{end}@{version}"} if end < len(found) else {}
        bare = [{k: v for k, v in item.items() if k not in ("kind", "apiVersion")} for item in found[start:end]]
        return 200, {"kind": "List", "metadata": {"resourceVersion": str(version), **more}, "items": bare}

    def _create(self, place: Place, body: Object) -> tuple[int, Object]:
        key = f"{place.collection}/{body['metadata']['name']}"
        if key in self.objects:
            return 409, status(409, "AlreadyExists", name=body["metadata"]["name"], kind=place.plural)
        new = copy.deepcopy(body)
        new["metadata"]["uid"] = str(uuid.uuid4())
        return 201, self._note(place, "ADDED", key, new)

    def _patch(self, place: Place, key: str, body: Object) -> tuple[int, Object]:
        present = self.objects[key]
        asked = body.get("metadata", {})
        if any(field in asked and asked[field] != present["metadata"][field] for field in ("uid", "resourceVersion")):
            return 409, status(409, "Conflict", name=place.name, kind=place.plural)
        new = merged(present, body)
        if new == present:
            return 200, present
        return 200, self._note(place, "MODIFIED", key, new)

    def _delete(self, place: Place, key: str, body: Object) -> tuple[int, Object]:
        wanted = body.get("preconditions", {}).get("uid")
        if wanted is not None and wanted != self.objects[key]["metadata"]["uid"]:
            return 409, status(409, "Conflict", "the uid in the precondition is another", name=place.name)
        return 200, self._note(place, "DELETED", key, copy.deepcopy(self.objects[key]))

    def _note(self, place: Place, type: str, key: str, item: Object) -> Object:
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        if type == "DELETED":
            del self.objects[key]
        else:
            self.objects[key] = item
        self.log.append(Happened(self.version, type, place.collection, item))
        self.changed.notify_all()
        return item


@contextmanager
def running_kube_server(pages: int | None = None) -> Iterator[KubeServer]:
    server = KubeServer(pages=pages)
    handler = type("Handler", (_Handler,), {"kube": server})
    http = _Http(("127.0.0.1", 0), handler)
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        with server.changed:
            server.closing = True
            server.changed.notify_all()
        http.shutdown()
        http.server_close()
        thread.join()


def selected(item: Object, selector: str) -> bool:
    """By one condition on a label, `key=value` or `key!=value`; every object without a selector."""
    key, sign, wanted = selector.partition("!=" if "!=" in selector else "=")
    return not selector or (item["metadata"].get("labels", {}).get(key) == wanted) == (sign == "=")


def merged(present: Object, patch: Object) -> Object:
    """A JSON merge patch."""
    result = copy.deepcopy(present)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result


def place_of(path: str) -> Place:
    """`/api/v1/namespaces/n/pods/p/log`, `/apis/batch/v1/namespaces/n/jobs`, `/api/v1/nodes/x`, ..."""
    parts = path.strip("/").split("/")
    root, rest = (parts[:2], parts[2:]) if parts[0] == "api" else (parts[:3], parts[3:])
    depth = 3 if rest[0] == "namespaces" and len(rest) >= 3 else 1
    name, part = ([*rest[depth:], "", ""])[:2]
    return Place("/".join(root + rest[:depth]), rest[depth - 1], name, part)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    kube: KubeServer

    def log_message(self, format: str, *args: Any) -> None: ...

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        place = place_of(parts.path)
        if query.get("watch") == "true":
            self._watch(place, query)
            return
        self._send(*self.kube.answer(self.command, place, query, body))

    do_POST = do_PATCH = do_DELETE = do_GET

    def _send(self, code: int, value: Object) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _watch(self, place: Place, query: dict[str, str]) -> None:
        after = int(query["resourceVersion"])
        if after < self.kube.forgotten:
            self._send(410, status(410, "Expired", "too old resource version"))
            return
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            self._events(place, after, float(query["timeoutSeconds"]))
        except OSError:
            self.close_connection = True

    def _events(self, place: Place, after: int, seconds: float) -> None:
        """Until the time is over; a bookmark on every quiet beat."""
        for _ in range(int(seconds / BEAT)):
            with self.kube.changed:
                if not (events := self.kube.events(place.collection, after)):
                    self.kube.changed.wait(BEAT)
                    events = self.kube.events(place.collection, after)
                after = self.kube.version
                if self.kube.closing:
                    break
            for event in events:
                self._line(event.type, event.object)
            if not events:
                self._line("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": str(after)}})
        self.wfile.write(b"0\r\n\r\n")

    def _line(self, type: str, value: Object) -> None:
        data = json.dumps({"type": type, "object": value}).encode() + b"\n"
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
