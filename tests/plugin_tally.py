"""pytest plugin: appends the session's counts as one JSON line to the file named by PERDURE_TEST_TALLY.

`tests.run` adds up the lines of its groups. Processes of pytest-xdist write nothing: their controller has all reports.
"""

import json
import os

import pytest
from _pytest.terminal import TerminalReporter

FILE = "PERDURE_TEST_TALLY"
COUNTED = {"passed": "passed", "failed": "failed", "error": "failed", "skipped": "skipped", "xfailed": "skipped"}


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    path = os.environ.get(FILE)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not path or hasattr(session.config, "workerinput") or not isinstance(reporter, TerminalReporter):
        return
    tally = dict.fromkeys(COUNTED.values(), 0)
    for outcome, counted_as in COUNTED.items():
        tally[counted_as] += len(reporter.stats.get(outcome, []))
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(tally) + "\n")
