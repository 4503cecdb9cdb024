"""A process that writes down when each pod of a namespace was seen in each phase: nobody's word but the API server's.

    python -m bench.cluster_witness STATE_FOLDER NAMESPACE FILE

It stands alone, so that what loads the control plane delays its clock as little as may be.
"""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.cluster_watching import events, opened
from tests.support.polling import eventually

JOB = "perdure.dev/job"
GONE = "Gone"


class Sighting(NamedTuple):
    at: float
    job: str
    pod: str  # its uid
    phase: str


class Witness:
    """What the process has written so far."""

    def __init__(self, file: Path, process: "subprocess.Popen[bytes]") -> None:
        self._file = file
        self._process = process

    def sightings(self) -> dict[str, list[Sighting]]:
        """By job, in the order in which they came. Raises when the witness has not seen everything."""
        if self._process.poll() is not None:
            raise RuntimeError("the witness has ended: what it wrote is not the whole")
        found: dict[str, list[Sighting]] = defaultdict(list)
        with self._file.open() as lines:
            for line in lines:
                if line.endswith("\n") and len(told := json.loads(line)) == len(Sighting._fields):
                    sighting = Sighting(*told)
                    found[sighting.job].append(sighting)
        return found


@contextmanager
def witness(state: Path, namespace: str, folder: Path) -> Iterator[Witness]:
    """A witness that misses nothing from here on."""
    file = folder / f"witness-{namespace}.jsonl"
    file.touch()
    process = subprocess.Popen([sys.executable, "-m", "bench.cluster_witness", str(state), namespace, str(file)])
    try:
        eventually(lambda: file.stat().st_size > 0, 60, "the witness watches")
        yield Witness(file, process)
    finally:
        process.terminate()
        process.wait(30)


def main(state: str, namespace: str, path: str) -> None:
    phases: dict[str, str] = {}
    with opened(Path(state)) as http, Path(path).open("w", buffering=1) as file:
        for event in events(http, f"/api/v1/namespaces/{namespace}/pods"):
            if event.type == "START":
                print(json.dumps([]), file=file)
                continue
            meta = event.object["metadata"]
            phase = GONE if event.type == "DELETED" else event.object["status"]["phase"]
            if phases.get(meta["uid"]) == phase:
                continue
            phases[meta["uid"]] = phase
            told = Sighting(event.at, meta.get("labels", {}).get(JOB, ""), meta["uid"], phase)
            print(json.dumps(told), file=file)


if __name__ == "__main__":
    main(*sys.argv[1:])
