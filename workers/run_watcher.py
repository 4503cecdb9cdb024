"""Looks at the running jobs of one cluster: ranks, progress and new checkpoints go to the store, old checkpoints go.

A job that runs for weeks must show its step, list its checkpoints and keep within its retention without an attempt
having to end, and a service whether it is ready. Everything here is repeated from what lies on disk, so a crash loses
nothing.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from activities.clock import utc_now
from activities.effects import effect
from activities.ports import Journal, PortError, Runtime
from definitions.attempt import AttemptRef, CheckpointRecord, RankEvidence, RankState
from definitions.cluster import LOCAL_CLUSTER
from definitions.job import Job
from definitions.states import Mode, Phase
from policies.job_plan import checkpoint_rules
from policies.job_steps import attempt_token
from policies.progress import parse_points, summarise
from policies.retention import to_prune
from store import attempts, checkpoints, jobs, system
from store.engine import reading, transaction
from store.tables_jobs import JobRow
from workers.pausing import rounds

PERIOD = 1.0  # seconds between two looks at the same disk
PAGE = 500
LOOKED_AT = (Phase.RUNNING, Phase.SUSPENDING)
log = logging.getLogger(__name__)

Signature = tuple[tuple[str, int], ...]
Evidence = tuple[str, tuple[RankEvidence, ...]]  # attempt token, ranks


class RunWatcher:
    """One per worker of a cluster. `period`: seconds between two looks; elsewhere each look costs a call per job."""

    def __init__(
        self,
        engine: Engine,
        runtime: Runtime,
        journal: Journal,
        *,
        cluster: str = LOCAL_CLUSTER,
        period: float | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._engine = engine
        self._runtime = runtime
        self._journal = journal
        self._cluster = cluster
        # Pods may wait for hours, and what they wait for is worth showing. Here a launch is over in moments, and
        # whoever looks at one that is under way would take it for a lost one.
        self._phases = LOOKED_AT if cluster == LOCAL_CLUSTER else (*LOOKED_AT, Phase.STARTING)
        self._period = PERIOD if period is None else period
        self._now = now
        self._progress: dict[str, int] = {}  # job -> hash of the end of its progress file when it was last read
        self._seen: dict[str, Signature] = {}  # job -> its checkpoint folders when they were last judged
        self._ranks: dict[str, Evidence] = {}  # job -> what its ranks were seen to be, as it was last written
        self._faults: dict[str, str] = {}  # job -> why it could not be looked at, as it was last told

    async def run(self, stop: asyncio.Event) -> None:
        """Watch until `stop` is set."""
        await rounds(stop, self._period, lambda: asyncio.to_thread(self.sweep), (SQLAlchemyError,), _away)

    def sweep(self) -> None:
        """Look at every running job once. One that cannot be looked at keeps no other from it."""
        running = self._running()
        present = {row.id for row in running}
        memories: tuple[dict[str, Any], ...] = (self._progress, self._seen, self._ranks, self._faults)
        for memory in memories:
            for job in memory.keys() - present:
                del memory[job]
        for row in running:
            try:
                self._look(row)
                self._faults.pop(row.id, None)
            except (PortError, OSError, ValueError) as error:  # ValueError: a document that this version cannot read
                self._complain(row, error)

    def _look(self, row: JobRow) -> None:
        ref = _ref(row)
        self._evidence(row, ref)
        look = self._runtime.look(ref)
        if look is not None:
            self._report(row, look.progress)
            self._checkpoints(row, ref, look.checkpoints)

    def _complain(self, row: JobRow, error: Exception) -> None:
        """Once per fault: the next look is a second away."""
        if self._faults.get(row.id) != str(error):
            self._faults[row.id] = str(error)
            log.warning("a run folder cannot be watched: %s", error, extra={"job": row.id})

    def _running(self) -> Sequence[JobRow]:
        with reading(self._engine) as session:
            found: list[JobRow] = []
            after = ""
            while page := system.active_jobs(session, self._cluster, PAGE, after):
                found += [row for row in page if row.phase in self._phases and row.attempt > 0]  # an array has none
                after = page[-1].id
            return found

    def _evidence(self, row: JobRow, ref: AttemptRef) -> None:
        """A batch job's ranks are looked at once an attempt (their end is reported), a service's always."""
        known = self._ranks.get(row.id)
        if row.mode is Mode.BATCH and known is not None and known[0] == ref.token and not _waits(known[1]):
            return
        seen = self._runtime.observe(ref)
        if not seen.exists or seen.ended or known == (ref.token, seen.ranks):
            return

        def write(session: Session) -> None:
            locked = session.get(JobRow, row.id, with_for_update=True)
            if locked is not None:
                attempts.record_evidence(session, locked, seen)

        transaction(self._engine, write)
        self._ranks[row.id] = (ref.token, seen.ranks)

    def _report(self, row: JobRow, progress: str) -> None:
        seen = hash(progress)
        if not progress or seen == self._progress.get(row.id):
            return
        now = summarise(parse_points(progress.encode()))
        if now is not None:
            shown = now.model_dump(mode="json")
            transaction(
                self._engine, lambda session: jobs.update_progress(session, row.tenant, row.project, row.id, shown)
            )
        self._progress[row.id] = seen

    def _checkpoints(self, row: JobRow, ref: AttemptRef, signature: Signature) -> None:
        if not signature or signature == self._seen.get(row.id):
            return
        judged_at = self._now()
        records = self._runtime.checkpoints(ref)
        self._record(row, records, judged_at)
        self._prune(row, ref, records)
        self._seen[row.id] = signature

    def _record(self, row: JobRow, records: list[CheckpointRecord], judged_at: datetime) -> None:
        def write(session: Session) -> None:
            locked = session.get(JobRow, row.id, with_for_update=True)
            if locked is not None:
                checkpoints.settle(session, locked, records, judged_at)

        transaction(self._engine, write)

    def _prune(self, row: JobRow, ref: AttemptRef, records: list[CheckpointRecord]) -> None:
        rules = checkpoint_rules(Job.model_validate(row.spec).spec.checkpoints)
        started_from = {record.folder for record in records if record.step == row.checkpoint_step}
        folders = to_prune(records, rules, running=ref.token, in_use=started_from)
        if folders:
            with effect("prune-running"):
                gone = self._runtime.prune(ref, folders)
            with effect("record-pruned-running"):
                self._journal.checkpoints_deleted(ref, gone)


def _away(error: Exception) -> None:
    log.warning("run folders could not be watched this time: %s", error)


def _waits(ranks: tuple[RankEvidence, ...]) -> bool:
    return any(rank.state is RankState.WAITING for rank in ranks)


def _ref(row: JobRow) -> AttemptRef:
    token = attempt_token(row.seed, row.attempt)
    return AttemptRef(tenant=row.tenant, project=row.project, job=row.id, number=row.attempt, token=token)
