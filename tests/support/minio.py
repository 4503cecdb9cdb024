"""A real S3 server for tests: MinIO on a free port, in a temporary folder, gone with the test process."""

import contextlib
import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import httpx

from deploy.testcluster.progress import to_stderr
from deploy.testcluster.tools import program
from tests.support.polling import eventually
from tests.support.ports import free_port
from tests.support.servers import start_server, stop_server

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

START_TRIES = 3
REGION = "us-east-1"


@dataclass(frozen=True)
class Minio:
    """A serving store. `environment` is what the SDK looks for, and nothing of this machine's."""

    endpoint: str
    user: str
    password: str
    process: "subprocess.Popen[bytes]"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": self.user,
            "AWS_SECRET_ACCESS_KEY": self.password,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self) -> "S3Client":
        return boto3.session.Session().client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=self.user,
            aws_secret_access_key=self.password,
        )

    def bucket(self) -> str:
        """The name of a new, empty bucket."""
        name = f"test-{secrets.token_hex(6)}"
        self.client().create_bucket(Bucket=name)
        return name


@contextmanager
def running_minio(folder: Path, address: str = "127.0.0.1") -> Iterator[Minio]:
    """Start a server that keeps its data in `folder` and listens on `address` alone; stop it on leaving."""
    for attempt in range(1, START_TRIES + 1):
        server = _start(folder, address, folder.parent / f"{folder.name}-{attempt}.log")
        try:
            eventually(lambda server=server: _serves_or_ended(server), 30, f"a store at {server.endpoint}")  # type: ignore[misc]
            if server.process.poll() is None:
                yield server
                return
        finally:
            stop_server(server.process)
    raise RuntimeError(f"the store ended {START_TRIES} times while starting; its log lies beside {folder}")


def _start(folder: Path, address: str, log: Path) -> Minio:
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    server_environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder.parent),
        "MINIO_ROOT_USER": "perdure-tests",
        "MINIO_ROOT_PASSWORD": secrets.token_hex(16),
        "MINIO_BROWSER": "off",
        "MINIO_UPDATE": "off",
        "MINIO_CI_CD": "1",  # also on the root file system of the machine
    }
    command = [str(program("minio", to_stderr)), "server", str(folder), "--address", f"{address}:{port}", "--quiet"]
    process = start_server(command, log, server_environment)
    user, password = server_environment["MINIO_ROOT_USER"], server_environment["MINIO_ROOT_PASSWORD"]
    return Minio(f"http://{address}:{port}", user, password, process)


def _serves_or_ended(server: Minio) -> bool:
    if server.process.poll() is not None:
        return True
    with contextlib.suppress(httpx.TransportError):
        answer = httpx.get(f"{server.endpoint}/minio/health/ready", timeout=5, trust_env=False)
        return answer.status_code == httpx.codes.OK
    return False
