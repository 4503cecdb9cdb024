"""Jobs to wait for, as people write them: `JOB`, which has to succeed; `JOB:fail`; `JOB:any`, however it ends."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.codes import USAGE
from perdure.errors import PerdureError

OUTCOMES = {"ok": "succeeded", "fail": "failed", "any": "finished"}


def dependencies(given: Sequence[str], where: str = "after") -> list[dict[str, str]]:
    """Entries of spec.after. Raises PerdureError PD-2901, about `where`, for another word behind the colon."""
    return [_dependency(text, where) for text in given]


def _dependency(text: str, where: str) -> dict[str, str]:
    job, colon, word = text.partition(":")
    if not job or (colon and word not in OUTCOMES):
        detail = f"{text!r} does not read as JOB or JOB:{'|'.join(OUTCOMES)}"
        remedy = "Write the job's name or id: it has to succeed; with :fail to fail; with :any to end."
        raise PerdureError(USAGE, detail, where=where, remedy=remedy)
    return {"job": job, "outcome": OUTCOMES[word]} if colon else {"job": job}
