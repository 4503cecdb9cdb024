"""The processor families images are built for, and what each is called by the tools that take part."""

import platform
from dataclasses import dataclass


class Refused(Exception):
    """The images cannot be built here; the message says why and what to do."""


@dataclass(frozen=True)
class Machine:
    debian: str
    oci: str
    gnu: str
    musl: str
    loader: str
    wheels: str


# Wheels may ask for the C library of Debian 12, which is 2.36.
MACHINES = {
    "x86_64": Machine(
        debian="amd64",
        oci="amd64",
        gnu="x86_64-linux-gnu",
        musl="x86_64-linux-musl",
        loader="ld-linux-x86-64.so.2",
        wheels="x86_64-manylinux_2_36",
    ),
    "aarch64": Machine(
        debian="arm64",
        oci="arm64",
        gnu="aarch64-linux-gnu",
        musl="aarch64-linux-musl",
        loader="ld-linux-aarch64.so.1",
        wheels="aarch64-manylinux_2_36",
    ),
}


def this_machine(name: str | None = None) -> Machine:
    """Images are built for the machine that builds them: their interpreter compiles their modules. Raises Refused."""
    name = name or platform.machine()
    if name not in MACHINES:
        raise Refused(f"images are built on {' and '.join(MACHINES)}, and this machine is {name}")
    return MACHINES[name]
