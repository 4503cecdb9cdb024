"""Streams that layers are written through: one digests, one compresses; both pass on what they are given."""

import hashlib
import zlib
from typing import Protocol

LEVEL = 6
WITH_GZIP_HEADER = 31  # zlib's own header then has neither a name nor a time


class Writable(Protocol):
    def write(self, data: bytes, /) -> int: ...


class Digested:
    """Digests and counts. Without a target it only does that."""

    def __init__(self, target: Writable | None = None) -> None:
        self._target = target
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes, /) -> int:
        self._hash.update(data)
        self.size += len(data)
        if self._target is not None:
            self._target.write(data)
        return len(data)

    @property
    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"


class Gzipped:
    """Compresses. The same data gives the same bytes; `finish` writes the end."""

    def __init__(self, target: Writable) -> None:
        self._target = target
        self._compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, WITH_GZIP_HEADER)

    def write(self, data: bytes, /) -> int:
        self._target.write(self._compressor.compress(data))
        return len(data)

    def finish(self) -> None:
        self._target.write(self._compressor.flush())
