"""The worker's picture of a cluster alone, in a process of its own: what it weighs and how long it takes to be whole.

python -m bench.cluster_informer KUBECONFIG NAMESPACE
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.connection import Connection
from activities.adapters.kubernetes.informer import Informer
from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.tracking import watched

WITHIN = 300.0


def alone(kubeconfig: Path, namespace: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.cluster_informer", str(kubeconfig), namespace]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=2 * WITHIN)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main(kubeconfig: str, namespace: str) -> None:
    client = KubeClient(Connection(kubeconfig=Path(kubeconfig), namespace=namespace))
    informer = Informer(client, watched())
    before, mark = _mib(), time.perf_counter()
    informer.start()
    assert informer.wait_synced(WITHIN), "the cluster could not be listed"
    result = {
        "seconds_until_whole": round(time.perf_counter() - mark, 2),
        "mib": round(_mib() - before, 1),
        "mib_of_the_process_before": before,
        "objects": {kind.plural: len(informer.cache(kind)) for kind in (Kind.JOB, Kind.POD, Kind.NODE)},
    }
    informer.stop()
    client.close()
    print(json.dumps(result))


def _mib() -> float:
    return round(psutil.Process().memory_full_info().pss / 1024**2, 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
