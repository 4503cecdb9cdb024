"""The plan of a submit, for people: what would run, where, with what, and how failures would be met."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from perdure.cli.array_words import array_plan
from perdure.cli.humane import count, size
from perdure.cli.order_words import after_words
from perdure.cli.output import Column, Shape

if TYPE_CHECKING:
    from perdure.client._models import Plan, SubmitJob
    from perdure.client.submitting import Draft


def plan_lines(plan: Plan, draft: Draft[SubmitJob]) -> list[tuple[str, str]]:
    """The plan as properties. What it says of the folder comes from the draft, which has looked at it."""
    return [
        ("name", f"{plan.name} in project {plan.project}"),
        ("template", plan.template or ""),
        ("command", shlex.join(plan.command)),
        ("array", array_plan(plan.array)),
        ("runs on", _size(plan)),
        ("cluster", plan.cluster if plan.cluster != "local" else ""),
        ("after", after_words(plan.after)),
        ("queue", _queue(plan)),
        ("image", plan.image or ""),
        ("volumes", "\n".join(plan.volumes or [])),
        ("folder", _folder(plan, draft)),
        ("environment", ", ".join([*plan.env, *(f"secret {name}" for name in plan.secrets)])),
        ("time", f"{f'at most {plan.timeout}' if plan.timeout else 'no limit'}, {plan.grace} to end"),
        ("retries", _retries(plan)),
        ("checkpoints", f"asked for every {plan.checkpoint_every}" if plan.checkpoint_every else ""),
        ("mind", "\n".join(plan.warnings)),
    ]


def plan_shape(draft: Draft[SubmitJob]) -> Shape:
    return Shape(
        columns=(Column("NAME", lambda plan: plan.name),),
        name=lambda plan: plan.name,
        lines=lambda plan: plan_lines(plan, draft),
    )


def _queue(plan: Plan) -> str:
    if plan.queue is None:
        return ""
    of_class = f", class {plan.priority_class}" if plan.priority_class else ""
    reserved = f", in reservation {plan.reservation}" if plan.reservation else ""
    return f"{plan.queue}{of_class}, priority {plan.priority}{reserved}"


def _size(plan: Plan) -> str:
    ranks = f"{count(plan.ranks, 'process', 'processes')} on {count(plan.nodes, 'node', 'nodes')}"
    return f"{ranks}, {count(plan.gpus, 'GPU', 'GPUs')}{', as a service' if plan.mode == 'service' else ''}"


def _folder(plan: Plan, draft: Draft[SubmitJob]) -> str:
    if plan.workdir.mode == "live":
        return f"{plan.workdir.path} itself, as it is when an attempt starts"
    snapshot = draft.snapshot
    if snapshot is None:
        return "an empty one" if plan.workdir.mode == "none" else f"snapshot {(plan.workdir.sha256 or '')[:12]}"
    held = f"{count(snapshot.files, 'file', 'files')}, {size(snapshot.bytes)}"
    git = snapshot.git
    stood = (
        f"\ngit {git.commit[:12]} on {git.branch or 'no branch'}{', with changes' if git.dirty else ''}" if git else ""
    )
    return f"copy of {snapshot.root}: {held}, snapshot {snapshot.sha256[:12]}{stood}"


def _retries(plan: Plan) -> str:
    retry = plan.retry
    if not retry.limit:
        return "none"
    budget = f", none later than {retry.budget} after the first" if retry.budget else ""
    lines = [f"at most {retry.limit}, after {retry.first_delay} to {retry.longest_delay}{budget}"]
    by_limit: dict[int, list[str]] = {}
    for name, most in retry.by_class.items():
        if most != retry.limit:
            by_limit.setdefault(most, []).append(name)
    lines += [f"{most or 'none'} after {', '.join(by_limit[most])}" for most in sorted(by_limit)]
    return "\n".join(lines)
