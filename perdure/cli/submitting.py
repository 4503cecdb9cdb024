"""Submitting from the command line: look, show the plan, ask, keep the folder, submit, and stay if wanted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.cli import following, session, tables, terminal
from perdure.cli.progress import showing
from perdure.codes import Exit

if TYPE_CHECKING:
    from perdure.cli.output import Out
    from perdure.client import Client
    from perdure.client._models import JobView, ScheduleView, SubmitJob
    from perdure.client.submitting import Draft

ID = re.compile(r"[0-9a-z]{26}")


@dataclass(frozen=True)
class After:
    """What is done once the job is accepted. Following and passing on the exit code include waiting."""

    follow: bool = False
    wait: bool = False
    propagate_exit: bool = False

    @property
    def stays(self) -> bool:
        return self.follow or self.wait or self.propagate_exit


def submit(client: Client, body: SubmitJob, out: Out, after: After, *, dry_run: bool, yes: bool) -> int:
    """Submit a job. Returns the exit code."""
    from perdure.client.submitting import sending

    draft = _planned(client, body, out, dry_run=dry_run, yes=yes)
    if draft is None:
        return int(Exit.OK)
    with showing() as progress:
        view = client.run(sending(draft, progress))
    return _accepted(client, view, out, after, "submitted")


def apply(client: Client, file: Path, out: Out, after: After, *, dry_run: bool, yes: bool) -> int:
    """Submit what a file holds: a job, unless the live one of its name is the same; a template; a schedule; documents
    of the scheduler."""
    from perdure.client.documents import kind_of, of_scheduler
    from perdure.client.submitting import keeping, request

    if of_scheduler(file):
        from perdure.cli import applying

        applying.apply(client, file, out, dry_run=dry_run, yes=yes)
        return int(Exit.OK)
    kind = kind_of(file)
    if kind == "Template":
        template(client, file, out, dry_run=dry_run)
        return int(Exit.OK)
    if kind == "Schedule":
        schedule(client, file, out, dry_run=dry_run, yes=yes, again=True)
        return int(Exit.OK)
    draft = _planned(client, request(file), out, dry_run=dry_run, yes=yes)
    if draft is None:
        return int(Exit.OK)
    with showing() as progress:
        kept = client.run(keeping(draft, progress))
    applied = client.jobs.apply(kept.body, project=kept.project)
    return _accepted(client, applied.job, out, after, applied.outcome.value)


def template(client: Client, file: Path, out: Out, *, dry_run: bool) -> None:
    """Store a template, or show what that would give."""
    from perdure.cli.template_view import ONE_TEMPLATE

    out.one(client.templates.create(file, dry_run=dry_run), ONE_TEMPLATE)
    if dry_run:
        terminal.say("nothing was created or written")


def schedule(client: Client, file: Path, out: Out, *, dry_run: bool, yes: bool, again: bool = False) -> None:
    """Store a schedule, after its next runs were shown. With `again` one that is there and says the same is kept."""
    from perdure.cli.catalog_shapes import SCHEDULE, schedule_lines
    from perdure.client.submitting import creating, scheduling

    with showing() as progress:
        draft = client.run(scheduling(file, progress=progress))
    planned = client.schedules.create(draft.body, dry_run=True)
    if dry_run:
        out.one(planned, SCHEDULE)
        terminal.say("nothing was created, uploaded or written")
        return
    if again and (there := _same_schedule(client, planned)) is not None:
        terminal.say(f"unchanged schedule {there.name}")
        out.one(there, SCHEDULE)
        return
    tables.properties(schedule_lines(planned), stderr=True)
    if not yes and terminal.interactive() and not session.ask("Create this schedule?", default=True):
        terminal.say("nothing was created")
        return
    with showing() as progress:
        out.one(client.run(creating(draft, progress)), SCHEDULE)


def _same_schedule(client: Client, planned: ScheduleView) -> ScheduleView | None:
    """The schedule of that name, when it is there and its document is the planned one."""
    if not any(each.name == planned.name for each in client.schedules.each(project=planned.project)):
        return None
    there = client.schedules.get(planned.name, project=planned.project)
    return there if there.document == planned.document else None


def _planned(client: Client, body: SubmitJob, out: Out, *, dry_run: bool, yes: bool) -> Draft[SubmitJob] | None:
    """Look at the folder and show the plan. None when that was all, or the answer was no."""
    from perdure.cli.plan_view import plan_lines, plan_shape
    from perdure.client.submitting import drafting

    with showing() as progress:
        draft = client.run(drafting(body, progress=progress))
    plan = client.plan(draft)
    if dry_run:
        out.one(plan, plan_shape(draft))
        terminal.say("nothing was submitted, uploaded or written")
        return None
    tables.properties(plan_lines(plan, draft), stderr=True)
    if not yes and terminal.interactive() and not session.ask("Submit this job?", default=True):
        terminal.say("nothing was submitted")
        return None
    return draft


def _accepted(client: Client, view: JobView, out: Out, after: After, outcome: str) -> int:
    """Show the accepted job, and stay with it if wanted."""
    from perdure.cli.shapes import ACCEPTED
    from perdure.client import Run

    terminal.say(f"{outcome} {view.name} ({view.id})")
    if not after.stays:
        out.one(view, ACCEPTED)
        known = view.id if ID.fullmatch(view.name) else view.name  # an id of another job goes before a name
        follow = f"perdure jobs logs -f {known}" if view.array is None else f"perdure jobs children {known}"
        terminal.say(f"follow it:  {follow}")
        return int(Exit.OK)
    run = Run(client, view.id, view.project, view)
    logs = after.follow and view.array is None
    if after.follow and not logs:
        terminal.say("an array has no log of its own: waiting for its end")
    with following.detaching(view.name, view.id):
        if logs:
            following.follow_logs(run, out)
        ended = run.wait()
    if not logs:
        out.one(ended, ACCEPTED)
    terminal.say(f"{ended.name} {ended.phase}: {ended.reason}")
    return following.exit_code(ended, propagate=after.propagate_exit)
