"""A rank's manifest: what makes a checkpoint count. Its place in the run folder is told in definitions/protocol.py."""

from typing import Literal

from pydantic import AwareDatetime, Field

from definitions.wire import Wire


class SavedFile(Wire):
    """One file of a rank. `path` is relative to the checkpoint folder: `rank-0/weights.npz`."""

    path: str
    bytes: int = Field(ge=0)
    sha256: str


class RankManifest(Wire):
    """Written last by a rank, once all its files are on disk. It vouches for those, and for nothing of other ranks."""

    version: Literal[1] = 1
    step: int = Field(ge=0)
    token: str
    attempt: int = Field(ge=0)
    rank: int = Field(ge=0)
    world_size: int = Field(ge=1)
    saved_at: AwareDatetime
    metrics: dict[str, float | None] = {}
    files: tuple[SavedFile, ...] = ()
