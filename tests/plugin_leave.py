"""pytest plugin: leaves through `leave` with the session's real exit status, and refuses hidden skips in CI.

Test processes use the engine's client, so their normal exit may crash after every test has passed (see
`workers.leave`). The wrapper below is the outermost one: when it leaves, the summary has been printed, the fixtures are
torn down and pytest's own cleanup has run. Processes of pytest-xdist run the same wrapper after they have reported.
"""

import os
from collections.abc import Generator

import pytest
from _pytest.terminal import TerminalReporter

from workers.leave import leave

HIDDEN = ("skipped", "xfailed", "xpassed")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main() -> Generator[None, "int | pytest.ExitCode | None", "int | pytest.ExitCode | None"]:
    status = yield
    leave(int(status or 0))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if _hidden(session.config) and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    hidden = _hidden(config)
    if hidden:
        terminalreporter.section("not run in CI, so this session fails", red=True, bold=True)
        for nodeid in hidden:
            terminalreporter.write_line(nodeid)


def _hidden(config: pytest.Config) -> list[str]:
    """The tests that CI was promised and that did not count: skipped or expected to fail."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") != "true" or not isinstance(reporter, TerminalReporter):
        return []
    return [report.nodeid for outcome in HIDDEN for report in reporter.stats.get(outcome, [])]
