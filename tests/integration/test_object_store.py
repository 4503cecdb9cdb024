"""A whole control plane that keeps its objects in a bucket: snapshot, logs and artifacts of a job go there."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.minio import Minio
from tests.support.polling import eventually
from tests.support.stack import Stack, running_stack

pytestmark = [pytest.mark.kube, pytest.mark.timeout(600)]  # what is not built yet is built first

JOB = """
import os, pathlib
print("read", pathlib.Path("data.txt").read_text())
print("credentials", sorted(name for name in os.environ if name.startswith("AWS_")))
artifacts = pathlib.Path(os.environ["PERDURE_RUN_DIR"], "artifacts")
artifacts.mkdir(exist_ok=True)
(artifacts / "model.bin").write_bytes(b"weights" * 1000)
"""


@pytest.fixture(scope="module")
def bucket(minio: Minio) -> str:
    return minio.bucket()


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, minio: Minio, bucket: str) -> Iterator[Stack]:
    settings = {"PERDURE_OBJECT_STORE": f"s3://{bucket}/live", "PERDURE_S3_ENDPOINT": minio.endpoint}
    with running_stack(
        tmp_path_factory.mktemp("stack") / "home", PERDURE_SWEEP="1s", **settings, **minio.environment
    ) as running:
        for name in minio.environment:
            del running.environment[name]  # the control plane has them, its users have not
        yield running


def test_a_jobs_files_go_through_the_bucket_and_its_credentials_do_not_reach_the_job(
    stack: Stack, minio: Minio, bucket: str, folder: Path
) -> None:
    (folder / "job.py").write_text(JOB)
    (folder / "data.txt").write_text("the working folder")
    command = ["run", "--yes", "--wait", "--name", "bucket", "--", sys.executable, "job.py"]
    stack.run(*command, cwd=folder)
    said = stack.run("jobs", "logs", "bucket").stdout
    assert "read the working folder" in said
    assert "credentials []" in said
    stack.run("jobs", "artifacts", "get", "bucket", "model.bin", "--to", str(folder / "got"))
    assert (folder / "got").read_bytes() == b"weights" * 1000
    assert kinds(minio, bucket) == {"artifacts", "logs", "snapshots"}
    assert not (stack.home / "objects").exists()
    stack.run("jobs", "delete", "bucket", "--yes")
    eventually(lambda: kinds(minio, bucket) == {"snapshots"}, 30, "the objects of a deleted job gone")


def kinds(minio: Minio, bucket: str) -> set[str]:
    found = minio.client().list_objects_v2(Bucket=bucket, Prefix="live/")["Contents"]
    words = {word for entry in found for word in entry["Key"].split("/")}
    return words & {"artifacts", "logs", "snapshots"}
