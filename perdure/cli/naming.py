"""The body of a run, with a name: the one that was given, else one from the command that no live job has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from perdure.cli.job_document import Flags, distinct, document, name_from

if TYPE_CHECKING:
    from perdure.client import Client
    from perdure.client._models import SubmitJob


def body_for(
    client: Client, flags: Flags, template: str | None, version: int | None, values: Mapping[str, str]
) -> SubmitJob:
    """What to submit. Reads only."""
    from perdure.client.submitting import request

    if template is not None:
        return request(
            None, template=template, version=version, values=values, name=flags.name, after=flags.after, where="--after"
        )
    return request(document(flags, flags.name or _free(client, name_from(flags.command))))


def _free(client: Client, name: str) -> str:
    """The name, or when a live job has it the name with a few letters more."""
    from perdure.client.phases import FINAL

    newest = client.jobs.list(name=name, limit=1).items
    return distinct(name) if newest and newest[0].phase not in FINAL else name
