"""Snapshots, templates, secrets and schedules as the API takes and shows them."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import Field, SecretStr, model_validator

from definitions.api_base import Body, Document, Page, View, doc
from definitions.api_submit import Submission
from definitions.spec_types import Name

TIME = "2026-11-29T16:22:00Z"
SHA = "9f86d081" + "0" * 56


class SnapshotView(View):
    """The bytes of a submitted folder."""

    sha256: Annotated[str, doc("Digest of the manifest: list of files with their digests.", SHA)]
    bytes: Annotated[int, doc("Size of the files.", 20480)]
    files: Annotated[int, doc("Number of files.", 12)]
    created_at: Annotated[datetime, doc("When it was first stored.", TIME)]


class CreateTemplate(Body):
    """A Template document, as JSON or as YAML text. A name that is there already gets a new version."""

    document: Annotated[Document | None, doc("As JSON.", {"kind": "Template"})] = None
    text: Annotated[str | None, doc("As YAML.", "kind: Template\n", max_length=262144)] = None
    source: Annotated[str | None, doc("File the text came from; used in messages only.", "finetune.yaml")] = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.document is None) == (self.text is None):
            raise ValueError("give exactly one of document and text")
        return self


class ParameterView(View):
    """One parameter of a template."""

    name: Annotated[str, doc("Name, as given to `--set`.", "epochs")]
    type: Annotated[str, doc("What values look like.", "integer")]
    required: Annotated[bool, doc("Whether a value must be given.", False)]
    default: Annotated[Any, doc("Value when none is given.", 3)] = None
    description: Annotated[str, doc("What it does.", "How often the data is seen.")] = ""
    rules: Annotated[dict[str, Any], doc("Limits on its values.", {"min": 1})] = {}


class TemplateView(View):
    """A job with holes, and what may fill them."""

    name: Annotated[str, doc("Name.", "finetune")]
    version: Annotated[int, doc("Version, 1 for the first.", 2)]
    versions: Annotated[list[int], doc("Every version there is, oldest first.", [1, 2])]
    description: Annotated[str, doc("What it is for.", "Fine-tune a small model.")] = ""
    parameters: Annotated[list[ParameterView], Field(description="What may be set.")] = []
    jobs: Annotated[int, doc("Jobs submitted from any of its versions.", 12)] = 0
    created_at: Annotated[datetime, doc("When this version was stored.", TIME)]
    document: Annotated[Document | None, doc("The document; null in lists.", {"kind": "Template"})] = None


class TemplatePage(Page[TemplateView]):
    """Templates by name, newest version of each."""


class RenderTemplate(Body):
    """Values for a template's parameters."""

    values: Annotated[dict[str, Any], doc("Values by parameter name.", {"epochs": 3})] = {}
    version: Annotated[int | None, doc("Which version; the newest when left out.", 2, ge=1)] = None


class CreateSecret(Body):
    """A value to keep. It is encrypted and never shown again."""

    name: Annotated[Name, doc("Name that jobs refer to.", "hub-token")]
    value: Annotated[SecretStr, doc("At least 4 characters.", "s3cr3t-value", max_length=65536)]


class RotateSecret(Body):
    """A new value. Attempts that start from now on get it."""

    value: Annotated[SecretStr, doc("At least 4 characters.", "n3w-value", max_length=65536)]


class SecretView(View):
    """That a secret exists. Its value is never shown."""

    name: Annotated[str, doc("Name that jobs refer to.", "hub-token")]
    owner: Annotated[str, doc("Who created it; members change only their own.", "admin")]
    version: Annotated[int, doc("Grows with every rotation.", 1)]
    created_at: Annotated[datetime, doc("When it was created.", TIME)]
    rotated_at: Annotated[datetime | None, doc("When it was last rotated.", TIME)] = None


class SecretPage(Page[SecretView]):
    """Secrets by name."""


class CreateSchedule(Body):
    """A Schedule document, as JSON or as YAML text."""

    document: Annotated[Document | None, doc("As JSON.", {"kind": "Schedule"})] = None
    text: Annotated[str | None, doc("As YAML.", "kind: Schedule\n", max_length=262144)] = None
    source: Annotated[str | None, doc("File the text came from; used in messages only.", "nightly.yaml")] = None
    submission: Annotated[Submission, Field(description="Where its jobs come from.")] = Submission()

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.document is None) == (self.text is None):
            raise ValueError("give exactly one of document and text")
        return self


class ScheduleView(View):
    """When jobs are submitted by themselves."""

    name: Annotated[str, doc("Name.", "nightly")]
    project: Annotated[str, doc("Project it is in.", "default")]
    cron: Annotated[list[str], doc("Cron lines.", ["0 3 * * *"])]
    calendars: Annotated[list[dict[str, Any]], doc("Times by calendar fields.", [{"hour": "3"}])] = []
    time_zone: Annotated[str, doc("Zone the cron lines are meant in.", "Europe/Berlin")]
    overlap: Annotated[str, doc("What happens when the job before still runs.", "skip")]
    catch_up: Annotated[str, doc("How late a missed run may still start.", "10m")]
    jitter: Annotated[str, doc("Spread of the start times.", "0s")]
    paused: Annotated[bool, doc("Whether it starts nothing for now.", False)]
    next_runs: Annotated[list[datetime], doc("Next start times.", [TIME])] = []
    last_jobs: Annotated[
        list[str], doc("Ids of the last jobs it submitted, newest first.", ["0k3bw2m4x9t6q8r1s5v7y0z2a4"])
    ] = []
    owner: Annotated[str, doc("Whose jobs it submits.", "admin")]
    created_at: Annotated[datetime | None, doc("When it was created; null in a dry run.", TIME)] = None
    document: Annotated[Document | None, doc("The document; null in lists.", {"kind": "Schedule"})] = None


class SchedulePage(Page[ScheduleView]):
    """Schedules by name."""
