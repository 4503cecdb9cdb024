"""Runs every test in groups: `python -m tests.run [GROUP ...]`. What `make test` calls.

Groups that load the machine run alone, one test at a time; others share processes, and those that mostly wait for a
cluster run beside each other. Every test belongs to exactly one group, all groups run even when one fails, and a group
without tests is a failure, so nothing drops out unseen; nor does a file that a test leaves in the checkout. The closing
lines name what failed and add the groups up.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.plugin_tally import FILE

HEARTBEAT_SECONDS = 30
PROCESSES = {"fast": 3, "faults": 3, "mutants": 3}  # of the groups whose tests may run at the same time
ALONE = ("slow", "clean_clone", "faults", "soak", "mutants", "kube", "pods", "production")
COMPILED = "fast"  # the group that runs compiled loops
BESIDE = (("kube", "production"), ("pods",))  # lanes that run at the same time, each its groups one after another


def main(wanted: list[str]) -> int:
    """Run the named groups (all without names) and print the sum. The status is 0 only when every group is green."""
    known = groups()
    unknown = set(wanted) - set(known)
    if unknown:
        print(f"no such group: {', '.join(sorted(unknown))}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="perdure-tally-") as folder:
        tally = Path(folder, "tally")
        before = _litter()
        compiled = _compile() if COMPILED in (wanted or known) else 0
        red = [name for name, status in _all(wanted or list(known), known, tally).items() if status != 0]
        red += ["compile"] if compiled else []
        counts, failed, left = total(tally), failures(tally), sorted(_litter() - before)
    for test, reason in failed:
        print(f"failed: {test}: {reason}")
    if left:
        print(f"tests left in the checkout: {', '.join(left)}")
        red.append("litter")
    if red:
        print(f"red groups: {', '.join(red)}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped", flush=True)
    return 1 if red or counts["failed"] else 0


def _compile() -> int:
    """The scheduler's loops, once: else each process of a group would compile them, within the time of a test."""
    print("== tests: compiling the scheduler's loops", flush=True)
    return subprocess.run([sys.executable, "-m", "tests.support.kernels"], check=False).returncode


def lanes(wanted: list[str]) -> list[list[str]]:
    """The wanted groups that run beside each other, lane by lane; the others are no part of it."""
    return [lane for lane in ([name for name in lane if name in wanted] for lane in BESIDE) if lane]


def _all(wanted: list[str], known: dict[str, list[str]], tally: Path) -> dict[str, int]:
    """Exit status by group. A lane's output is shown when its group ends: two at once could not be read."""
    beside = lanes(wanted)
    later = {name for lane in beside for name in lane}
    statuses = {name: _run(name, known[name], tally) for name in wanted if name not in later}

    def follow(lane: list[str]) -> dict[str, int]:
        return {name: _run(name, known[name], tally, quiet=len(beside) > 1) for name in lane}

    with ThreadPoolExecutor(max(len(beside), 1)) as pool:
        for found in pool.map(follow, beside):
            statuses |= found
    return statuses


def groups() -> dict[str, list[str]]:
    """pytest arguments by group; a test with several markers belongs to the last of its groups in `ALONE`."""
    found = {"fast": ["-m", f"not ({' or '.join(ALONE)})"]}
    for position, name in enumerate(ALONE):
        later = "".join(f" and not {other}" for other in ALONE[position + 1 :])
        found[name] = ["-m", f"{name}{later}"]
    return {name: [*_processes(name), *arguments] for name, arguments in found.items()}


def total(tally: Path) -> dict[str, int]:
    """Passed, failed and skipped tests of all groups that wrote into this file."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for line in _lines(tally):
        for outcome in counts:
            counts[outcome] += line[outcome]
    return counts


def failures(tally: Path) -> list[tuple[str, str]]:
    """Name and reason of each test that failed, in the order of the groups' ends."""
    return [(test, reason) for line in _lines(tally) for test, reason in line["failures"]]


def _lines(tally: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in tally.read_text().splitlines()] if tally.exists() else []


def _processes(name: str) -> list[str]:
    """Whoever has nothing left to do takes over from the other: the long tests would be left to one."""
    return ["-n", str(PROCESSES[name]), "--dist", "worksteal"] if name in PROCESSES else []


def _litter() -> set[str]:
    """What stands in the checkout without being of it. In CI alone: elsewhere somebody may be at work."""
    if os.environ.get("CI") != "true":
        return set()
    command = ["git", "status", "--porcelain", "--untracked-files=all"]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())


def _run(name: str, arguments: list[str], tally: Path, *, quiet: bool = False) -> int:
    started = time.monotonic()
    print(f"== tests: {name}", flush=True)
    command = [sys.executable, "-m", "pytest", *arguments]
    with tempfile.TemporaryFile() as kept:
        streams = {"stdout": kept, "stderr": subprocess.STDOUT} if quiet else {}
        with subprocess.Popen(command, env={**os.environ, FILE: str(tally)}, **streams) as process:  # type: ignore[call-overload]
            status = _waited(name, process, started)
        kept.seek(0)
        shown = kept.read().decode(errors="replace")
    ended = f"== tests: {name} ended with status {status} after {time.monotonic() - started:.0f} s"
    print(f"{shown}{ended}", flush=True)
    return status


def _waited(name: str, process: "subprocess.Popen[bytes]", started: float) -> int:
    while True:
        try:
            return process.wait(HEARTBEAT_SECONDS)
        except subprocess.TimeoutExpired:
            print(f"\n== tests: {name} has been running for {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
