"""`python -m deploy.temporal`: prints the server's configuration. The database's password comes from SQL_PASSWORD."""

import argparse
import os
import sys

from deploy.temporal.config import Certificates, Database, Server, render, render_dynamic


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.temporal", description=__doc__)
    parser.add_argument("--dynamic-only", action="store_true", help="print the settings that may change while it runs")
    parser.add_argument("--database-host", default="127.0.0.1")
    parser.add_argument("--database-port", type=int, default=5432)
    parser.add_argument("--database-user", default="temporal")
    parser.add_argument("--address", default="127.0.0.1", help="on which the server listens and finds itself")
    parser.add_argument("--port", type=int, default=7233)
    parser.add_argument("--shards", type=int, default=512, help="for ever (default: 512)")
    parser.add_argument("--dynamic", help="file with the settings that may change while it runs")
    for name in ("ca", "cert", "key", "server-name"):
        parser.add_argument(f"--tls-{name}", help="all four or none")
    given = parser.parse_args(words)
    if given.dynamic_only:
        print(render_dynamic(), end="")
        return 0
    files = [given.tls_ca, given.tls_cert, given.tls_key, given.tls_server_name]
    if any(files) and not all(files):
        parser.error("--tls-ca, --tls-cert, --tls-key and --tls-server-name belong together")
    database = Database(
        given.database_host, given.database_port, given.database_user, os.environ.get("SQL_PASSWORD", "")
    )
    server = Server(
        database,
        address=given.address,
        port=given.port,
        shards=given.shards,
        dynamic=given.dynamic,
        certificates=Certificates(*files) if any(files) else None,
    )
    print(render(server), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
