"""A simulation from what was asked for to the answer: one run for each policy, and the report."""

from collections.abc import Callable
from pathlib import Path

from definitions.errors import PerdureError
from simulator.admitting import CODE
from simulator.fairness import alone
from simulator.loop import USUAL, Loop, Ran, Rules
from simulator.outcome import outcome
from simulator.policies import QUOTAS, planner
from simulator.setting import Setting, setting
from simulator.trace import Trace, node_gpus
from simulator.what_if import change_of, changed
from simulator.wire import Answer, Asked, WhatIf

Told = Callable[[str, int, int], None]  # what is being simulated, jobs that are over, jobs in all


def simulate(asked: Asked, told: Told = lambda what, done, total: None) -> Answer:
    """Raises PerdureError for what cannot be simulated; writes nothing unless a report was asked for."""
    where = setting(asked)
    change = None if asked.what_if is None else changed(where, change_of(asked.what_if))
    if change is not None:
        _require_job(asked, where.trace)
    runs = {policy: run(policy, where, told) for policy in asked.policies}
    apart = alone(where.trace.jobs, node_gpus(where.nodes))
    outcomes = tuple(outcome(policy, where.trace, ran, apart) for policy, ran in runs.items())
    answer = Answer(
        trace=asked.trace,
        jobs=len(where.trace.jobs),
        nodes=len(where.nodes),
        gpus=node_gpus(where.nodes) // 1000,
        queues=len(where.trace.queues),
        load=asked.load,
        seed=asked.seed,
        policies=outcomes,
        what_if=None if change is None else _what_if(asked, runs, change, told),
    )
    if asked.report is None:
        return answer
    from simulator.report import write  # the plotting library takes a second to load

    return answer.model_copy(update={"report": write(Path(asked.report), answer, runs)})


def run(policy: str, where: Setting, told: Told = lambda what, done, total: None, rules: Rules = USUAL) -> Ran:
    """One policy over a setting."""

    def progress(done: int, total: int) -> None:
        told(policy, done, total)

    return Loop(
        where.nodes, where.trace, planner(policy, where), rules=rules, outages=where.outages, progress=progress
    ).run()


def _require_job(asked: Asked, trace: Trace) -> None:
    if not asked.job:
        raise PerdureError(CODE, "a change needs a job that it is asked for", where="--job", remedy="Add --job ID.")
    if all(job.request.id != asked.job for job in trace.jobs):
        raise PerdureError(CODE, f"the trace has no job {asked.job}", where="--job", remedy="Name a job of the trace.")


def _what_if(asked: Asked, runs: dict[str, Ran], change: Setting, told: Told) -> WhatIf:
    policy = asked.policies[0]
    if asked.what_if is not None and asked.what_if.startswith("queue=") and policy not in QUOTAS:
        what = f"{policy} knows no quotas"
        raise PerdureError(CODE, what, where="--what-if", remedy="Choose --policy perdure, or write nodes=+1.")
    with_it = run(policy, change, lambda what, done, total: told(f"{what}, changed", done, total))
    job = asked.job or ""
    return WhatIf(
        change=asked.what_if or "",
        job=job,
        policy=policy,
        start=_start(runs[policy], job),
        changed_start=_start(with_it, job),
    )


def _start(ran: Ran, job: str) -> int | None:
    return ran.ledger.gangs[job].first_start if job in ran.ledger.gangs else None
