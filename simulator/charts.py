"""Charts of a simulation, one line for each policy, always of the same colour. Drawn without a display."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from simulator.loop import Ran
from simulator.outcome import promise_errors
from simulator.wire import Answer

# Okabe and Ito's palette, which people tell apart whatever colours they see; the policies differ in dashes as well.
STYLES = {
    "perdure": ("#0072B2", "-"),
    "fifo": ("#D55E00", "--"),
    "priority": ("#CC79A7", "-."),
    "easy": ("#009E73", (0, (5, 1))),
    "first-fit": ("#E69F00", ":"),
}
OTHER = ("#555555", "-")
BUCKETS = 240
DAY, HOUR = 86_400, 3_600
MOST_QUEUES = 20


@dataclass(frozen=True, slots=True)
class Chart:
    """`about` says in a sentence what is to be seen."""

    name: str
    title: str
    about: str
    png: bytes


def charts(answer: Answer, runs: Mapping[str, Ran]) -> list[Chart]:
    """All charts that have something to show."""
    drawn = [
        Chart("use", "GPUs in use", "GPUs held by gangs, of all that the cluster has.", _use(runs)),
        Chart(
            "waiting", "Waiting gangs", "Gangs that have arrived, or were displaced, and hold nothing.", _waiting(runs)
        ),
        Chart(
            "fairness",
            "Finish-time ratio by queue",
            "Mean time from arrival to end, by the time that the job would have taken in a part of the cluster of its "
            "queue's own. Above 1 the queue is worse off for sharing.",
            _fairness(answer),
        ),
        Chart(
            "fragmentation",
            "Fragmented part of idle GPUs",
            "Part of the idle GPUs that a pod of the trace, drawn at random, could not use where they are.",
            _fragmentation(runs),
        ),
    ]
    if any(promise_errors(list(ran.ledger.gangs.values())) for ran in runs.values()):
        about = "Gangs by how far their first start was from the start that they were first told; left is early."
        drawn.append(Chart("promises", "Error of promised starts", about, _promises(runs)))
    return drawn


def _use(runs: Mapping[str, Ran]) -> bytes:
    return _over_time(
        runs,
        "GPUs in use (%)",
        lambda ran: _means(ran, [100 * used / max(1, ran.series.capacity) for used in ran.series.used]),
        top=105,
    )


def _waiting(runs: Mapping[str, Ran]) -> bytes:
    return _over_time(runs, "waiting gangs", lambda ran: _means(ran, ran.series.waiting))


def _fragmentation(runs: Mapping[str, Ran]) -> bytes:
    return _over_time(
        runs,
        "idle GPUs that are fragmented (%)",
        lambda ran: ([when for when, _ in ran.series.fragmented], [100 * part for _, part in ran.series.fragmented]),
        top=105,
    )


def _over_time(
    runs: Mapping[str, Ran],
    label: str,
    values: Callable[[Ran], tuple[Sequence[float], Sequence[float]]],
    top: float | None = None,
) -> bytes:
    figure, axes = _empty()
    longest = max((ran.end for ran in runs.values()), default=0)
    unit, name = (DAY, "days") if longest > 3 * DAY else (HOUR, "hours")
    for policy, ran in runs.items():
        times, found = values(ran)
        colour, dashes = STYLES.get(policy, OTHER)
        places = [when / unit for when in times]
        axes.plot(places, found, color=colour, linestyle=dashes, linewidth=1.4, drawstyle="steps-mid", label=policy)
    axes.set_xlabel(f"time ({name})")
    axes.set_ylabel(label)
    axes.set_ylim(bottom=0, top=top)
    axes.margins(x=0)
    return _png(figure, axes)


def _means(ran: Ran, values: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """Means over equal stretches of time of a value that holds until the next event."""
    times = ran.series.times
    if len(times) < 2 or times[-1] == times[0]:
        return times, values
    stretches = np.diff(np.array(times, dtype=float))
    held = np.concatenate([[0.0], np.cumsum(stretches * np.array(values[:-1], dtype=float))])  # up to each event
    edges = np.linspace(times[0], times[-1], BUCKETS + 1)
    means = np.diff(np.interp(edges, times, held)) / np.diff(edges)
    return ((edges[:-1] + edges[1:]) / 2).tolist(), means.tolist()


def _fairness(answer: Answer) -> bytes:
    figure, axes = _empty()
    sizes = {queue.queue: queue.gpu_hours for outcome in answer.policies for queue in outcome.queues}
    names = sorted(sizes, key=lambda name: (-sizes[name], name))[:MOST_QUEUES]
    width = 0.8 / max(1, len(answer.policies))
    for number, outcome in enumerate(answer.policies):
        ratios = {queue.queue: queue.ratio for queue in outcome.queues}
        places = [at + (number - (len(answer.policies) - 1) / 2) * width for at in range(len(names))]
        colour = STYLES.get(outcome.policy, OTHER)[0]
        heights = [ratios.get(name, 1) - 1 for name in names]
        axes.bar(places, heights, width, bottom=1, color=colour, label=outcome.policy)
    axes.axhline(1, color="#333333", linewidth=1)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, position: f"{value:g}")
    axes.set_xticks(
        range(len(names)), names, rotation=45 if len(names) > 6 else 0, ha="right" if len(names) > 6 else "center"
    )
    axes.set_xlabel("queue, those that hold most GPU time first")
    axes.set_ylabel("mean finish-time ratio")
    return _png(figure, axes)


def _promises(runs: Mapping[str, Ran]) -> bytes:
    figure, axes = _empty()
    for policy, ran in runs.items():
        errors = sorted(error / HOUR for _, error in promise_errors(list(ran.ledger.gangs.values())))
        if errors:
            colour, dashes = STYLES.get(policy, OTHER)
            parts = [100 * (number + 1) / len(errors) for number in range(len(errors))]
            axes.step(errors, parts, where="post", color=colour, linestyle=dashes, label=policy)
    axes.axvline(0, color="#333333", linewidth=1)
    axes.set_xscale("symlog", linthresh=1)
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, -1.5), max(high, 1.5))
    axes.xaxis.set_major_formatter(lambda value, position: f"{value:g}")
    axes.set_xlabel("first start less the start first told (hours)")
    axes.set_ylabel("gangs (%)")
    axes.set_ylim(0, 105)
    return _png(figure, axes)


def _empty() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(9, 4), dpi=110, facecolor="white", layout="constrained")
    axes = figure.subplots()
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _png(figure: Figure, axes: Axes) -> bytes:
    if len(axes.get_legend_handles_labels()[1]):
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=6, frameon=False)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", metadata={"Software": None})
    return drawn.getvalue()
