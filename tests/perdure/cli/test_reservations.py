"""Reservations on the command line: what is shown before booking, lists, windows, changes, and the calendar."""

import json
import re
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from definitions.documents import from_data
from definitions.reservation import AtEnd, Reservation
from perdure.cli import completion
from perdure.cli.commands.reservation_create import AtEnd as AtEndWord
from perdure.cli.reservation_document import Wanted, document, options_given
from perdure.errors import PerdureError
from tests.perdure.cli.calling import Cli, on_terminal
from tests.perdure.cli.filling import EVENING, add_reservation, add_scheduling
from tests.perdure.live import Live
from tests.support.reserved_windows import change, use

# A night on which clocks in Berlin go forward.
NIGHT = (
    *("reservations", "create", "night", "--queue", "research", "--nodes", "2"),
    *("--start", "2030-03-30T22:00", "--end", "2030-03-31T06:00", "--time-zone", "Europe/Berlin"),
)
EVERY = Wanted(
    queue="research",
    cluster="north-1",
    pool="training",
    nodes=4,
    flavor="h100",
    start="2030-03-04T18:00",
    length="8h",
    time_zone="Europe/Berlin",
    repeat="weekly:2",
    on=("mon,wed", "fri"),
    times=9,
    lead="2h",
    drain=True,
    at_end="cancel",
    grace="5m",
    allow=("production",),
    extendable="4h",
    extend_notice="30m",
    extends_itself=True,
    cancel_notice="1d",
    charge_idle=False,
    description="Evaluation.",
)


@pytest.fixture
def evening(live: Live) -> str:
    """A reservation with three booked windows: one that is over, one that is on, one to come."""
    add_reservation(live)
    now = datetime.now(UTC)
    for number, phase, begins in ((1, "ended", now - timedelta(days=2)), (2, "active", now - timedelta(hours=1))):
        change(live.world.engine, "evening", number, phase=phase, nodes=["n1", "n2", "n3", "n4"])
        assert begins < now
    return "evening"


def test_options_say_everything_that_a_document_can_say() -> None:
    found = from_data(document("evening", EVERY))
    assert isinstance(found, Reservation)
    written = found.spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    assert written == {
        "queue": "research",
        "description": "Evaluation.",
        "cluster": "north-1",
        "pool": "training",
        "capacity": {"nodes": 4, "flavor": "h100"},
        "start": "2030-03-04T18:00",
        "length": "8h",
        "timeZone": "Europe/Berlin",
        "repeat": {"frequency": "weekly", "interval": 2, "days": ["mon", "wed", "fri"], "count": 9},
        "lead": {"time": "2h", "mode": "drain"},
        "atEnd": "cancel",
        "grace": "5m",
        "users": {"queues": ["production"]},
        "extension": {"most": "4h", "notice": "30m", "automatic": True},
        "cancellation": {"notice": "1d"},
        "chargeIdle": False,
    }
    assert set(written) | {"end"} == {field.alias or name for name, field in type(found.spec).model_fields.items()}
    assert len(options_given(EVERY)) == len(fields(Wanted)) - len(("end", "gpus", "node", "until"))
    for others, place in (
        (Wanted(gpus=8, end="x", repeat="daily", until="y"), {"end": "x", "capacity": {"gpus": 8}}),
        (Wanted(node=("a", "b")), {"capacity": {"nodeNames": ["a", "b"]}}),
    ):
        assert document("a", others)["spec"].items() >= place.items()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "a reservation needs a name"),
        (("night", "-f", "x.yaml", "--nodes", "2"), "a name, --nodes is given too"),
        (("night", "--on", "mon"), "--repeat is not given"),
        (("night", "--repeat", "weekly:often"), "is not written weekly, or weekly:2"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(cli: Cli, arguments: tuple[str, ...], words: str) -> None:
    refused = cli("reservations", "create", *arguments)
    assert refused.code == 2
    assert words in refused.err


def test_words_for_the_end_are_those_of_the_api() -> None:
    assert [each.value for each in AtEndWord] == [each.value for each in AtEnd]
    with pytest.raises(PerdureError):
        document("a", Wanted(times=2))


def test_every_window_is_shown_with_its_real_hours_before_it_is_booked(live: Live, cli: Cli) -> None:
    add_scheduling(live)
    refused = cli(*NIGHT)
    assert (refused.code, "PD-2903" in refused.err) == (2, True)
    assert "2030-03-30 22:00 +01:00 to 2030-03-31 06:00 +02:00  7 h  2 nodes" in refused.err
    assert "it lasts 7h, not 8h, as clocks change" in refused.err
    assert "price: none, no price book here" in refused.err
    assert cli("reservations", "show", "night").code == 3
    planned = json.loads(cli.ok(*NIGHT, "--dry-run", "--json"))
    assert (planned["windows"][0]["hours"], planned["nodeHours"], planned["more"]) == (7, 14, False)
    made = json.loads(cli.ok(*NIGHT, "--yes", "--json", "name,phase"))
    assert made == {"name": "night", "phase": "planned"}
    taken = cli(*NIGHT, "--yes")
    assert (taken.code, "PD-2167" in taken.err) == (6, True)


def test_a_fault_of_an_option_names_the_field(live: Live, cli: Cli) -> None:
    add_scheduling(live)
    refused = cli(*NIGHT[:3], "--queue", "reserach", "--nodes", "2", *NIGHT[7:], "--yes")
    assert refused.code == 2
    assert "spec.queue" in refused.err
    assert "Did you mean research?" in refused.err


@pytest.mark.parametrize(("answer", "booked"), [("n", False), ("y", True)])
def test_on_a_terminal_it_asks(live: Live, answer: str, booked: bool) -> None:
    add_scheduling(live)
    seen = on_terminal(live, *NIGHT, answer=answer)
    assert "Reserve 2 nodes for queue research? [y/N]" in seen.out
    with live.client() as client:
        assert [each.name for each in client.reservations.list().items] == (["night"] if booked else [])


def test_a_file_is_applied_compared_and_reserved(live: Live, cli: Cli, tmp_path: Path) -> None:
    add_scheduling(live)
    file = tmp_path / "evening.yaml"
    file.write_text(yaml.safe_dump(EVENING))
    cli.ok("reservations", "create", "-f", str(file), "--yes")
    assert cli.ok("diff", "-f", str(file)).split() == ["unchanged", "Reservation", "evening"]
    file.write_text(yaml.safe_dump(EVENING).replace("length: 8h", "length: 9h"))
    assert "spec.length" in cli.ok("apply", "-f", str(file))
    assert json.loads(cli.ok("reservations", "show", "evening", "--json", "generation")) == {"generation": 2}


def test_lists_and_windows_tell_where_things_stand(live: Live, cli: Cli, evening: str) -> None:
    heading, row = (line.split("\t") for line in cli.ok("reservations", "list").splitlines())
    found = dict(zip(heading, row, strict=True))
    assert (found["NAME"], found["KEEPS"], found["PHASE"], found["WINDOW"]) == ("evening", "4 nodes", "active", "2")
    assert found["FROM"] == "2030-03-06 18:00 +01:00"
    page = json.loads(cli.ok("reservations", "windows", evening, "--limit", "2", "--json", "number,phase"))
    assert page["items"] == [{"number": 1, "phase": "ended"}, {"number": 2, "phase": "active"}]
    assert len(json.loads(cli.ok("reservations", "windows", evening, "--all", "--json"))["items"]) == 3
    assert cli.ok("reservations", "list", "-o", "name") == "evening\n"
    assert completion.reservations() == ["evening"]


def test_show_has_the_windows_and_who_uses_them_by_amounts(live: Live, cli: Cli, evening: str) -> None:
    begin = datetime(2030, 3, 6, 17, tzinfo=UTC)
    use(live.world.engine, evening, "01j9zx3v0c5m8k2p4q6r7s8t9v", "rival", begin, None, 3, 24)
    shown = cli.ok("reservations", "show", evening)
    properties, table = shown.split("\n\n")
    assert re.search(r"^now or next +window 2, 2030-03-06 18:00 \+01:00 to 2030-03-07 02:00 \+01:00$", properties, re.M)
    assert re.search(r"^extension +most: 2h", properties, re.M)
    heading, *rows = (line.split("\t") for line in table.splitlines())
    active = dict(zip(heading, rows[1], strict=True))
    assert (active["PHASE"], active["NODES"], active["HOURS"]) == ("active", "n1,n2,n3,n4", "8")
    whole = json.loads(cli.ok("reservations", "show", evening, "--json"))
    assert [each["number"] for each in whole["windows"]] == [1, 2, 3]
    assert "01j9zx3v0c5m8k2p4q6r7s8t9v" not in shown


def test_a_window_is_extended_and_given_up(live: Live, cli: Cli, evening: str) -> None:
    told = json.loads(cli.ok("reservations", "extend", evening, "--by", "2h", "--json"))
    assert (told["window"], told["shownEnd"]) == (2, "2030-03-07 04:00 +01:00")
    refused = cli("reservations", "cancel", evening)
    assert refused.code == 2
    assert "Give up window 2, from 2030-03-06 18:00 +01:00 to 2030-03-07 02:00 +01:00, of reservation" in refused.err
    cli.ok("reservations", "cancel", evening, "--window", "3", "-y")
    assert [asked.number for _, _, asked in live.world.reservations.asked] == [2, 3]
    assert cli("reservations", "extend", evening).code == 2
    assert cli("reservations", "delete", evening).code == 2
    assert "deleted reservation evening" in cli("reservations", "delete", evening, "-y").err
    assert json.loads(cli.ok("reservations", "list", "--json"))["items"] == []


def test_the_calendar_is_a_grid_of_days_with_real_hours(live: Live, cli: Cli, evening: str) -> None:
    asked = ("reservations", "calendar", "--from", "2030-03-30", "--days", "4", "--time-zone", "Europe/Berlin")
    cli.ok(*NIGHT, "--yes")
    assert cli.ok(*asked).splitlines() == [
        "              Mar     Apr",
        "Europe/Berlin Sat Sun Mon Tue",
        "RESERVATION    30  31   1   2",
        "evening         .   .   6   2  4 nodes, queue research",
        "night           2   5   .   .  2 nodes, queue research",
    ]
    page = json.loads(cli.ok(*asked, "--limit", "1", "--json"))
    assert [each["hoursByDay"] for each in page["items"]] == [[0, 0, 6, 2]]
    assert len(json.loads(cli.ok(*asked, "--all", "--json"))["items"]) == 2
    assert "--cursor" in cli(*asked, "--limit", "1").err
    assert cli("reservations", "calendar", "--from", "soon").code == 2
