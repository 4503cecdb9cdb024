"""Jobs that a job waits for: as `--after` takes them, and as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perdure.codes import USAGE
from perdure.errors import PerdureError

OUTCOMES = {"ok": "succeeded", "fail": "failed", "any": "finished"}
WORDS = {"succeeded": "to succeed", "failed": "to fail", "finished": "to end"}


def dependencies(given: Sequence[str] | None) -> list[dict[str, str]]:
    """`prepare:ok` as an entry of spec.after. Raises PerdureError PD-2901 for another word behind the colon."""
    return [_dependency(text) for text in given or ()]


def after_words(after: Sequence[Any] | None) -> str:
    """One line per job: its name, how it has to end, its id, and where it is now if that was asked for."""
    return "\n".join(_line(one) for one in after or ())


def _dependency(text: str) -> dict[str, str]:
    job, colon, word = text.partition(":")
    if not job or (colon and word not in OUTCOMES):
        detail = f"{text!r} does not read as JOB or JOB:{'|'.join(OUTCOMES)}"
        remedy = "Write --after prepare, which has to succeed; :fail, when it has to fail; :any, however it ends."
        raise PerdureError(USAGE, detail, where="--after", remedy=remedy)
    return {"job": job, "outcome": OUTCOMES[word]} if colon else {"job": job}


def _line(one: Any) -> str:
    line = f"job {one.name} ({one.job}) has {WORDS[str(one.outcome)]}"
    phase, met = getattr(one, "phase", None), getattr(one, "met", None)
    if phase is None:
        return line
    return f"{line}: {phase}{'' if met is None else ', as it had to' if met else ', and it had not to'}"
