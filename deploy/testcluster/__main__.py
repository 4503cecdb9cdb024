"""`python -m deploy.testcluster up|down|status|build`: the test cluster for people. What `make cluster` calls."""

import argparse
import sys
from pathlib import Path

from deploy.testcluster import cache, cluster, tools
from deploy.testcluster.errors import ClusterError
from deploy.testcluster.layout import FILE
from deploy.testcluster.progress import to_stderr

DEFAULT_NAME = "testcluster"


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.testcluster", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start a cluster; building what is missing takes minutes, once")
    up.add_argument("--nodes", choices=("real", "kwok"), default="kwok", help="real ones need root (default: kwok)")
    for name, does in (("down", "end a cluster and remove its traces"), ("status", "say what runs")):
        commands.add_parser(name, help=does)
    for name in ("up", "down", "status"):
        commands.choices[name].add_argument("folder", nargs="?", type=Path, help="the cluster's state folder")
    build = commands.add_parser("build", help="build programs into the cache")
    build.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"all without names: {', '.join(tools.NAMES)}")
    arguments = parser.parse_args(words)
    try:
        return _run(arguments)
    except ClusterError as error:
        print(f"testcluster: {error}", file=sys.stderr)
        return 1


def _run(arguments: argparse.Namespace) -> int:
    if arguments.command == "build":
        for name in arguments.programs or tools.NAMES:
            print(tools.program(name, to_stderr))
        return 0
    folder = arguments.folder or cache.folder() / DEFAULT_NAME
    if arguments.command == "down":
        cluster.down(folder)
    elif arguments.command == "status":
        for name, state in cluster.status(folder).items():
            print(f"{name:28}{state}")
    else:
        started = _started(folder, real=arguments.nodes == "real")
        versions = cluster.versions(real=started.has_real_nodes())
        print(", ".join(f"{name} {version}" for name, version in versions.items()))
        print(f"export KUBECONFIG={started.kubeconfig}")
    return 0


def _started(folder: Path, *, real: bool) -> cluster.Cluster:
    """The cluster in a folder: the one that runs there, if it is what was asked for, else a new one."""
    if not (folder / FILE).exists():
        return cluster.up(folder, real=real)
    running = cluster.attach(folder)
    if real and not running.has_real_nodes():
        raise ClusterError(f"the cluster in {folder} has no real nodes; end it first: make cluster-down")
    to_stderr(f"a cluster runs in {folder} already")
    return running


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
