"""The soak of tests/faults on the production pair, whose engine is killed too, and started again as a cluster does."""

from pathlib import Path

import pytest

from tests.faults.test_soak import JOBS, soak
from tests.support.audit import Auditor
from tests.support.debian_postgres import Postgres
from tests.support.minio import Minio
from tests.support.production import ProductionStack, kept_running, make_engine_databases, running_engine
from tests.support.stack import running

pytestmark = [pytest.mark.production, pytest.mark.timeout(900)]


def test_no_job_is_lost_doubled_or_orphaned(postgres: Postgres, minio: Minio, tmp_path: Path) -> None:
    databases = make_engine_databases(postgres, "temporal_soak")
    with running_engine(tmp_path / "engine", postgres, databases) as engine, kept_running(engine):
        stack = ProductionStack(tmp_path / "home", engine, postgres, minio, PERDURE_HEARTBEAT="3s")
        with running(stack):
            soak(stack, Auditor(tmp_path / "marks"), JOBS * 3 // 10)  # an engine that was killed needs its time
