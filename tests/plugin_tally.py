"""pytest plugin: appends the session's counts and failures as one JSON line to the file named by PERDURE_TEST_TALLY.

`tests.run` adds up the lines of its groups. Processes of pytest-xdist write nothing: their controller has all reports.
"""

import json
import os
from typing import Any

import pytest
from _pytest.terminal import TerminalReporter

FILE = "PERDURE_TEST_TALLY"
LONGEST_REASON = 300
COUNTED = {"passed": "passed", "failed": "failed", "error": "failed", "skipped": "skipped", "xfailed": "skipped"}


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    path = os.environ.get(FILE)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not path or hasattr(session.config, "workerinput") or not isinstance(reporter, TerminalReporter):
        return
    tally: dict[str, Any] = dict.fromkeys(COUNTED.values(), 0)
    failures = []
    for outcome, counted_as in COUNTED.items():
        reports = reporter.stats.get(outcome, [])
        tally[counted_as] += len(reports)
        failures += [[report.nodeid, _reason(report)] for report in reports if counted_as == "failed"]
    tally["failures"] = failures
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(tally) + "\n")


def _reason(report: pytest.TestReport) -> str:
    """The first line of what went wrong."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = (crash.message if crash is not None else report.longreprtext).strip().splitlines()
    return lines[0][:LONGEST_REASON] if lines else report.when or ""
