"""Which processes make up the control plane, and how they are started."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from perdure.local import _boot, probes
from perdure.local.child import ChildSpec
from perdure.local.home import HOME_VARIABLE, Home
from perdure.local.ports import Ports

BOOT = Path(_boot.__file__)
# The engine's own client tools read the first, interpreters the second; the user's key is for the user's commands.
LEFT_OUT = ("TEMPORAL_", "PYTHON", "PERDURE_API_KEY")


COMPILE_FROM = "PERDURE_COMPILE_FROM"
ENGINE_VARIABLE = "PERDURE_TEMPORAL_ADDRESS"  # set: others look after the engine
DATABASE_VARIABLE = "PERDURE_DATABASE_URL"
MODULES = {
    "api": "workers.api_process",
    "worker": "workers.control",
    "cluster-worker": "workers.cluster_worker",
    "migrate": "workers.migrate",
    "check-tables": "workers.check_tables",
    "new-key": "workers.new_key",
}
NEEDS_DATABASE = (DATABASE_VARIABLE,)
SHARED_BY = {
    **{name: (DATABASE_VARIABLE, ENGINE_VARIABLE) for name in MODULES},
    "migrate": NEEDS_DATABASE,
    "check-tables": NEEDS_DATABASE,
    "new-key": (),
}


def children(home: Home, ports: Ports, *, own_engine: bool = True) -> tuple[ChildSpec, ...]:
    """In the order in which they stop: who writes into others first."""
    specs = (
        ChildSpec("migrate", "workers.migrate", ready=lambda pid: False, grace=10, once=True),
        ChildSpec("api", "workers.api_process", probes.api(ports), grace=15),
        ChildSpec("worker", "workers.control", probes.worker(home.worker_ready), grace=40),
        ChildSpec("temporal", "workers.temporal_server", probes.engine(ports), grace=20),
    )
    return specs if own_engine else specs[:-1]


def spawner(
    home: Home, ports: Ports, lock: int, environ: Mapping[str, str]
) -> "Callable[[ChildSpec], subprocess.Popen[bytes]]":
    """How a child is started: isolated, in a session of its own, holding the lock, bound to this process's life."""
    own = {HOME_VARIABLE: str(home.root), _boot.LOCK_VARIABLE: str(lock)}
    environment = child_environment(environ) | ports.environment() | own

    def spawn(spec: ChildSpec) -> "subprocess.Popen[bytes]":
        if spec.name == "worker":
            home.worker_ready.unlink(missing_ok=True)
        with home.log(spec.name).open("ab") as log:
            return subprocess.Popen(
                [*boot_command(), "--parent", str(os.getpid()), spec.module],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=home.root,
                pass_fds=(lock,),
                # Ctrl-C in the terminal reaches only us: we then stop the children in order.
                start_new_session=True,
            )

    return spawn


def child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a part of the embedded control plane gets. The scheduler's loops run uncompiled there for a few nodes,
    unless the user says otherwise: that is fast enough, and nobody waits half a minute for a compiler. With 50 gangs on
    100 nodes a decision takes half a second of the processor more."""
    return {COMPILE_FROM: "50", **environment_of(environ)}


def environment_of(environ: Mapping[str, str]) -> dict[str, str]:
    """What a process of the control plane gets of our environment."""
    return {name: value for name, value in environ.items() if not name.startswith(LEFT_OUT)}


def without_user_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment without what is meant for the user's own commands."""
    return {name: value for name, value in environ.items() if not name.startswith(LEFT_OUT)}


def boot_command() -> list[str]:
    return [sys.executable, "-I", str(BOOT)]
