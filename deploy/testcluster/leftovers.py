"""What a container runtime leaves behind when it is ended: found by what this cluster made, and taken away."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import psutil

MOUNTS = Path("/proc/self/mountinfo")
NETWORK_NAMESPACES = Path("/run/netns")
PLUGIN_RESULTS = Path("/var/lib/cni/results")
LEGACY_LOGS = Path("/var/log/containers")
GONE_WITHIN = 10.0
POLL_SECONDS = 0.05


def end_shims(socket: Path) -> None:
    """End the processes that hold containers, which carry their containerd's socket as an argument."""
    ends = time.monotonic() + GONE_WITHIN
    while (shims := _shims(socket)) and time.monotonic() < ends:
        for shim in shims:
            try:
                shim.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        time.sleep(POLL_SECONDS)


def unmount_below(folder: Path) -> None:
    """Unmount everything below a folder, the innermost first."""
    for point in reversed(mounts_below(folder)):
        subprocess.run(["umount", "--lazy", str(point)], capture_output=True, check=False)


def mounts_below(folder: Path) -> list[Path]:
    """Mount points in and below a folder, in the order of their making."""
    points = (line.split()[4] for line in MOUNTS.read_text().splitlines())
    paths = (Path(point.encode().decode("unicode_escape")) for point in points)
    return [path for path in paths if path == folder or folder in path.parents]


def sandboxes(runtime: Path) -> dict[str, str]:
    """The pods that a containerd (with this state folder) has started: container id to network namespace."""
    found = {}
    for path in runtime.glob("io.containerd.runtime.v2.task/k8s.io/*/config.json"):
        with contextlib.suppress(OSError, ValueError):  # just being made or removed
            for namespace in json.loads(path.read_text())["linux"]["namespaces"]:
                if namespace["type"] == "network" and Path(namespace.get("path", "")).parent.name == "netns":
                    found[path.parent.name] = Path(namespace["path"]).name
    return found


def remove_pod_networks(pods: dict[str, str]) -> None:
    """Remove the network namespaces of pods, and what the network plug-ins keep about them for the whole machine."""
    for container, namespace in pods.items():
        path = NETWORK_NAMESPACES / namespace
        if path.exists():
            subprocess.run(["umount", "--lazy", str(path)], capture_output=True, check=False)
            path.unlink(missing_ok=True)
        for result in PLUGIN_RESULTS.glob(f"*-{container}-*"):
            result.unlink(missing_ok=True)


def remove_log_links(folder: Path) -> None:
    """Remove the links to logs of pods that a kubelet keeps in a folder of the whole machine."""
    if LEGACY_LOGS.exists():
        for link in LEGACY_LOGS.iterdir():
            if link.is_symlink() and Path(os.readlink(link)).is_relative_to(folder):
                link.unlink()


def remove_folder(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _shims(socket: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
            if str(socket) in command and "shim" in Path(command[0]).name and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.NoSuchProcess, IndexError):
            continue
    return found
