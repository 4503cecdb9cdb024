"""Which checkpoint an attempt starts from: the newest complete one, never simply the newest."""

from collections.abc import Sequence

from definitions.attempt import CheckpointRecord


def resume_point(records: Sequence[CheckpointRecord]) -> CheckpointRecord | None:
    """The complete checkpoint with the highest step; of two at one step, the later attempt's. None: start afresh."""
    return max((record for record in records if record.complete), key=age_order, default=None)


def explain_resume(records: Sequence[CheckpointRecord]) -> str:
    """One sentence that says where the next attempt starts, and why not from a later step."""
    chosen = resume_point(records)
    skipped = [record for record in records if chosen is None or age_order(record) > age_order(chosen)]
    start = (
        f"resumes from step {chosen.step}" if chosen else "starts from the beginning: there is no complete checkpoint"
    )
    reasons = [f"step {record.step} is incomplete: {record.problem}" for record in sorted(skipped, key=age_order)]
    return "; ".join([start, *reasons])


def age_order(record: CheckpointRecord) -> tuple[int, int, str]:
    """Sort key: older checkpoints first."""
    return (record.step, record.attempt, record.folder)
