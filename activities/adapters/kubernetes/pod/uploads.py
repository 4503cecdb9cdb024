"""Storing objects without credentials: HTML form uploads (POST), by a grant that is good below one prefix."""

import hashlib
import http.client
import os
from collections.abc import Iterator
from typing import BinaryIO

from activities.adapters.kubernetes.pod.download import connect, is_final, repeated, unreachable
from activities.adapters.kubernetes.pod.tasks import Upload
from activities.object_keys import check_key
from activities.ports import ObjectInfo, PortError

CHUNK = 1024 * 1024
DIGEST_FIELD = "x-amz-meta-sha256"  # where the store's adapter looks for the digest of what it did not put itself
FAILED = "PD-3203"
STORED = (200, 201, 204)


class GrantedUploads:
    """The part of an object store that a grant opens: writing. Raises PortError (PD-3203) when that fails.

    One connection serves many files, for one thread.
    """

    def __init__(self, upload: Upload) -> None:
        self._upload = upload
        self._connection, self._target = connect(upload.grant.url)

    def put(self, key: str, data: BinaryIO) -> ObjectInfo:
        """Store a blob, read twice from where it stands: the digest is sent before the content. Safe to repeat."""
        check_key(key)
        below = self._upload.below
        if not key.startswith(below):
            raise PortError(f"the grant is for {below}, not for {key}", permanent=True, code=FAILED)
        start = data.tell()
        info: list[ObjectInfo] = []

        def send() -> None:
            data.seek(start)
            sha256, size = _digest(data)
            data.seek(start)
            name = self._upload.grant.prefix + key.removeprefix(below)
            fields = {**self._upload.grant.fields, "key": name, DIGEST_FIELD: sha256}
            self._post(fields, _same(data, size, sha256), size)
            info[:] = [ObjectInfo(key=key, bytes=size, sha256=sha256)]

        try:
            repeated(send)
        except PortError as error:
            raise PortError(str(error), code=FAILED) from error  # with another grant it may well succeed
        return info[0]

    def stat(self, key: str) -> None:
        """A grant reads nothing, so nothing is known of what is stored: it is sent again."""

    def close(self) -> None:
        self._connection.close()

    def _post(self, fields: dict[str, str], content: Iterator[bytes], size: int) -> None:
        boundary = os.urandom(16).hex()
        head, tail = _around(boundary, fields)
        connection = self._connection
        try:
            connection.putrequest("POST", self._target)
            connection.putheader("Content-Type", f"multipart/form-data; boundary={boundary}")
            connection.putheader("Content-Length", str(len(head) + size + len(tail)))
            connection.endheaders(head)
            for chunk in content:
                connection.send(chunk)
            connection.send(tail)
            response = connection.getresponse()
            words = response.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise unreachable(connection, error, FAILED) from error
        except BaseException:
            connection.close()  # half a request is on it
            raise
        if response.status not in STORED:
            what = f"the object store answers {response.status} {response.reason}: {words[:300]}"
            raise PortError(what, permanent=is_final(response.status), code=FAILED)


def _around(boundary: str, fields: dict[str, str]) -> tuple[bytes, bytes]:
    """What stands before and after the content: the file is the last field, since none after it counts."""
    head = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    head += f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="blob"\r\n'
    head += "Content-Type: application/octet-stream\r\n\r\n"
    return head.encode(), f"\r\n--{boundary}--\r\n".encode()


def _digest(data: BinaryIO) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    while chunk := data.read(CHUNK):
        digest.update(chunk)
        size += len(chunk)
    return digest.hexdigest(), size


def _same(data: BinaryIO, size: int, sha256: str) -> Iterator[bytes]:
    """The content once more. Raises PortError before its end when it is not what it was: nothing is stored then."""
    digest = hashlib.sha256()
    held = b""
    while size > 0 and (chunk := data.read(min(CHUNK, size))):
        yield held
        held = chunk
        size -= len(chunk)
        digest.update(chunk)
    if size or digest.hexdigest() != sha256:
        raise PortError("a file changed while it was stored", code=FAILED)
    yield held
