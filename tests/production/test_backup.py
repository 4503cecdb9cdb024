"""The drill of docs/production.md: back up both databases and the bucket, lose them, restore, and go on."""

from pathlib import Path

import pytest

from tests.support.debian_postgres import Postgres, running_debian_postgres
from tests.support.minio import Minio
from tests.support.production import ProductionStack, make_engine_databases, running_engine
from tests.support.stack import running

pytestmark = [pytest.mark.production, pytest.mark.timeout(600)]

LEAVES = "mkdir -p $PERDURE_RUN_DIR/artifacts; echo weights > $PERDURE_RUN_DIR/artifacts/model; echo trained"


def test_a_restored_deployment_has_lost_nothing_and_its_running_jobs_go_on(
    postgres: Postgres, minio: Minio, tmp_path: Path
) -> None:
    databases = make_engine_databases(postgres, "temporal_backup")
    with running_engine(tmp_path / "engine", postgres, databases) as engine:
        stack = ProductionStack(tmp_path / "home", engine, postgres, minio)
        with running(stack):
            ended = stack.submit({"shell": LEAVES}, name="ended")
            stack.until(ended)
            waiting = {"shell": f"until [ -e {tmp_path / 'go'} ]; do sleep 0.2; done; echo finished"}
            going = stack.submit(waiting, name="going")
            stack.until(going, ["Running"])
    # API, workers and engine are stopped, so that the databases are of one moment. Jobs do not notice.
    dumps = {name: tmp_path / f"{name}.dump" for name in (*databases, stack.database)}
    for name, file in dumps.items():
        postgres.dump(name, file)
    copied = copy(minio, stack.environment["PERDURE_OBJECT_STORE"].removeprefix("s3://"))

    with running_debian_postgres() as other:
        for name, file in dumps.items():
            other.create(name)
            other.restore(name, file)
        with running_engine(tmp_path / "other", other, databases) as engine:
            stack.move(engine, other, copied)
            with running(stack):
                (tmp_path / "go").touch()
                assert stack.until(going)["phase"] == "Succeeded"
                assert [entry["number"] for entry in stack.items(going, "attempts")] == [1]
                assert stack.job(ended)["phase"] == "Succeeded"
                assert "trained" in stack.run("jobs", "logs", "ended").stdout
                stack.run("jobs", "artifacts", "get", "ended", "model", "--to", str(tmp_path / "model"))
                assert (tmp_path / "model").read_text() == "weights\n"
                fresh = stack.submit({"command": ["true"]}, name="fresh")
                assert stack.until(fresh)["phase"] == "Succeeded"


def copy(minio: Minio, bucket: str) -> str:
    """A new bucket with the same objects, which keep what is said of them."""
    client, target = minio.client(), minio.bucket()
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for entry in page.get("Contents", []):
            client.copy_object(Bucket=target, Key=entry["Key"], CopySource={"Bucket": bucket, "Key": entry["Key"]})
    return target
