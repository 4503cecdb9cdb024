"""What an operator can set about the API. The composition root fills it in; nothing here reads the environment."""

from datetime import timedelta

from definitions.cluster import LOCAL_CLUSTER
from definitions.ids import DEFAULT_TENANT
from definitions.wire import Wire

MIB = 1024 * 1024
CODEC = "/v1/codec/decode"  # the one route that pages of the engine's Web UI may ask


class Limits(Wire):
    """Sizes in bytes. Beyond one, a request is refused before it is read to its end."""

    body: int = MIB
    snapshot: int = 512 * MIB
    page: int = 500  # most entries of one page
    default_page: int = 50
    wait: timedelta = timedelta(seconds=60)  # longest long poll
    operation: timedelta = timedelta(seconds=10)  # how long a request to a job is waited for
    stream: timedelta = timedelta(hours=1)  # a stream is closed after so long; the client comes back with its last id
    metric_points: int = 500  # per series; longer ones are thinned out


class ApiSettings(Wire):
    """`public_url` and `ui_url` are what people's browsers reach; `allowed_hosts` are names without ports."""

    version: str
    public_url: str = "http://127.0.0.1:8642"
    dial_url: str = "ws://127.0.0.1:8642"  # under which workers reach this very process
    ui_url: str = "http://127.0.0.1:8233"
    namespace: str = "default"
    operating_tenant: str = DEFAULT_TENANT  # whose admins look after what is the installation's
    default_cluster: str = LOCAL_CLUSTER  # of jobs that name none
    local_jobs: bool = True  # whether jobs may run as processes of the worker's own machine
    allowed_hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    limits: Limits = Limits()
    poll: timedelta = timedelta(milliseconds=500)  # how often a stream or long poll looks at the store
    heartbeat: timedelta = timedelta(seconds=15)  # how often an idle stream says that it is alive
