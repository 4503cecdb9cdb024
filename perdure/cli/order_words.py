"""Jobs that a job waits for, as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

WORDS = {"succeeded": "to succeed", "failed": "to fail", "finished": "to end"}


def after_words(after: Sequence[Any] | None) -> str:
    """One line per job: its name, how it has to end, its id, and where it is now if that was asked for."""
    return "\n".join(_line(one) for one in after or ())


def _line(one: Any) -> str:
    line = f"job {one.name} ({one.job}) has {WORDS[str(one.outcome)]}"
    phase, met = getattr(one, "phase", None), getattr(one, "met", None)
    if phase is None:
        return line
    return f"{line}: {phase}{'' if met is None else ', as it had to' if met else ', and it had not to'}"
