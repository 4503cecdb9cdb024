"""What a job costs beyond the user's own command: the same command bare and as a job, in turns, in the same run."""

import subprocess
import sys
import time

from bench.harness import client, control_plane, memory, moment, report, say, spread, submit, wait

COMMAND = (sys.executable, "-c", "pass")
JOBS = 60


def main() -> None:
    with control_plane() as stack, client(stack) as opened:
        wait(opened, submit(opened, "warm-up", COMMAND))
        idle = memory(stack)
        bare, seen, stored = [], [], []
        for number in range(JOBS):
            started = time.perf_counter()
            subprocess.run(COMMAND, check=True)
            bare.append(time.perf_counter() - started)
            started = time.perf_counter()
            over = wait(opened, submit(opened, f"job-{number}", COMMAND))
            seen.append(time.perf_counter() - started)
            assert over["phase"] == "Succeeded", over["reason"]
            stored.append((moment(over["endedAt"]) - moment(over["createdAt"])).total_seconds())
            if number % 20 == 19:
                say(f"{number + 1} of {JOBS} jobs")
    overhead = [job - own for job, own in zip(seen, bare, strict=True)]
    result = {
        "jobs": JOBS,
        "bare_seconds": spread(bare),
        "job_seconds_as_the_client_sees_it": spread(seen),
        "job_seconds_from_row_to_end": spread(stored),
        "overhead_seconds": spread(overhead),
        "ratio_to_bare_p50": round(spread(seen)["p50"] / spread(bare)["p50"], 1),
        "idle_memory_mib": idle,
    }
    report("job overhead", "overhead p50 < 1 s", result)


if __name__ == "__main__":
    main()
