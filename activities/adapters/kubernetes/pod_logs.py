"""What ranks wrote, as their pods' logs have it: `<time> <rank> <text>` per line, all ranks of a pod in one.

A place in it is the time of a line and how many lines of that time came before. The same place is found in the files
that are kept afterwards (local/logs.py): file number 0 stands for it. Offsets would not do, since a kubelet drops the
beginning of a long log.
"""

import contextlib
import io
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from activities.adapters.kubernetes.agent.look import MARK, SEPARATOR
from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.errors import KubeError
from activities.adapters.kubernetes.facts import pod_index
from activities.adapters.kubernetes.objects.pod import MAIN
from activities.adapters.kubernetes.tracking import Attempt
from activities.adapters.local.logs import TIMES, ObjectFiles, Place, parse_cursor, read_files, time_cursor
from activities.adapters.local.shim.logfile import LAST_LINES
from activities.ports import LogLine, ObjectStore, PortError
from activities.progress import WHOLE, keep_progress
from definitions.attempt import AttemptLaunch, AttemptObservation, AttemptRef
from definitions.object_keys import log_prefix, progress_key

WITHIN = timedelta(seconds=30)
LINE_LENGTH = 500  # characters of a last line
TAIL = 40  # lines asked for per rank, beside whose own there may be others
KEPT_LINES = 16  # ranks whose kept logs are looked at for their last lines
FILE_SIZE = 16 * 1024**2  # bytes of one kept file
REPORTS = -1  # in place of a rank: what the agent says of the progress file
LEAST_REPORTS = 16 * 1024  # bytes of each pod, however many there are
NOT_BEGUN = ("is waiting to start", "PodInitializing", "is not available")  # a kubelet's words for a log to come


class Line(NamedTuple):
    """`stamp`: 27 characters of UTC time, as in the files that are kept."""

    stamp: bytes
    rank: int
    text: bytes


@dataclass
class KeptLogs:
    """`problems`: a sentence per log that is lost. `last`: of each rank."""

    bytes: int = 0
    problems: list[str] = field(default_factory=list)
    last: dict[int, deque[str]] = field(default_factory=dict)

    def add(self, line: Line) -> None:
        text = line.text.decode(errors="replace")[:LINE_LENGTH]
        self.last.setdefault(line.rank, deque(maxlen=LAST_LINES)).append(text)

    def last_lines(self) -> dict[int, tuple[str, ...]]:
        return {rank: tuple(lines) for rank, lines in self.last.items() if rank != REPORTS}


class PodLogs:
    """Reads logs of pods that are there, running or ended, and those of attempts that were collected."""

    def __init__(self, client: KubeClient, objects: ObjectStore) -> None:
        self._client = client
        self._objects = objects

    def read(
        self, ref: AttemptRef, rank: int, attempt: Attempt | None, per_node: int, cursor: str | None, limit: int
    ) -> list[LogLine]:
        """Up to `limit` lines of a rank after `cursor`: from its pod while that is there, else of what was kept."""
        place = None if cursor is None else parse_cursor(cursor)
        pod = None if attempt is None else _pod_of(attempt, rank // per_node)
        kept = ObjectFiles(self._objects, log_prefix(ref.tenant, ref.project, ref.job, ref.number, rank))
        if pod is None or (place is not None and place.file != TIMES):
            return read_files(kept, ref, rank, cursor=cursor, limit=limit)
        found: list[LogLine] = []
        for line, cursor_after in _after(self._lines(pod, since=place), rank, place):
            if len(found) >= limit:
                break
            text, at = line.text.decode(errors="replace"), datetime.fromisoformat(line.stamp.decode())
            found.append(LogLine(attempt=ref.number, rank=rank, at=at, text=text, cursor=cursor_after))
        return found

    def last_lines(self, attempt: Attempt, launch: AttemptLaunch) -> dict[int, tuple[str, ...]]:
        """By rank, as far as pods are there and their nodes answer."""
        per_node = launch.processes_per_node
        tail = TAIL * per_node
        found = KeptLogs()
        for each in attempt.living:
            with contextlib.suppress(PortError):
                for line in self._lines(each.pod["metadata"]["name"], tail=tail):
                    found.add(line)
        return found.last_lines()

    def keep(self, attempt: Attempt, launch: AttemptLaunch) -> KeptLogs:
        """Store the logs of pods whose run folder goes with them.

        Safe to repeat: keys are deterministic, and an ended pod's log stays the same.
        """
        kept, ref = KeptLogs(), launch.ref
        reports: list[bytes] = []
        there = {pod_index(each.pod) for each in attempt.living}
        for node in range(launch.nodes):
            if node not in there:
                kept.problems.append(f"the log of node {node} went with its pod")
        for each in attempt.living:
            name = each.pod["metadata"]["name"]
            try:
                reports.append(self._keep(name, ref, kept)[-max(WHOLE // launch.nodes, LEAST_REPORTS) :])
            except PortError as error:
                kept.problems.append(f"the log of pod {name} cannot be read: {error}")
        key = progress_key(ref.tenant, ref.project, ref.job, ref.number)
        keep_progress(self._objects, key, b"".join(reports))
        return kept

    def reports(self, pod: str) -> bytes:
        """Lines of the progress file of a pod that has a run folder of its own, as far as its log holds them."""
        return b"".join(_report(line) for line in self._lines(pod) if line.rank == REPORTS)

    def with_kept_lines(self, seen: AttemptObservation) -> AttemptObservation:
        """The observation with last lines from the kept logs, for the first ranks that failed without telling any."""
        silent = [rank.rank for rank in seen.ranks if not rank.last_lines and rank.exit_code != 0][:KEPT_LINES]
        return with_lines(seen, {rank: self._kept_lines(seen.ref, rank) for rank in silent})

    def _kept_lines(self, ref: AttemptRef, rank: int) -> tuple[str, ...]:
        files = ObjectFiles(self._objects, log_prefix(ref.tenant, ref.project, ref.job, ref.number, rank))
        lines = read_files(files, ref, rank, cursor=None, limit=LAST_LINES, tail=LAST_LINES)
        return tuple(line.text[:LINE_LENGTH] for line in lines)

    def _keep(self, pod: str, ref: AttemptRef, kept: KeptLogs) -> bytes:
        """Returns the lines of its progress file."""
        reports: list[bytes] = []
        files: dict[int, io.BytesIO] = {}
        numbers: Counter[int] = Counter()
        for line in self._lines(pod, begun=True):
            if line.rank == REPORTS:
                reports.append(_report(line))
                continue
            kept.add(line)
            file = files.setdefault(line.rank, io.BytesIO())
            file.write(line.stamp + b" " + line.text + b"\n")
            if file.tell() >= FILE_SIZE:
                kept.bytes += self._put(ref, line.rank, numbers, files.pop(line.rank))
        kept.bytes += sum(self._put(ref, rank, numbers, file) for rank, file in files.items())
        return b"".join(reports)

    def _put(self, ref: AttemptRef, rank: int, numbers: Counter[int], file: io.BytesIO) -> int:
        numbers[rank] += 1
        prefix = log_prefix(ref.tenant, ref.project, ref.job, ref.number, rank)
        file.seek(0)
        return self._objects.put(f"{prefix}{numbers[rank]:06d}.log", file).bytes

    def _lines(
        self, pod: str, *, since: Place | None = None, tail: int | None = None, begun: bool = False
    ) -> Iterator[Line]:
        """Whole lines of a pod's log. Unless it is known to have begun, a container without a log has no lines."""
        moment = None if since is None else since.stamp.decode()
        try:
            stream = self._client.logs(pod, MAIN, since=moment, tail=tail, within=WITHIN)
        except PortError as error:
            if begun or not _not_begun(error):
                raise
            return
        with contextlib.closing(stream):
            rest = b""
            for data in stream:
                *whole, rest = (rest + data).split(b"\n")
                yield from filter(None, map(_parse, whole))


def with_lines(seen: AttemptObservation, lines: Mapping[int, tuple[str, ...]]) -> AttemptObservation:
    """The observation with last lines for ranks that have none yet."""
    ranks = tuple(
        rank if rank.last_lines else rank.model_copy(update={"last_lines": lines.get(rank.rank, ())})
        for rank in seen.ranks
    )
    return seen.model_copy(update={"ranks": ranks})


def _pod_of(attempt: Attempt, index: int) -> str | None:
    return next((each.pod["metadata"]["name"] for each in attempt.living if pod_index(each.pod) == index), None)


def _after(lines: Iterable[Line], rank: int, place: Place | None) -> Iterator[tuple[Line, str]]:
    """Lines of the rank after the place, each with the place after it."""
    stamp, count = b"", 0
    for line in lines:
        if line.rank != rank:
            continue
        count = count + 1 if line.stamp == stamp else 1
        stamp = line.stamp
        if place is None or (stamp, count) > (place.stamp, place.lines):
            yield line, time_cursor(stamp, count)


def _parse(line: bytes) -> Line | None:
    """None for what the agent did not write in this form."""
    stamp, _, rest = line.partition(b" ")
    rank, separator, text = rest.partition(b" ")
    if not separator or not stamp.endswith(b"Z"):
        return None
    if rank == MARK:
        return Line(_stamp(stamp), REPORTS, text)
    return Line(_stamp(stamp), int(rank), text) if rank.isdigit() else None


def _report(line: Line) -> bytes:
    """As it stood in the progress file."""
    return line.text.replace(SEPARATOR, b"\n") + b"\n"


def _stamp(text: bytes) -> bytes:
    """As kept files have it, with six digits after the point."""
    whole, _, fraction = text[:-1].partition(b".")
    return whole + b"." + fraction[:6].ljust(6, b"0") + b"Z"


def _not_begun(error: PortError) -> bool:
    """What a kubelet says of a container that waits, or of a pod that it has not heard of yet, or has no more."""
    missing = isinstance(error, KubeError) and error.status in (204, 404)
    return missing or any(words in str(error) for words in NOT_BEGUN)
