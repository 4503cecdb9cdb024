"""Runs every test in groups: `python -m tests.run [GROUP ...]`. What `make test` calls.

Groups that kill processes or load the machine run alone, one test at a time; the rest shares two processes. Every
test belongs to exactly one group, all groups run even when one fails, and a group without tests is a failure, so
nothing drops out unseen. The closing line adds the groups up.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from tests.plugin_tally import FILE

HEARTBEAT_SECONDS = 30
FAST_PROCESSES = 2
ALONE = ("slow", "clean_clone", "faults", "soak", "mutants", "kube", "pods", "production")


def main(wanted: list[str]) -> int:
    """Run the named groups (all without names) and print the sum. The status is 0 only when every group is green."""
    known = groups()
    unknown = set(wanted) - set(known)
    if unknown:
        print(f"no such group: {', '.join(sorted(unknown))}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    red = []
    with tempfile.TemporaryDirectory(prefix="perdure-tally-") as folder:
        tally = Path(folder, "tally")
        for name in wanted or known:
            if _run(name, known[name], tally) != 0:
                red.append(name)
        counts = total(tally)
    if red:
        print(f"red groups: {', '.join(red)}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped", flush=True)
    return 1 if red or counts["failed"] else 0


def groups() -> dict[str, list[str]]:
    """pytest arguments by group; a test with several markers belongs to the last of its groups in `ALONE`."""
    found = {"fast": ["-n", str(FAST_PROCESSES), "-m", f"not ({' or '.join(ALONE)})"]}
    for position, name in enumerate(ALONE):
        later = "".join(f" and not {other}" for other in ALONE[position + 1 :])
        found[name] = ["-m", f"{name}{later}"]
    return found


def total(tally: Path) -> dict[str, int]:
    """Passed, failed and skipped tests of all groups that wrote into this file."""
    lines: Iterable[str] = tally.read_text().splitlines() if tally.exists() else []
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for line in lines:
        for outcome, number in json.loads(line).items():
            counts[outcome] += number
    return counts


def _run(name: str, arguments: list[str], tally: Path) -> int:
    started = time.monotonic()
    print(f"== tests: {name}", flush=True)
    command = [sys.executable, "-m", "pytest", *arguments]
    with subprocess.Popen(command, env={**os.environ, FILE: str(tally)}) as process:
        while True:
            try:
                status = process.wait(HEARTBEAT_SECONDS)
                break
            except subprocess.TimeoutExpired:
                print(f"\n== tests: {name} has been running for {time.monotonic() - started:.0f} s", flush=True)
    print(f"== tests: {name} ended with status {status} after {time.monotonic() - started:.0f} s", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
