"""Imports: other systems' documents as jobs. Nothing is written."""

from typing import Annotated

from fastapi import APIRouter, Depends

from api.access import Caller, Needs
from definitions.api_imports import ImportedJob, ImportedJobs, ImportJobs, ImportNoteView
from definitions.documents import from_data
from definitions.importing import Imported
from definitions.principal import Action, ResourceKind
from definitions.spec_errors import SpecError
from definitions.yaml_writer import dump
from policies.imports.kubernetes import translate

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
Creator = Annotated[Caller, Depends(Needs(Action.CREATE, ResourceKind.JOB))]


@router.post(":import", name="jobs.import", response_model=ImportedJobs)
def import_(_: Creator, body: ImportJobs) -> ImportedJobs:
    """Translate documents of another system. Every field that is not as it was has a note with its line."""
    found = translate(body.text, body.source or "document", cluster=body.cluster)
    return ImportedJobs(items=[_view(one) for one in found])


def _view(one: Imported) -> ImportedJob:
    return ImportedJob(
        name=one.document["metadata"]["name"],
        document=one.document,
        text=dump(one.document),
        notes=[ImportNoteView.model_validate(note.model_dump()) for note in one.notes],
        faults=_faults(one),
    )


def _faults(one: Imported) -> list[str]:
    try:
        from_data(one.document)
    except SpecError as error:
        return [f"{issue.where}: {issue.what} [{issue.code}]" for issue in error.issues]
    return []
