"""The report: one HTML page that needs nothing beside it, and each of its charts as a PNG."""

import base64
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path

from definitions.errors import PerdureError
from simulator.charts import Chart, charts
from simulator.loop import Ran
from simulator.wire import Answer, PolicyOutcome

PAGE = "report.html"
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;color:#1a1a1a;background:#fff;max-width:62rem;margin:2rem auto;"
    "padding:0 1rem}table{border-collapse:collapse;margin:1rem 0}"
    "th,td{padding:.3rem .8rem;border-bottom:1px solid #ddd;text-align:right}"
    "th:first-child,td:first-child{text-align:left}img{max-width:100%;height:auto}"
    "figure{margin:2rem 0}figcaption{color:#444}"
)
ROWS: tuple[tuple[str, Callable[[PolicyOutcome], str]], ...] = (
    ("jobs that ended", lambda found: f"{found.jobs:,}"),
    ("jobs that fit nowhere", lambda found: f"{found.fits_nowhere:,}"),
    ("jobs that never ended", lambda found: f"{found.unfinished:,}"),
    ("stopped at their limit", lambda found: f"{found.stopped_at_limit:,}"),
    ("wait, mean (h)", lambda found: _hours(found.wait.mean)),
    ("wait, median (h)", lambda found: _hours(found.wait.median)),
    ("wait, 99th percentile (h)", lambda found: _hours(found.wait.p99)),
    ("wait of the largest gangs, mean (h)", lambda found: _hours(found.biggest_wait)),
    ("completion, mean (h)", lambda found: _hours(found.completion.mean)),
    ("completion, 99th percentile (h)", lambda found: _hours(found.completion.p99)),
    ("makespan (h)", lambda found: _hours(found.makespan)),
    ("GPUs in use while jobs arrive (%)", lambda found: f"{100 * found.use_arriving:.1f}"),
    ("GPUs in use, whole run (%)", lambda found: f"{100 * found.use:.1f}"),
    ("finish-time ratio, mean", lambda found: f"{found.ratio.mean:.2f}"),
    ("finish-time ratio, 99th percentile", lambda found: f"{found.ratio.p99:.2f}"),
    ("finish-time ratio, worst queue", lambda found: f"{found.worst_queue_ratio:.2f}"),
    ("Jain index over queues", lambda found: f"{found.jain:.3f}"),
    ("gangs told a start", lambda found: f"{found.promises.gangs:,}"),
    ("of them promised one", lambda found: f"{found.promises.firm:,}"),
    ("promises kept (%)", lambda found: f"{100 * found.promises.kept:.1f}"),
    ("error of told starts, median (h)", lambda found: _hours(found.promises.median_error)),
    ("evictions", lambda found: f"{found.evictions:,}"),
    ("runs ended by the loss of a node", lambda found: f"{found.node_losses:,}"),
    ("GPU-hours lost", lambda found: f"{found.lost_gpu_hours:,.1f}"),
)


def write(folder: Path, answer: Answer, runs: Mapping[str, Ran]) -> tuple[str, ...]:
    """Write the page and the charts into a folder, which is made if need be. Returns the paths, the page first.

    Raises PD-2920 when it cannot be written. Files of the same names are replaced.
    """
    drawn = charts(answer, runs)
    files = {PAGE: _page(answer, drawn).encode(), **{f"{chart.name}.png": chart.png for chart in drawn}}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        raise PerdureError("PD-2920", f"{folder}: {error.strerror}", where="--report") from None
    return tuple(str(folder / name) for name in files)


def _page(answer: Answer, drawn: list[Chart]) -> str:
    title = f"Simulation of {escape(Path(answer.trace).name)}"
    facts = (
        f"{answer.jobs:,} jobs of {answer.queues:,} queues on {answer.nodes:,} nodes with {answer.gpus:,} GPUs; "
        f"load {answer.load:g}, seed {answer.seed}."
    )
    parts = [f"<h1>{title}</h1>", f"<p>{facts}</p>", _table(answer), _what_if(answer), *map(_figure, drawn)]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _table(answer: Answer) -> str:
    heading = "".join(f"<th>{escape(found.policy)}</th>" for found in answer.policies)
    rows = [
        f"<tr><td>{name}</td>{''.join(f'<td>{cell(found)}</td>' for found in answer.policies)}</tr>"
        for name, cell in ROWS
    ]
    return f"<table><thead><tr><th></th>{heading}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _what_if(answer: Answer) -> str:
    if answer.what_if is None:
        return ""
    found = answer.what_if
    starts = ["never" if start is None else f"at {_hours(start)} h" for start in (found.start, found.changed_start)]
    return (
        f"<p>Job {escape(found.job)} starts {starts[0]} under {escape(found.policy)}, and {starts[1]} with "
        f"{escape(found.change)}.</p>"
    )


def _figure(chart: Chart) -> str:
    data = base64.b64encode(chart.png).decode()
    return (
        f'<figure><h2>{escape(chart.title)}</h2><img alt="{escape(chart.title)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{escape(chart.about)}</figcaption></figure>"
    )


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:,.2f}"
