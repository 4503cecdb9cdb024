"""`make bench`: every benchmark one after another, one JSON line each on stdout; or only those that are named.

Options go to the benchmark that is named before them.
"""

import subprocess
import sys
from itertools import takewhile

ALL = (
    "overhead",
    "accept",
    "throughput",
    "cluster",
    "gangs",
    "openb",
    "placements",
    "backfill",
    "gavel",
    "preempt",
    "round",
    "restart",
    "decisions",
)


def main(words: list[str]) -> int:
    wanted = list(takewhile(lambda word: not word.startswith("-"), words))
    options = words[len(wanted) :]
    unknown = set(wanted) - set(ALL)
    if unknown:
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(ALL)}", file=sys.stderr)
        return 2
    if options and len(wanted) != 1:
        print("options go with the name of one benchmark before them", file=sys.stderr)
        return 2
    # A process each: one leaves no memory, no engine client and no threads behind for the next.
    commands = [[sys.executable, "-m", f"bench.{name}", *options] for name in wanted or ALL]
    return max(subprocess.run(command, check=False).returncode for command in commands)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
