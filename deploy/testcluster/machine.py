"""What a cluster needs of this machine: Linux; and for real nodes also root and a few Debian packages."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from deploy.testcluster import cache
from deploy.testcluster.errors import ClusterError
from deploy.testcluster.progress import Pulse, Say, step

CNI_FOLDER = Path("/usr/lib/cni")
# Debian's package for each program (or file) that is needed.
PACKAGES: Mapping[str, str] = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    str(CNI_FOLDER / "bridge"): "containernetworking-plugins",
    str(CNI_FOLDER / "host-local"): "containernetworking-plugins",
    "busybox": "busybox-static",
    "ip": "iproute2",
    "iptables": "iptables",
    "nsenter": "util-linux",
    "umount": "mount",
}
PATIENCE_SECONDS = 10
LOCK_SECONDS = 120


def lacks_for_servers() -> str:
    """Why this machine cannot run the control plane, with the remedy; empty when it can."""
    return "" if sys.platform == "linux" else "the test cluster needs Linux; use a Linux machine or container"


def lacks_for_nodes() -> str:
    """Why this machine cannot run real nodes, with the remedy; empty when it can (or can be made to)."""
    if lacks := lacks_for_servers():
        return lacks
    if os.geteuid() != 0:
        return "real nodes need root (namespaces, mounts, cgroups); run as root"
    missing = _missing()
    if missing and shutil.which("apt-get") is None:
        return f"missing programs: {', '.join(missing)}; there is no apt-get here, so install them yourself"
    return ""


def must_run_nodes() -> None:
    lacks = lacks_for_nodes()
    if lacks:
        raise ClusterError(lacks)


def install_packages(say: Say) -> None:
    """Install the Debian packages that are missing. Raises ClusterError naming them when that is impossible."""
    if not _missing():
        return
    with cache.only_one("packages", say):
        packages = sorted(set(_missing().values()))  # another process may have installed them meanwhile
        if packages:
            with step(say, f"installing Debian packages: {' '.join(packages)}"):
                _apt(["update"], say)
                _apt(["install", "--yes", "--no-install-recommends", *packages], say)
    still = _missing()
    if still:
        raise ClusterError(f"still missing after installing {' '.join(packages)}: {', '.join(still)}")


def versions() -> dict[str, str]:
    """What the installed container runtime calls itself."""
    found = {}
    for program in ("containerd", "runc"):
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()
        found[program] = next(word for word in said if word[:1].isdigit())
    return found


def _missing() -> dict[str, str]:
    return {what: package for what, package in PACKAGES.items() if not (shutil.which(what) or Path(what).exists())}


def _apt(arguments: list[str], say: Say) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # Something else on this machine may be installing too.
    command = ["apt-get", "-q", f"-oDPkg::Lock::Timeout={LOCK_SECONDS}", *arguments]
    pulse = Pulse(say, f"apt-get {arguments[0]}")
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as apt:
        while True:
            try:
                words, _ = apt.communicate(timeout=PATIENCE_SECONDS)
                break
            except subprocess.TimeoutExpired:
                pulse.beat()
    if apt.returncode:
        raise ClusterError(f"{' '.join(command)} failed; install the packages yourself:\n{words.strip()[-1500:]}")
