"""Which checkpoint an attempt starts from: the newest complete one, never simply the newest."""

from collections.abc import Sequence

from definitions.attempt import CheckpointRecord

MOST_NAMED = 10  # incomplete checkpoints in one sentence


def resume_point(records: Sequence[CheckpointRecord]) -> CheckpointRecord | None:
    """The complete checkpoint with the highest step; of two at one step, the later attempt's. None: start afresh."""
    return max((record for record in records if record.complete), key=age_order, default=None)


def explain_resume(records: Sequence[CheckpointRecord]) -> str:
    """One sentence that says where the next attempt starts, and why not from a later step."""
    chosen, *skipped = _deciding(records)
    start = (
        f"resumes from step {chosen.step}" if chosen else "starts from the beginning: there is no complete checkpoint"
    )
    reasons = [f"step {record.step} is incomplete: {record.problem}" for record in skipped if record is not None]
    return "; ".join([start, *reasons])


def deciding(records: Sequence[CheckpointRecord]) -> tuple[CheckpointRecord, ...]:
    """The few of many thousand records that the other functions here read: they say the same of these."""
    return tuple(record for record in _deciding(records) if record is not None)


def _deciding(records: Sequence[CheckpointRecord]) -> list[CheckpointRecord | None]:
    """Where to resume from, and the newest of those beyond it, oldest first."""
    chosen = resume_point(records)
    beyond = [record for record in records if chosen is None or age_order(record) > age_order(chosen)]
    return [chosen, *sorted(beyond, key=age_order)[-MOST_NAMED:]]


def age_order(record: CheckpointRecord) -> tuple[int, int, str]:
    """Sort key: older checkpoints first."""
    return (record.step, record.attempt, record.folder)
