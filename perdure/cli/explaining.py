"""`why` for people: the stored reason first, then the evidence, then what would help."""

from __future__ import annotations

from typing import Any

from perdure.cli.order_words import after_words
from perdure.cli.output import Column, Shape
from perdure.cli.queueing_shapes import held_lines, waiting_lines
from perdure.cli.shapes import ago_now


def _lines(why: Any) -> list[tuple[str, str]]:
    evidence = [
        f"rank {why.first_rank}" if why.first_rank is not None else "",
        f"exit code {why.exit_code}" if why.exit_code is not None else "",
        f"signal {why.signal}" if why.signal is not None else "",
        str(why.failure or ""),
    ]
    return [
        (why.name, f"{why.phase}: {why.reason}"),
        ("since", ago_now(why.since)),
        ("attempt", str(why.attempt) if why.attempt else ""),
        ("seen", ", ".join(part for part in evidence if part)),
        ("after", after_words(why.after)),
        *(waiting_lines(why.waiting) if why.waiting else []),
        *(held_lines(why.places) if why.places else []),
        ("places", "\n".join(_place(each) for each in why.ranks or [])),
        ("mind", "\n".join(why.warnings or [])),
        ("last lines", "\n".join(why.last_lines)),
        ("next", f"attempt {ago_now(why.next_at)}" if why.next_at else ""),
        ("what helps", "\n".join(why.help)),
    ]


def _place(rank: Any) -> str:
    where = f"{rank.state} on {rank.node}" if rank.node else rank.state
    return f"rank {rank.rank}: {where}{f': {rank.note}' if rank.note else ''}"


WHY = Shape(columns=(Column("REASON", lambda why: why.reason),), name=lambda why: why.name, lines=_lines)
