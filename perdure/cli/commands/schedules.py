"""Schedules: jobs that are submitted by the clock."""

from __future__ import annotations

import typer

from perdure.cli import options as given
from perdure.cli import session
from perdure.cli.output import Out
from perdure.cli.verb import command, group


def register(app: typer.Typer) -> None:
    """Add the noun."""
    noun = group(app, "schedules", "Jobs that are submitted by the clock.", "perdure schedules list")
    command(noun, "create", "perdure schedules create -f nightly.yaml --dry-run", shows="ScheduleView")(create)
    command(noun, "list", "perdure schedules list", shows="ScheduleView")(list_)
    command(noun, "show", "perdure schedules show nightly", shows="ScheduleView")(show)
    command(noun, "pause", "perdure schedules pause nightly", shows="ScheduleView")(pause)
    command(noun, "resume", "perdure schedules resume nightly", shows="ScheduleView")(resume)
    command(noun, "trigger", "perdure schedules trigger nightly", shows="JobView")(trigger)
    command(noun, "delete", "perdure schedules delete nightly -y")(delete)


def create(
    file: given.File,
    dry_run: given.DryRun = False,
    yes: given.Yes = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Store a schedule. Its next runs are shown first; on a terminal it asks before it goes ahead."""
    from perdure.cli import submitting

    with session.client(project) as client:
        submitting.schedule(client, file, Out.of(json, output), dry_run=dry_run, yes=yes)


def list_(
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """List schedules by name, with the next run of each."""
    from perdure.cli.catalog_shapes import SCHEDULE
    from perdure.cli.lists import show_list
    from perdure.client.operations import catalog

    with session.client(project) as client:
        out = Out.of(json, output)
        show_list(client, out, SCHEDULE, catalog.list_schedules, limit=limit, cursor=cursor, whole=whole)


def show(
    schedule: given.ScheduleName, project: given.Project = None, json: given.Json = None, output: given.Output = None
) -> None:
    """Show a schedule, with its next runs and its last jobs."""
    from perdure.cli.catalog_shapes import SCHEDULE

    with session.client(project) as client:
        Out.of(json, output).one(client.schedules.get(schedule), SCHEDULE)


def pause(
    schedule: given.ScheduleName, project: given.Project = None, json: given.Json = None, output: given.Output = None
) -> None:
    """Submit nothing until the schedule is resumed."""
    from perdure.cli.catalog_shapes import SCHEDULE

    with session.client(project) as client:
        Out.of(json, output).one(client.schedules.pause(schedule), SCHEDULE)


def resume(
    schedule: given.ScheduleName, project: given.Project = None, json: given.Json = None, output: given.Output = None
) -> None:
    """Let a paused schedule run by the clock again. Times that passed meanwhile are not made up for."""
    from perdure.cli.catalog_shapes import SCHEDULE

    with session.client(project) as client:
        Out.of(json, output).one(client.schedules.resume(schedule), SCHEDULE)


def trigger(
    schedule: given.ScheduleName, project: given.Project = None, json: given.Json = None, output: given.Output = None
) -> None:
    """Submit a schedule's job once, now, even while it is paused."""
    from perdure.cli.shapes import ACCEPTED

    with session.client(project) as client:
        Out.of(json, output).one(client.schedules.trigger(schedule), ACCEPTED)


def delete(schedule: given.ScheduleName, yes: given.Yes = False, project: given.Project = None) -> None:
    """Remove a schedule. Jobs that it submitted go on."""
    from perdure.cli.terminal import say

    session.confirm(f"Delete schedule {schedule}?", yes)
    with session.client(project) as client:
        client.schedules.delete(schedule)
    say(f"deleted schedule {schedule}")
