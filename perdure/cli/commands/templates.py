"""Templates: jobs with parameters."""

from __future__ import annotations

from typing import Annotated

import typer

from perdure.cli import options as given
from perdure.cli import session
from perdure.cli.output import Out
from perdure.cli.verb import command, group

Version = Annotated[int | None, typer.Option(min=1, help="Which version; the newest when left out.")]


def register(app: typer.Typer) -> None:
    """Add the noun."""
    templates = group(app, "templates", "Jobs with parameters.", "perdure templates list")
    command(templates, "create", "perdure templates create -f finetune.yaml", shows="TemplateView")(create)
    command(templates, "list", "perdure templates list", shows="TemplateView")(list_)
    command(templates, "show", "perdure templates show finetune", shows="TemplateView")(show)
    command(templates, "render", "perdure templates render finetune --set epochs=3", shows="Rendered")(render)
    command(templates, "delete", "perdure templates delete finetune -y")(delete)


def create(
    file: given.File,
    dry_run: given.DryRun = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Store a template. A changed document under a name that is there becomes its next version."""
    from perdure.cli import submitting

    with session.client(project) as client:
        submitting.template(client, file, Out.of(json, output), dry_run=dry_run)


def list_(
    limit: given.Limit = None,
    cursor: given.Cursor = None,
    whole: given.All = False,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """List templates by name, with the number of jobs that came from each. `*` marks a parameter that must be given."""
    from perdure.cli.catalog_shapes import TEMPLATE
    from perdure.cli.lists import show_list
    from perdure.client.operations import catalog

    with session.client(project) as client:
        out = Out.of(json, output)
        show_list(client, out, TEMPLATE, catalog.list_templates, limit=limit, cursor=cursor, whole=whole)


def show(
    template: given.TemplateName,
    version: Version = None,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Show a template: its parameters with their rules, and the versions there are."""
    from perdure.cli.template_view import ONE_TEMPLATE

    with session.client(project) as client:
        Out.of(json, output).one(client.templates.get(template, version=version), ONE_TEMPLATE)


def render(
    template: given.TemplateName,
    set_values: given.SetValues = None,
    version: Version = None,
    project: given.Project = None,
    json: given.Json = None,
    output: given.Output = None,
) -> None:
    """Print the job document that these values give."""
    from perdure.cli.template_view import RENDERED

    values = session.pairs("--set", set_values)
    with session.client(project) as client:
        Out.of(json, output).one(client.templates.render(template, values, version=version), RENDERED)


def delete(template: given.TemplateName, yes: given.Yes = False, project: given.Project = None) -> None:
    """Remove every version of a template. Jobs that came from it keep their documents."""
    from perdure.cli.terminal import say

    session.confirm(f"Delete every version of template {template}?", yes)
    with session.client(project) as client:
        client.templates.delete(template)
    say(f"deleted template {template}")
