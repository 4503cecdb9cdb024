"""Handing out the bytes of artifacts."""

from collections.abc import Iterator
from typing import BinaryIO
from urllib.parse import quote

from fastapi.responses import StreamingResponse

from store.tables import ArtifactRow

CHUNK = 256 * 1024


def download(row: ArtifactRow, blob: BinaryIO) -> StreamingResponse:
    """The bytes as a download: a browser never shows what a job wrote as a page of ours."""
    name = row.path.rsplit("/", 1)[-1]
    headers = {
        "Content-Length": str(row.bytes),
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "ETag": f'"{row.sha256}"',
        "Digest": f"sha-256={row.sha256}",
    }
    return StreamingResponse(_chunks(blob), media_type="application/octet-stream", headers=headers)


def _chunks(blob: BinaryIO) -> Iterator[bytes]:
    with blob:
        while chunk := blob.read(CHUNK):
            yield chunk
