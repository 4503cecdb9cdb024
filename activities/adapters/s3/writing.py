"""Getting a stream into the store: hashed first, so that the digest can go with it, then sent whole or not at all.

A source that can be sought is read twice, any other is kept in a temporary file meanwhile: memory stays bounded either
way, and nothing has reached the store when a source breaks off.
"""

import contextlib
import hashlib
import tempfile
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from botocore.exceptions import BotoCoreError, ClientError

from activities.ports import PortError

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client
    from types_boto3_s3.type_defs import CompletedPartTypeDef

MIB = 1024 * 1024
CHUNK = MIB
WHOLE = 16 * MIB  # up to here an object is one request; it is also the least size of a part
MOST_PARTS = 9_000  # the protocol allows 10,000
AT_ONCE = 3  # parts under way; one more is being read
DIGEST = "sha256"  # metadata: x-amz-meta-sha256


@dataclass(frozen=True)
class Source:
    """What is to be stored: a file at its start, and what it holds."""

    file: BinaryIO
    start: int
    bytes: int
    sha256: str


@contextmanager
def hashed(data: BinaryIO) -> Iterator[Source]:
    """Read a stream to its end, once, and offer it for sending. Errors of the stream itself pass through."""
    if _sought(data):
        start = data.tell()
        size, sha256 = _drain(data, None)
        yield Source(data, start, size, sha256)
        return
    with tempfile.SpooledTemporaryFile(WHOLE, prefix="perdure-put-") as copy:
        size, sha256 = _drain(data, cast(BinaryIO, copy))
        yield Source(cast(BinaryIO, copy), 0, size, sha256)


def send(client: "S3Client", bucket: str, name: str, source: Source, *, if_absent: bool) -> None:
    """Store a source under `name`. Raises ClientError 412 or 409 when `if_absent` and something is there.

    A large one goes in several requests, which are undone when one fails. May be called again after that.
    """
    source.file.seek(source.start)
    content = _Checked(source)
    metadata = {DIGEST: source.sha256}
    if source.bytes <= WHOLE:
        client.put_object(Bucket=bucket, Key=name, Metadata=metadata, Body=content.read(), **_condition(if_absent))
        return
    upload = client.create_multipart_upload(Bucket=bucket, Key=name, Metadata=metadata)["UploadId"]
    try:
        parts = _send_parts(client, bucket, name, upload, content, source.bytes)
        client.complete_multipart_upload(
            Bucket=bucket, Key=name, UploadId=upload, MultipartUpload={"Parts": parts}, **_condition(if_absent)
        )
    except BaseException:
        with contextlib.suppress(BotoCoreError, ClientError):  # the first error is the one to tell
            client.abort_multipart_upload(Bucket=bucket, Key=name, UploadId=upload)
        raise


def _condition(if_absent: bool) -> Any:
    return {"IfNoneMatch": "*"} if if_absent else {}


def _send_parts(
    client: "S3Client", bucket: str, name: str, upload: str, content: "_Checked", size: int
) -> "list[CompletedPartTypeDef]":
    """Send a source in pieces, a few at a time; on return, or on raising, none is under way any more."""
    piece = max(WHOLE, -(-size // MOST_PARTS))
    sent: list[CompletedPartTypeDef] = []

    def send_one(number: int, body: bytes) -> "CompletedPartTypeDef":
        answer = client.upload_part(Bucket=bucket, Key=name, UploadId=upload, PartNumber=number, Body=body)
        return {"PartNumber": number, "ETag": answer["ETag"]}

    with ThreadPoolExecutor(AT_ONCE, "s3-part") as pool:
        under_way: deque[Future[CompletedPartTypeDef]] = deque()
        for number in range(1, -(-size // piece) + 1):
            if len(under_way) == AT_ONCE:
                sent.append(under_way.popleft().result())
            under_way.append(pool.submit(send_one, number, content.read(piece)))
        return sent + [part.result() for part in under_way]


class _Checked:
    """Reads a source again, and fails at its end when it is not what it was: the store then keeps nothing of it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._digest = hashlib.sha256()
        self._left = source.bytes

    def read(self, size: int = -1) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        parts = []
        while wanted > 0:
            piece = self._source.file.read(min(wanted, CHUNK))
            if not piece:
                raise self._changed()
            parts.append(piece)
            self._digest.update(piece)
            wanted -= len(piece)
            self._left -= len(piece)
        if self._left == 0 and self._digest.hexdigest() != self._source.sha256:
            raise self._changed()
        return b"".join(parts)

    def _changed(self) -> PortError:
        return PortError("what was to be stored changed while it was read", code="PD-3412")


def _sought(data: BinaryIO) -> bool:
    ask = getattr(data, "seekable", None)
    return bool(ask and ask())


def _drain(data: BinaryIO, copy: BinaryIO | None) -> tuple[int, str]:
    digest = hashlib.sha256()
    size = 0
    while chunk := data.read(CHUNK):
        digest.update(chunk)
        size += len(chunk)
        if copy is not None:
            copy.write(chunk)
    return size, digest.hexdigest()
