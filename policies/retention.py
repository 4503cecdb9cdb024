"""Which checkpoints may go. What keeps one: being among the last, the periodic or the best ones, or being in use."""

import math
from collections.abc import Collection, Sequence

from definitions.attempt import CheckpointRecord
from definitions.job_state import CheckpointRules
from policies.checkpoints import age_order


def to_prune(
    records: Sequence[CheckpointRecord],
    rules: CheckpointRules,
    *,
    running: str | None = None,
    in_use: Collection[str] = (),
) -> tuple[str, ...]:
    """Folders that the rules let go, oldest first.

    Never the last complete one, nor one of `in_use` (folders that an attempt starts from), nor an incomplete one that
    the attempt with the token `running` may still be writing. Another incomplete one goes when it is older than all of
    the last complete ones that are kept: it would have gone by now, had it been complete.
    """
    complete = sorted((record for record in records if record.complete), key=age_order)
    last = complete[-max(rules.keep_last, 1) :]
    kept = {record.folder for record in [*last, *_periodic(complete, rules), *_best(complete, rules)]} | set(in_use)
    pruned = [record for record in complete if record.folder not in kept]
    for record in records:
        stale = len(last) >= max(rules.keep_last, 1) and age_order(record) < age_order(last[0])
        if not record.complete and stale and record.token != running and record.folder not in kept:
            pruned.append(record)
    return tuple(record.folder for record in sorted(pruned, key=age_order))


def _periodic(complete: list[CheckpointRecord], rules: CheckpointRules) -> list[CheckpointRecord]:
    """Of every step that is a multiple of `keep_every`, the latest attempt's."""
    if not rules.keep_every:
        return []
    by_step = {record.step: record for record in complete if record.step % rules.keep_every == 0}
    return list(by_step.values())


def _best(complete: list[CheckpointRecord], rules: CheckpointRules) -> list[CheckpointRecord]:
    """The `keep_best` best by the metric; equal ones: the newer. One that does not report it cannot be best."""
    metric = rules.best_metric
    if metric is None or rules.keep_best <= 0:
        return []
    judged = [record for record in complete if math.isfinite(record.metrics.get(metric, math.nan))]
    sign = 1 if rules.best_is_max else -1
    return sorted(judged, key=lambda record: (sign * record.metrics[metric], age_order(record)))[-rules.keep_best :]
