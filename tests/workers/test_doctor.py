"""What is wrong with a deployment is found, named by its code, and told with what would mend it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

import pytest
from sqlalchemy import Engine
from temporalio.client import Client

from activities.adapters.objects_folder import FolderObjects
from activities.ports import ObjectInfo, ObjectStore
from definitions.api_system import Finding, FindingStatus
from store import clusters
from store.engine import open_engine, session
from tests.support.ports import free_port
from workers.doctor import FRESH, DeploymentDoctor
from workers.engine import connect_engine
from workers.settings import Settings

DAY = timedelta(days=1)


class Overwriting(FolderObjects):
    """A store that does not know of conditions."""

    def put(self, key: str, data: BinaryIO, *, if_absent: bool = False) -> ObjectInfo:
        return super().put(key, data)


@pytest.fixture
def objects(tmp_path: Path) -> FolderObjects:
    return FolderObjects(tmp_path / "objects")


async def found(engine: Engine, client: Client, objects: ObjectStore, **settings: object) -> dict[str, Finding]:
    doctor = DeploymentDoctor(Settings(**settings), engine, client, objects)  # type: ignore[arg-type]
    return {finding.check: finding for finding in await doctor.examine()}


def code_of(finding: Finding) -> tuple[FindingStatus, str | None]:
    if finding.status is FindingStatus.FAILED:
        assert finding.remedy
    return finding.status, finding.code


async def test_each_part_that_is_not_as_it_must_be_is_named(
    engine: Engine, temporal_client: Client, objects: FolderObjects, tmp_path: Path
) -> None:
    seen = await found(engine, temporal_client, objects, retention=timedelta(days=29))
    assert code_of(seen["namespace"]) == (FindingStatus.FAILED, "PD-4112")
    assert code_of(seen["queue control, workflows"]) == (FindingStatus.FAILED, "PD-4114")
    assert code_of(seen["search attributes"]) == (FindingStatus.OK, None)
    assert code_of(seen["object store"]) == (FindingStatus.OK, None)
    assert objects.list("") == [], "nothing of the look is left"
    seen = await found(engine, temporal_client, Overwriting(tmp_path / "other"))
    assert code_of(seen["object store"]) == (FindingStatus.FAILED, "PD-4115")


async def test_a_database_without_our_tables_is_named(
    temporal_client: Client, objects: FolderObjects, tmp_path: Path
) -> None:
    empty = open_engine(f"sqlite:///{tmp_path / 'empty.db'}")
    seen = await found(empty, temporal_client, objects)
    empty.dispose()
    assert code_of(seen["database"]) == (FindingStatus.FAILED, "PD-4110")


async def test_without_the_engine_what_hangs_on_it_is_unknown(engine: Engine, objects: FolderObjects) -> None:
    settings = Settings(temporal_address=f"127.0.0.1:{free_port()}")
    client = await connect_engine(settings, lazy=True)
    seen = await found(engine, client, objects)
    assert code_of(seen["engine"]) == (FindingStatus.FAILED, "PD-4111")
    assert code_of(seen["namespace"]) == (FindingStatus.UNKNOWN, None)
    assert code_of(seen["database"]) == (FindingStatus.OK, None)


async def test_a_cluster_whose_worker_is_silent_is_named(
    engine: Engine, temporal_client: Client, objects: FolderObjects
) -> None:
    now = datetime.now(UTC)
    with session(engine) as active:
        for name, seen_at in (("away", now - FRESH - DAY), ("here", now), ("never", None)):
            row = clusters.create(active, name, {}, "ada", now)
            assert row is not None
            row.worker_seen_at = seen_at
    seen = await found(engine, temporal_client, objects)
    assert code_of(seen["cluster away"]) == (FindingStatus.FAILED, "PD-4116")
    assert code_of(seen["cluster never"]) == (FindingStatus.FAILED, "PD-4116")
    assert code_of(seen["cluster here"]) == (FindingStatus.OK, None)
