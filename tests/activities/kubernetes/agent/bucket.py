"""A small object store on a port: takes form uploads, gives out what lies in it by link, and fails when told to."""

import contextlib
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from activities.adapters.kubernetes.pod.tasks import Upload
from activities.ports import UploadGrant

POLICY = "signed"


class Bucket:
    """`objects` by key. `failures`: what the next requests are answered with instead: a status, or 0 for a cut."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.objects: dict[str, bytes] = {}
        self.failures: list[int] = []
        self.requests = 0
        self.connections = 0

    def upload(self, below: str) -> Upload:
        grant = UploadGrant(
            url=f"{self.url}/bucket", prefix=f"cell/{below}", fields={"policy": POLICY, "x-amz-meta-sha256": ""}
        )
        return Upload(grant=grant, below=below)

    def take(self, form: dict[str, bytes]) -> int:
        """The status: nothing is stored of a form that does not hold together."""
        key, content = form["key"].decode(), form["file"]
        if form["policy"].decode() != POLICY or not key.startswith("cell/"):
            return 403
        if hashlib.sha256(content).hexdigest() != form["x-amz-meta-sha256"].decode():
            return 400
        self.objects[key.removeprefix("cell/")] = content
        return 204


@contextmanager
def running_bucket() -> Iterator[Bucket]:
    bucket = Bucket("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            bucket.connections += 1

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not self._fails():
                self._answer(bucket.take(_form(self.headers["Content-Type"], body)))

        def do_GET(self) -> None:
            content = bucket.objects.get(self.path.partition("?")[0].removeprefix("/"))
            if self._fails(content or b""):
                return
            self._answer(404 if content is None else 200, content or b"<Error>no such key</Error>")

        def _fails(self, content: bytes = b"") -> bool:
            bucket.requests += 1
            status = bucket.failures.pop(0) if bucket.failures else None
            if status is None:
                return False
            if status:
                self._answer(status, b"<Error>as told</Error>")
                return True
            if content:  # cut in the middle of it
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2])
            self.close_connection = True
            return True

        def _answer(self, status: int, content: bytes = b"") -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    bucket.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield bucket
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _form(kind: str, body: bytes) -> dict[str, bytes]:
    """The fields of a form; those after the file do not count, as in the protocol."""
    message = message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    fields: dict[str, bytes] = {}
    for part in message.get_payload():
        assert isinstance(part, Message)
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        fields[str(name)] = content
        if name == "file":
            break
    return fields
