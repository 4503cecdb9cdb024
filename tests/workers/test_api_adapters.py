"""The activities' parts, as the API sees them."""

import io
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from activities.adapters.objects_folder import FolderObjects
from definitions.errors import PerdureError
from definitions.snapshot import SnapshotLimits
from tests.support.ports import free_port
from workers.api_adapters import StoredBlobs, StoredSnapshots, WorkerMetrics


@pytest.fixture
def objects(tmp_path: Path) -> FolderObjects:
    return FolderObjects(tmp_path / "objects")


@pytest.fixture
def metrics_port() -> Iterator[int]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"temporal_num_pollers 4\n")

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_blobs_are_read_and_deleted_and_a_missing_one_is_a_refusal_with_its_code(objects: FolderObjects) -> None:
    objects.put("default/default/a", io.BytesIO(b"weights"))
    blobs = StoredBlobs(objects)
    with blobs.get("default/default/a") as blob:
        assert blob.read() == b"weights"
    assert blobs.delete("default/default/a")
    assert not blobs.delete("default/default/a")
    with pytest.raises(PerdureError, match="PD-3404"):
        blobs.get("default/default/a")


def test_an_upload_that_is_no_snapshot_is_refused_and_nothing_is_kept(objects: FolderObjects) -> None:
    snapshots = StoredSnapshots(objects, SnapshotLimits())
    with pytest.raises(PerdureError, match=r"PD-34\d\d"):
        snapshots.keep("default", "default", "0" * 64, io.BytesIO(b"no archive"))
    assert objects.list("default/") == []


async def test_the_workers_numbers_are_passed_on_and_nothing_while_it_is_away(metrics_port: int) -> None:
    assert await WorkerMetrics(f"127.0.0.1:{metrics_port}")() == "temporal_num_pollers 4\n"
    assert await WorkerMetrics(f"127.0.0.1:{free_port()}")() == ""
