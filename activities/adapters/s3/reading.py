"""An object as a file: a stream that goes on after a broken connection, and seeks without reading what lies between."""

import io
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError
from urllib3.exceptions import HTTPError

from activities.adapters.s3.errors import TAKEN, code_of, port_errors
from activities.ports import PortError

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

BUFFER = 256 * 1024
TRIES = 4  # broken connections in a row without a byte between them


def open_object(client: "S3Client", bucket: str, name: str, shown: str, etag: str | None = None) -> io.BufferedReader:
    """Open an object for reading. All that is read is of the one content that was there now, or it is an error.

    Raises ClientError when there is none, or none with this `etag`; reading raises PortError.
    """
    if etag is None:
        answer = client.get_object(Bucket=bucket, Key=name)
    else:
        answer = client.get_object(Bucket=bucket, Key=name, IfMatch=etag)
    return io.BufferedReader(_Blob(client, bucket, name, shown, answer), BUFFER)


class _Blob(io.RawIOBase):
    def __init__(self, client: "S3Client", bucket: str, name: str, shown: str, answer: Any) -> None:
        self._client = client
        self._bucket = bucket
        self._name = name
        self._shown = shown
        self._etag: str = answer["ETag"]
        self._size: int = answer["ContentLength"]
        self._body: Any = answer["Body"]
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        wanted = base + offset
        if wanted < 0:
            raise ValueError("before the beginning")
        if wanted != self._position:
            self._drop()
            self._position = wanted
        return wanted

    def readinto(self, buffer: Any, /) -> int:
        if self._position >= self._size:
            return 0
        for attempt in range(1, TRIES + 1):
            try:
                data: bytes = self._stream().read(len(buffer))
                if not data:
                    raise ConnectionResetError(f"the answer ended after {self._position} of {self._size} bytes")
            except (BotoCoreError, HTTPError, OSError) as error:
                self._drop()
                if attempt == TRIES:
                    raise PortError(f"cannot read {self._shown} to its end: {error}", code="PD-3409") from error
                continue
            buffer[: len(data)] = data
            self._position += len(data)
            return len(data)
        raise AssertionError("unreachable")

    def close(self) -> None:
        self._drop()
        super().close()

    def _stream(self) -> Any:
        if self._body is None:
            with port_errors(f"read {self._shown}"):
                self._body = self._continued()
        return self._body

    def _continued(self) -> Any:
        try:
            answer = self._client.get_object(
                Bucket=self._bucket, Key=self._name, Range=f"bytes={self._position}-", IfMatch=self._etag
            )
        except ClientError as error:
            if code_of(error) in TAKEN:
                raise PortError(f"{self._shown} was replaced while it was read", code="PD-3412") from error
            raise
        return answer["Body"]

    def _drop(self) -> None:
        if self._body is not None:
            self._body.close()
            self._body = None
