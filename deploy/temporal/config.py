"""The server's configuration, rendered: `python -m deploy.temporal` prints it, and the tests start servers with it."""

from dataclasses import dataclass
from typing import Any

import yaml

PLUGIN = "postgres12"
CLUSTER = "active"


@dataclass(frozen=True)
class Database:
    """Two databases of one PostgreSQL server: `name` for what the engine runs, `visibility` for what it lists by."""

    host: str
    port: int
    user: str
    password: str
    name: str = "temporal"
    visibility: str = "temporal_visibility"
    connections: int = 20


@dataclass(frozen=True)
class Certificates:
    """Files. Clients must show a certificate that `authority` vouches for; the server shows its own to them."""

    authority: str
    certificate: str
    key: str
    server_name: str


@dataclass(frozen=True)
class Server:
    """One server with all services. `shards` is for ever: it cannot be changed once there is data."""

    database: Database
    address: str = "127.0.0.1"
    port: int = 7233
    membership: int = 6933  # first of four ports in a row, below 32,768, by which the services find each other
    services: int = 7234  # first of three ports in a row, on which history, matching and worker serve
    shards: int = 512
    dynamic: str | None = None  # file with settings that may change while it runs
    certificates: Certificates | None = None
    log_level: str = "info"


# What may change while the server runs, as our control plane needs it.
DYNAMIC = {
    # Without fairness the backlog of one tenant delays every other.
    "matching.enableFairness": [{"value": True}],
}


def render(server: Server) -> str:
    """The configuration as YAML."""
    return yaml.safe_dump(_config(server), sort_keys=False)


def render_dynamic() -> str:
    return yaml.safe_dump(DYNAMIC, sort_keys=False)


def _config(server: Server) -> dict[str, Any]:
    config: dict[str, Any] = {
        "log": {"stdout": True, "level": server.log_level},
        "persistence": _persistence(server),
        "global": {"membership": {"maxJoinDuration": "30s", "broadcastAddress": server.address}},
        "services": _services(server),
        "clusterMetadata": {
            "enableGlobalNamespace": False,
            "failoverVersionIncrement": 10,
            "masterClusterName": CLUSTER,
            "currentClusterName": CLUSTER,
            "clusterInformation": {
                CLUSTER: {
                    "enabled": True,
                    "initialFailoverVersion": 1,
                    "rpcName": "frontend",
                    "rpcAddress": f"{server.address}:{server.port}",
                }
            },
        },
        "dcRedirectionPolicy": {"policy": "noop"},
        "archival": {"history": {"state": "disabled"}, "visibility": {"state": "disabled"}},
        "publicClient": {"hostPort": f"{server.address}:{server.port}"},
    }
    if server.certificates:
        config["global"]["tls"] = _tls(server.certificates)
    if server.dynamic:
        config["dynamicConfigClient"] = {"filepath": server.dynamic, "pollInterval": "10s"}
    return config


def _persistence(server: Server) -> dict[str, Any]:
    def store(name: str) -> dict[str, Any]:
        database = server.database
        return {
            "sql": {
                "pluginName": PLUGIN,
                "databaseName": name,
                "connectAddr": f"{database.host}:{database.port}",
                "connectProtocol": "tcp",
                "user": database.user,
                "password": database.password,
                "maxConns": database.connections,
                "maxIdleConns": database.connections,
                "maxConnLifetime": "1h",
            }
        }

    return {
        "numHistoryShards": server.shards,
        "defaultStore": "default",
        "visibilityStore": "visibility",
        "datastores": {"default": store(server.database.name), "visibility": store(server.database.visibility)},
    }


def _services(server: Server) -> dict[str, Any]:
    grpc = (server.port, server.services, server.services + 1, server.services + 2)
    return {
        name: {"rpc": {"grpcPort": port, "membershipPort": server.membership + number, "bindOnIP": server.address}}
        for number, (name, port) in enumerate(zip(("frontend", "history", "matching", "worker"), grpc, strict=True))
    }


def _tls(files: Certificates) -> dict[str, Any]:
    server = {
        "certFile": files.certificate,
        "keyFile": files.key,
        "requireClientAuth": True,
        "clientCaFiles": [files.authority],
    }
    client = {"serverName": files.server_name, "rootCaFiles": [files.authority]}
    return {
        "internode": {"server": server, "client": client},
        "frontend": {"server": server, "client": client},
        "systemWorker": {"certFile": files.certificate, "keyFile": files.key, "client": client},
    }
