"""The command line's own contract: errors, exit codes, completion, start-up, and what it does not load."""

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from perdure.cli import humane
from perdure.codes import ALL
from tests.perdure.cli.calling import Cli, started
from tests.perdure.live import PERDURE, Live

# What it loads takes about 4.5 times as long as these modules, which every machine has: 0.3 s where they take 0.066 s.
STANDARD = (
    "import asyncio, dataclasses, email.message, http.client, json, logging.config, multiprocessing.pool, sqlite3, ssl"
    ", unittest.mock, xml.dom.minidom"
)
START_UP = 10  # times that: a library like the one for databases would take longer
LOADED = {"perdure", "typer", "pydantic"}
NEEDED = {"annotated_doc", "annotated_types", "pydantic_core", "shellingham", "typing_extensions", "typing_inspection"}
SHOW_LOADED = """
import sys
from perdure.cli.main import run
sys.argv = ["perdure", "version"]
try:
    run()
finally:
    roots = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
    print(*(name for name in roots if getattr(sys.modules.get(name), "__spec__", None)))
"""


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("jobs", "show", "nobody"), 3, "PD-2004"),
        (("jobs", "wait", "nobody"), 3, "PD-2004"),
        (("jobs", "logs", "nobody"), 3, "PD-2004"),
        (("jobs", "show"), 2, "Missing argument 'JOB'"),
        (("jobs", "list", "--phase", "Happy"), 2, "--phase"),
        (("jobs", "list", "--phse", "Failed"), 2, "--phase"),
        (("jobz",), 2, "jobs"),
        (("apply", "-f", "none.yaml"), 2, "PD-2909"),
        (("errors", "PD-9999"), 3, "PD-2918"),
        (("jobs", "list", "--selector", "a b"), 2, "PD-3704"),
    ],
)
def test_an_error_says_what_where_why_and_what_to_do(
    cli: Cli, folder: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    result = cli(*arguments)
    assert result.code == code, result
    assert result.out == ""
    assert words in result.err
    headline, *lines = result.err.splitlines()
    assert headline.startswith("error PD-")
    assert {line.split()[0] for line in lines} >= {"why", "do", "more"}


def test_an_error_of_the_api_points_to_its_page(cli: Cli) -> None:
    assert f"{cli.live.url}/errors/PD-2004" in cli("jobs", "show", "nobody").err


def test_without_a_key_or_with_a_wrong_one_the_exit_code_is_4(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_API_KEY", "pd_live_wrong")
    assert cli("jobs", "list").code == 4


def test_nothing_at_the_address_is_exit_code_8(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_API_URL", "http://127.0.0.1:9")
    result = cli("jobs", "list")
    assert result.code == 8
    assert "perdure up" in result.err


def test_waiting_too_long_is_exit_code_7_and_the_job_goes_on(cli: Cli, job: str) -> None:
    result = cli("jobs", "wait", "digits", "--timeout", "300ms")
    assert result.code == 7
    assert "still Pending after 0.3 seconds" in result.err
    assert cli.live.world.operator.asked == []


def test_a_fault_of_our_own_is_told_without_a_traceback(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("perdure.cli.session.client", broken)
    result = cli("jobs", "list")
    assert (result.code, "PD-2919" in result.err, "Traceback" in result.err) == (8, True, False)
    monkeypatch.setenv("PERDURE_DEBUG", "1")
    assert "Traceback" in cli("jobs", "list").err


def test_codes_are_explained_with_and_without_the_api(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Nothing of that kind" in cli.ok("errors", "PD-2004")
    assert {code.code for code in ALL} <= {each["code"] for each in json.loads(cli.ok("errors", "--json"))["items"]}
    monkeypatch.setenv("PERDURE_API_URL", "http://127.0.0.1:9")
    assert "perdure up" in cli.ok("errors", "2900")
    offline = cli("errors", "-o", "name")
    assert offline.code == 0
    assert set(offline.out.split()) >= {code.code for code in ALL}


def complete(live: Live, line: str) -> list[str]:
    """What bash would offer at the end of a line."""
    words = line.split(" ")
    environment = {**live.environment, "_PERDURE_COMPLETE": "complete_bash", "COMP_WORDS": "\n".join(words)}
    environment["COMP_CWORD"] = str(len(words) - 1)
    return subprocess.run([PERDURE], env=environment, capture_output=True, text=True, check=False).stdout.split()


def test_completion_knows_verbs_options_and_names_as_they_are_now(live: Live, cli: Cli, job: str) -> None:
    assert complete(live, "perdure jobs sh") == ["show"]
    assert "--propagate-exit" in complete(live, "perdure run --prop")
    assert complete(live, "perdure jobs show di") == ["digits"]
    with live.client() as client:
        client.secrets.create("hub-token", "s3cr3t-value")
    assert complete(live, "perdure secrets rotate ") == ["hub-token"]


def test_completion_offers_nothing_when_the_api_is_away(live: Live) -> None:
    (live.home / "endpoint.json").write_text('{"api": "http://127.0.0.1:9"}')
    assert complete(live, "perdure jobs show di") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_asks_this_program(cli: Cli, shell: str) -> None:
    script = cli.ok("completion", shell)
    assert f"_PERDURE_COMPLETE=complete_{shell}" in script
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_version_is_told_at_once_and_loads_neither_client_nor_engine() -> None:
    line = [sys.executable, "-X", "importtime", "-m", "perdure", "version"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("perdure ")
    loaded = {row.rsplit("|", 1)[1].strip() for row in done.stderr.splitlines() if "|" in row}
    assert loaded & {"httpx", "yaml", "perdure.client", "temporalio", "fastapi", "sqlalchemy", "numpy"} == set()


def cpu_seconds(*line: str) -> float:
    """Processor time of a process, which neighbours on the machine do not lengthen as they do the wall's."""
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime


def test_start_up_loads_no_more_libraries_than_it_needs() -> None:
    done = subprocess.run([sys.executable, "-c", SHOW_LOADED], cwd="/", check=False, capture_output=True, text=True)
    loaded = {name for name in done.stdout.splitlines()[-1].split() if not name.startswith("_")}
    assert LOADED <= loaded <= LOADED | NEEDED


def test_start_up_is_quick() -> None:
    """In turn with what it is compared to, since processors that two share are slower for both."""
    taken = [(cpu_seconds(PERDURE, "version"), cpu_seconds(sys.executable, "-c", STANDARD)) for _ in range(5)]
    ours, standard = (min(each) for each in zip(*taken, strict=True))
    assert ours < START_UP * standard


def test_the_version_of_the_server_is_told_too(cli: Cli) -> None:
    assert json.loads(cli.ok("version", "--server", "-o", "json"))["server"] == "0.1.0"


def test_numbers_for_prometheus_are_passed_on(cli: Cli) -> None:
    assert "# TYPE" in cli.ok("metrics")


def test_help_is_data_for_whoever_asks(live: Live) -> None:
    process = started(live, "run", "--help")
    out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (0, "")
    assert "perdure run -- python train.py" in out


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("1h30m", 5400), ("2d", 172800), ("300ms", 0.3), ("1.5h", 5400), ("0s", 0)]
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert humane.duration(text).total_seconds() == seconds


@pytest.mark.parametrize("text", ["", "5", "h", "5 m", "-5m", "1h-", "5x", "1:30"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write it like"):
        humane.duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59, "59s"), (60, "1m"), (61, "1m1s"), (3600, "1h"), (90061, "1d1h"), (-5, "0s")]
)
def test_durations_are_told_in_two_units(seconds: int, text: str) -> None:
    assert humane.lasting(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("values", "width", "bars"),
    [
        ([], 5, ""),
        ([1.0], 5, "▄"),
        ([0, 1], 5, "▁█"),
        ([0, 1, 2, 3, 4, 5, 6, 7], 8, "▁▂▃▄▅▆▇█"),
        ([0, 0, 8, 8], 2, "▁█"),
        ([float("nan"), 1, 2], 5, "▁█"),
        ([3.0] * 50, 4, "▄▄▄▄"),
    ],
)
def test_a_course_is_drawn_by_bars(values: list[float], width: int, bars: str) -> None:
    assert humane.sparkline(values, width) == bars
