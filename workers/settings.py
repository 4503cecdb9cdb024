"""Every setting of the control plane, in one place; docs/settings.md is generated from this.

Read once per process, by the composition root only: what others need is handed to them.
"""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from definitions.cluster import LOCAL_CLUSTER
from definitions.errors import PerdureError
from definitions.ids import DEFAULT_TENANT
from definitions.quantities import format_duration, format_size, parse_duration, parse_size
from perdure.local.probes import NAMESPACE

PREFIX = "PERDURE_"
LOOPBACK = "127.0.0.1"
Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
Size = Annotated[int, BeforeValidator(parse_size)]
Port = Annotated[int, Field(ge=1, le=65535)]
Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(lambda given: _words(given))]


class Settings(BaseSettings):
    """What an operator can set, each by the environment variable PERDURE_<NAME>."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    home: Path = Field(Path("~/.perdure"), description="The folder that holds all state. It must be on a local disk.")
    api_host: str = Field(
        LOOPBACK,
        description="Address on which the API listens. The API itself speaks plain HTTP: on any other address than the "
        "loopback interface's, what ends TLS stands before it.",
        examples=["0.0.0.0"],
    )
    api_hosts: Words = Field(
        (),
        description="Further names by which requests may address the API, with commas between them. Those of the "
        "loopback interface and of PERDURE_PUBLIC_URL always may.",
        examples=["perdure-api,perdure-api.perdure.svc"],
    )
    api_port: Port = Field(8642, description="Port of the API.")
    temporal_port: Port = Field(
        7233, description="Port of the workflow engine that `perdure up` starts, on the loopback interface."
    )
    ui_port: Port = Field(8233, description="Port of the engine's Web UI on the loopback interface.")
    metrics_host: str = Field(LOOPBACK, description="Address on which the worker's own metrics are served.")
    metrics_port: Port = Field(9642, description="Port of the worker's own metrics.")
    public_url: str | None = Field(
        None, description="Address under which people reach the API, when a proxy stands before it. Used in links."
    )
    advertise_url: str | None = Field(
        None,
        description="Address under which workers reach this very API process, not a balancer before several. "
        "They dial it for sessions (`jobs exec`, `jobs port-forward`). Without one: its own port.",
        examples=["http://10.0.0.7:8642"],
    )
    public_ui_url: str | None = Field(
        None, description="Address under which people reach the engine's Web UI, when a proxy stands before it."
    )
    database_url: str | None = Field(
        None,
        description="SQLAlchemy address of the database. Without one: the SQLite file control.db in the home.",
        examples=["postgresql://perdure@db.example/perdure"],
    )
    temporal_address: str | None = Field(
        None,
        description="Address of a workflow engine that others look after. Without one: the one that `perdure up` "
        "starts.",
        examples=["temporal-frontend.temporal.svc:7233"],
    )
    temporal_namespace: str = Field(NAMESPACE, description="The engine's namespace. Made when it is missing.")
    temporal_tls: bool = Field(
        False, description="Whether the engine is reached over TLS. Any of the next four settings means that too."
    )
    temporal_tls_ca: Path | None = Field(
        None, description="File with the authorities that may vouch for the engine; the machine's own when left out."
    )
    temporal_tls_cert: Path | None = Field(None, description="File with the certificate that the engine knows us by.")
    temporal_tls_key: Path | None = Field(None, description="File with that certificate's private key.")
    temporal_tls_server_name: str | None = Field(
        None, description="Name in the engine's certificate, where it is not the one in its address."
    )
    temporal_api_key_file: Path | None = Field(
        None, description="File with the API key that the engine knows us by. It is sent over TLS only."
    )
    admin_token_file: Path | None = Field(
        None,
        description="File with the key of the default tenant's first admin. Without one: `admin.token` in the home, "
        "where a key is made.",
    )
    payload_keys_file: Path | None = Field(
        None,
        description="File with the keys that seal what the engine keeps of jobs, newest first, one of 32 bytes in "
        "base64 a line. Without one nothing is sealed. See docs/production.md.",
    )
    object_store: str | None = Field(
        None,
        description="Where snapshots, logs and artifacts are kept: s3://BUCKET or s3://BUCKET/PREFIX. Without one: the "
        "folder `objects` in the home. Credentials are found as every S3 program finds them (AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY, a file, or the role of the machine or pod).",
        examples=["s3://perdure/production"],
    )
    s3_endpoint: str | None = Field(
        None,
        description="Address of an S3 store other than AWS.",
        examples=["http://minio.storage.svc:9000"],
    )
    s3_region: str | None = Field(None, description="Region of the bucket, where the store has regions.")
    s3_pod_endpoint: str | None = Field(
        None, description="Address of the same store as pods reach it, where that is another one."
    )
    synchronous: Literal["full", "normal"] = Field(
        "full",
        description="How SQLite files are written. full survives a loss of power; normal is faster and survives every "
        "kill of a process, but may lose the last moments in a loss of power.",
    )
    retention: Duration = Field(
        timedelta(days=30),
        ge=timedelta(hours=1),
        description="How long the engine keeps the history of an ended workflow. At least 1h.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged.")
    engine_log_level: Literal["debug", "info", "warn", "error"] = Field(
        "error", description="Least level that the workflow engine logs."
    )
    activities: int = Field(16, ge=1, le=500, description="Most activities that run at once, per task queue.")
    cluster_activities: int = Field(
        64, ge=1, le=1000, description="The same of a cluster's own worker, where most of them wait for pods to go."
    )
    workflow_tasks: int = Field(16, ge=2, le=500, description="Most workflow tasks that run at once.")
    cached_workflows: int = Field(
        1000, ge=0, le=100_000, description="Running workflows kept in the worker's memory, about 90 KiB each."
    )
    drain: Duration = Field(
        timedelta(seconds=10), description="How long running activities may go on when the worker is asked to stop."
    )
    heartbeat: Duration = Field(
        timedelta(seconds=10), description="A worker that is silent for this long is taken for dead. At least 2s."
    )
    safety_poll: Duration = Field(
        timedelta(minutes=2),
        description="A running job asks its runtime after this time, then ever more rarely, in case a report was lost.",
    )
    resize_every: Duration = Field(
        timedelta(minutes=30),
        description="How often the scheduler may make an elastic job larger, at most. Each time it saves and restarts.",
    )
    compile_from: int = Field(
        0,
        ge=0,
        description="Nodes from which on the scheduler's loops are compiled, which takes half a minute once. Looked at "
        "when it first decides after a start. `perdure up` has 50 here.",
    )
    sweep: Duration = Field(
        timedelta(minutes=1), description="How often jobs, artifacts and snapshots past their time are looked for."
    )
    local_jobs: bool = Field(
        True,
        description="Whether jobs may run as processes of the worker's own machine, as its own user. Where people "
        "share an installation, switch it off: such jobs could read the control plane's own secrets.",
    )
    default_cluster: str = Field(LOCAL_CLUSTER, description="Cluster of jobs that name none. `local`: this machine.")
    operating_tenant: str = Field(
        DEFAULT_TENANT, description="Tenant whose admins look after the installation: clusters and nodes."
    )
    cluster: str | None = Field(None, description="Which cluster a cluster's worker serves. Only it reads this.")
    kubeconfig: Path | None = Field(
        None,
        description="File with which a cluster's worker reaches its cluster. Without one: the service account of the "
        "pod that it runs in.",
        examples=["/etc/perdure/kubeconfig"],
    )
    kube_context: str | None = Field(None, description="Context of that file; its current one when left out.")
    cluster_metrics_port: Port | None = Field(
        None, description="Port of a cluster's worker's own metrics on the loopback interface; none when left out."
    )
    cluster_watch: Duration = Field(
        timedelta(seconds=15),
        ge=timedelta(seconds=1),
        description="How often a cluster's worker looks at the progress and checkpoints of running jobs. Each look "
        "is a call into a pod.",
    )
    snapshot_max_bytes: Size = Field(512 * 1024**2, description="Most bytes of one uploaded snapshot of a folder.")

    @property
    def folder(self) -> Path:
        return self.home.expanduser().absolute()

    @property
    def database(self) -> str:
        return self.database_url or f"sqlite:///{self.folder / 'control.db'}"

    @property
    def admin_file(self) -> Path:
        return self.admin_token_file or self.folder / "admin.token"

    @property
    def secrets_key_file(self) -> Path:
        return self.folder / "secrets.key"

    @property
    def objects(self) -> Path:
        return self.folder / "objects"

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    @property
    def worker_ready_file(self) -> Path:
        return self.folder / "worker.ready"

    def cluster_ready_file(self, cluster: str) -> Path:
        return self.folder / f"cluster-{cluster}.ready"

    @property
    def engine_address(self) -> str:
        return self.temporal_address or f"{LOOPBACK}:{self.temporal_port}"

    @property
    def api_url(self) -> str:
        return (self.public_url or f"http://{LOOPBACK}:{self.api_port}").rstrip("/")

    @property
    def dial_url(self) -> str:
        """The same as a WebSocket address."""
        address = (self.advertise_url or f"http://{LOOPBACK}:{self.api_port}").rstrip("/")
        return f"ws{address.removeprefix('http')}"

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        """Names that a request may address the API by: the loopback interface's, the public address's, and further."""
        own = [urlsplit(address).hostname or LOOPBACK for address in (self.api_url, self.dial_url)]
        return tuple(dict.fromkeys((LOOPBACK, "localhost", "[::1]", *own, *self.api_hosts)))

    @property
    def ui_url(self) -> str:
        return (self.public_ui_url or f"http://{LOOPBACK}:{self.ui_port}").rstrip("/")


def load() -> Settings:
    """The settings of this process's environment. Raises PerdureError PD-4012 naming every variable at fault."""
    try:
        return Settings()
    except ValidationError as error:
        faults = [f"{variable(str(fault['loc'][0]))}: {fault['msg']}" for fault in error.errors()]
        raise PerdureError("PD-4012", "; ".join(faults)) from None


def variable(name: str) -> str:
    return PREFIX + name.upper()


def documentation() -> str:
    """The text of docs/settings.md."""
    lines = [
        "# Settings of the control plane",
        "",
        "Set them in the environment of `perdure up` or `perdure serve`. Durations are written `30s`, `720h`; sizes "
        "`512Mi`.",
        "",
        "| variable | default | meaning |",
        "|---|---|---|",
    ]
    for name, field in Settings.model_fields.items():
        lines.append(f"| `{variable(name)}` | {_spelled(name, field.default)} | {field.description} |")
    return "\n".join(lines) + "\n"


def _words(given: str | Sequence[str]) -> tuple[str, ...]:
    parts = given.split(",") if isinstance(given, str) else given
    return tuple(part.strip().lower() for part in parts if part.strip())


def _spelled(name: str, default: Any) -> str:
    if default is None or default == ():
        return ""
    if isinstance(default, timedelta):
        return f"`{format_duration(default)}`"
    return f"`{format_size(default)}`" if name == "snapshot_max_bytes" else f"`{default}`"
