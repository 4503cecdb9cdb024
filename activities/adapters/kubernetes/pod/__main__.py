"""One step of a pod: `python3 -I -m activities.adapters.kubernetes.pod prepare|keeper`."""

import argparse
import os
import sys
from pathlib import Path

from activities.adapters.kubernetes.agent.places import ROOT, TERMINATION_LOG, Places
from activities.adapters.kubernetes.pod import keeper, prepare
from activities.adapters.kubernetes.pod.commands import AGENT_SOURCE


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="perdure-pod")
    parser.add_argument("step", choices=("prepare", "keeper"))
    parser.add_argument("--root", default=ROOT)
    parser.add_argument("--message", default=TERMINATION_LOG, help="where the container's last words go")
    parser.add_argument("--agent", default=AGENT_SOURCE, help="the agent's files in this image")
    given = parser.parse_args(arguments)
    places = Places(given.root)
    if given.step == "keeper":
        print(keeper.answer(places).model_dump_json(), flush=True)
        return 0
    return prepare.run(places, dict(os.environ), Path(given.agent), Path(given.message))


if __name__ == "__main__":
    sys.exit(main())
