"""Snapshots: the bytes of submitted folders, by digest."""

import tempfile
from typing import Annotated, Any, BinaryIO, cast

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session

from api.access import Caller, Needs
from api.views import snapshot_view
from definitions.api_catalog import SnapshotView
from definitions.principal import Action, ResourceKind
from store import snapshots
from store.tables import SnapshotRow

router = APIRouter(prefix="/v1/snapshots", tags=["snapshots"])

Creator = Annotated[Caller, Depends(Needs(Action.CREATE, ResourceKind.SNAPSHOT))]
Reader = Annotated[Caller, Depends(Needs(Action.READ, ResourceKind.SNAPSHOT))]
Digest = Annotated[str, Path(description="sha256 of the manifest.", pattern="^[0-9a-f]{64}$", examples=["0f" * 32])]
IN_MEMORY = 8 * 1024 * 1024  # larger uploads are spooled to a file
STORED: dict[int | str, dict[str, Any]] = {201: {"model": SnapshotView, "description": "Stored."}}
ARCHIVE = {
    "requestBody": {
        "required": True,
        "content": {"application/gzip": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.put("/{sha256}", name="snapshots.put", response_model=SnapshotView, openapi_extra=ARCHIVE, responses=STORED)
async def put(caller: Creator, sha256: Digest, request: Request, response: Response) -> Any:
    """Store the gzip tar of a folder, after checking every file against the manifest inside it."""
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as spooled:
        async for chunk in request.stream():
            await run_in_threadpool(spooled.write, chunk)
        if (known := await run_in_threadpool(_known, caller, sha256)) is not None:
            return snapshot_view(known)
        row = await run_in_threadpool(_store, caller, sha256, cast(BinaryIO, spooled))
    response.status_code = 201
    return snapshot_view(row)


@router.head("/{sha256}", name="snapshots.head", responses={200: {"description": "It is there."}})
def head(caller: Reader, sha256: Digest) -> Response:
    """Whether a snapshot is there already."""
    if _known(caller, sha256) is None:
        raise caller.missing(ResourceKind.SNAPSHOT, sha256)
    return Response(status_code=200)


def _known(caller: Caller, sha256: str) -> SnapshotRow | None:
    """The snapshot, kept from cleanup for a while: whoever asks is about to submit a job with it."""
    now = caller.deps.now()

    def touch(session: Session) -> SnapshotRow | None:
        if not snapshots.touch(session, caller.tenant, caller.project, sha256, now):
            return None
        return snapshots.get(session, caller.tenant, caller.project, sha256)

    return caller.writing(touch)


def _store(caller: Caller, sha256: str, archive: BinaryIO) -> SnapshotRow:
    archive.seek(0)
    kept = caller.deps.snapshots.keep(caller.tenant, caller.project, sha256, archive)
    now = caller.deps.now()

    def record(session: Session) -> SnapshotRow:
        snapshots.record(
            session,
            caller.tenant,
            caller.project,
            sha256,
            bytes=kept.bytes,
            files=kept.files,
            object_key=kept.object_key,
            now=now,
        )
        row = snapshots.get(session, caller.tenant, caller.project, sha256)
        assert row is not None
        return row

    return caller.writing(record)
