"""A job that testifies: `witness.py MARKS [options]`, with the standard library only.

It marks its start, and an overlap when a process of another attempt still lives; may leave a daemonized child with an
empty environment behind; works for a while; may save checkpoints through plain files; marks its end.
"""

import argparse
import hashlib
import json
import os
import sys
import time
from datetime import UTC, datetime

MANY = 1_000_000.0
FAILS = 7


def main() -> int:
    options = parse()
    check_for_overlap(options.marks)
    mark(options.marks, "start")
    if options.daemon:
        leave_daemon(options.marks)
    ends = time.monotonic() + options.seconds
    for step in range(1, options.save + 1):
        save(step)
    asked = ""
    while time.monotonic() < ends and not (options.until and os.path.exists(options.until)):
        asked = honour_control(asked, options.save + 1, options.saving)
        time.sleep(min(0.05, options.seconds))
    for step in range(1, options.save_at_end + 1):
        save(step)
    if options.leave:
        leave(options.leave)
    mark(options.marks, "end")
    return FAILS if int(env("ATTEMPT")) <= options.fails else int(options.exit)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("marks")
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--until", default="", help="a file that ends the work sooner")
    parser.add_argument("--exit", type=int, default=0)
    parser.add_argument("--fails", type=int, default=0, help="so many first attempts fail")
    parser.add_argument("--daemon", action="store_true")
    parser.add_argument("--save", type=int, default=0)
    parser.add_argument("--saving", type=float, default=0, help="seconds that a save takes which was asked for")
    parser.add_argument("--save-at-end", type=int, default=0)
    parser.add_argument("--leave", type=int, default=0)
    return parser.parse_args()


def mark(path: str, what: str) -> None:
    line = " ".join([what, env("ATTEMPT_TOKEN"), env("ATTEMPT"), env("RANK"), str(os.getpid()), ticks("self"), boot()])
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(descriptor, (line + "\n").encode())
    os.close(descriptor)


def check_for_overlap(path: str) -> None:
    try:
        with open(path) as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        _, token, _, _, pid, started, booted = line.split()
        if token != env("ATTEMPT_TOKEN") and booted == boot() and ticks(pid) == started:
            mark(path, "overlap")


def leave(size: int) -> None:
    """One artifact of so many bytes."""
    folder = os.path.join(env("RUN_DIR"), "artifacts")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "left"), "wb") as file:
        file.truncate(size)


def leave_daemon(path: str) -> None:
    """Double fork, new session, nothing of the environment: what a walk over environments would miss."""
    known = {name: os.environ[name] for name in list(os.environ)}
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    mark(path, "child")
    known.clear()
    os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", f"import time; time.sleep({MANY})"], {})


def honour_control(done: str, step: int, seconds: float) -> str:
    """Save when the platform asks for it, and acknowledge; returns the id of the request that was honoured last."""
    try:
        with open(os.path.join(env("RUN_DIR"), "control.json")) as file:
            request = json.load(file)
    except FileNotFoundError:
        return done
    if not request.get("checkpoint") or request["id"] == done:
        return done
    time.sleep(seconds)
    save(step)
    answer = {"id": request["id"], "step": step, "time": datetime.now(UTC).isoformat()}
    write(os.path.join(env("RUN_DIR"), f"ack-{env('RANK')}.json"), answer)
    return str(request["id"])


def save(step: int) -> None:
    """One checkpoint of this rank by the plain-files way of the job protocol."""
    name = f"step-{step:010d}.{env('ATTEMPT_TOKEN')}"
    folder = os.path.join(env("RUN_DIR"), "checkpoints", name)
    rank = env("RANK")
    os.makedirs(os.path.join(folder, f"rank-{rank}"), exist_ok=True)
    content = f"state {step}".encode()
    path = f"rank-{rank}/state"
    with open(os.path.join(folder, path), "wb") as file:
        file.write(content)
    manifest = {
        "version": 1,
        "step": step,
        "token": env("ATTEMPT_TOKEN"),
        "attempt": int(env("ATTEMPT")),
        "rank": int(rank),
        "world_size": int(env("WORLD_SIZE")),
        "saved_at": datetime.now(UTC).isoformat(),
        "metrics": {},
        "files": [{"path": path, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}],
    }
    write(os.path.join(folder, f"manifest-{rank}.json"), manifest)


def write(target: str, content: dict[str, object]) -> None:
    with open(target + ".tmp", "w") as file:
        json.dump(content, file)
    os.rename(target + ".tmp", target)


def env(name: str) -> str:
    return os.environ["PERDURE_" + name]


def ticks(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def boot() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


if __name__ == "__main__":
    sys.exit(main())
