"""Checkpoints written by hand as definitions/protocol.py says, so that nothing is tested against its own writer."""

import hashlib
import json
from pathlib import Path
from typing import Any

from definitions.protocol import checkpoint_folder, manifest_file

TOKEN = "a" * 32
LATER = "b" * 32
SAVED_AT = "2026-01-02T03:04:05Z"

Files = dict[str, bytes]


def save(
    run: Path,
    step: int,
    *,
    token: str = TOKEN,
    attempt: int = 1,
    ranks: int = 1,
    files: Files | None = None,
    metrics: dict[str, float] | None = None,
) -> Path:
    """A complete checkpoint in which every rank has these files."""
    folder = run / checkpoint_folder(step, token)
    for rank in range(ranks):
        save_rank(folder, rank, files or {"weights.npz": b"w" * 1024, "state.json": b"{}"})
        write_manifest(folder, rank, step=step, token=token, attempt=attempt, world_size=ranks, metrics=metrics or {})
    return folder


def save_rank(folder: Path, rank: int, files: Files) -> None:
    """A rank's files without its manifest: what a save that was cut short leaves."""
    for name, content in files.items():
        path = folder / f"rank-{rank}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def write_manifest(folder: Path, rank: int, /, **fields: Any) -> None:
    """A manifest that lists the files that rank has now; `fields` may say anything."""
    files = [
        {
            "path": path.relative_to(folder).as_posix(),
            "bytes": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in sorted((folder / f"rank-{rank}").rglob("*"))
        if path.is_file()
    ]
    body = {"version": 1, "rank": rank, "saved_at": SAVED_AT, "metrics": {}, "files": files} | fields
    folder.mkdir(parents=True, exist_ok=True)
    (folder / manifest_file(rank)).write_text(json.dumps(body))
