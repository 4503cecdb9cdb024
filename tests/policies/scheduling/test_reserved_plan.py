"""From the documents of a pool and a reservation to what is planned before, in and after its window."""

from datetime import UTC, datetime

from definitions.documents import parse
from policies.scheduling.bookings import booked
from policies.scheduling.claims import Held, Want, claims, hold, names_it, told_to_go
from policies.scheduling.documents import Scheduling, faults, scheduling
from policies.scheduling.model import Cause, Decision, Request, Role, Shape
from policies.scheduling.plan import plan
from policies.scheduling.windows import windows
from policies.scheduling.world import World

DOCUMENTS = """\
apiVersion: perdure/v1
kind: ResourceFlavor
metadata: {name: h100}
spec: {gpuType: H100}
---
apiVersion: perdure/v1
kind: NodePool
metadata: {name: training}
spec:
  simulated: {count: 2, cpus: 64, memory: 1Ti, gpus: 8, flavor: h100}
---
apiVersion: perdure/v1
kind: Queue
metadata: {name: research}
---
apiVersion: perdure/v1
kind: Queue
metadata: {name: others}
---
apiVersion: perdure/v1
kind: Reservation
metadata: {name: morning}
spec:
  queue: research
  pool: training
  capacity: {nodes: 1, flavor: h100}
  start: 2027-03-05T10:00
  end: 2027-03-05T12:00
  timeZone: Europe/Berlin
  %s
"""
HOUR = 3600
BEGINS = int(datetime(2027, 3, 5, 9, tzinfo=UTC).timestamp())


def read(lead: str = "") -> tuple[Scheduling, tuple[Held, ...]]:
    found = scheduling(parse(DOCUMENTS % lead, source="x.yaml", served_only=False, together=faults))
    (kept,) = found.reservations
    wants = [Want(kept, booked(each, kept.spec), found.pools["training"]) for each in windows(kept.spec, most=9)]
    held, short = hold(wants, found.nodes)
    assert short == ()
    return found, held


def world(found: Scheduling, held: tuple[Held, ...], now: int, *requests: Request) -> World:
    made = World(found.nodes, queues=found.queues, windows=claims(held, now))
    for request in requests:
        made.submit(request)
    return made


def gang(name: str, *, limit: int | None, queue: str = "others", reservation: str | None = None) -> Request:
    role = Role("worker", 1, Shape(cpu=1000, gpus=8))
    return Request(name, queue, (role,), limit=limit, reservation=reservation)


def started(decision: Decision) -> dict[str, str]:
    return {start.request: start.pods[0].node for start in decision.starts}


def test_before_a_window_only_what_ends_in_time_starts_on_its_node() -> None:
    found, held = read()
    assert [each.nodes for each in held] == [("training-0000",)]
    now = BEGINS - HOUR
    long, short = gang("long", limit=2 * HOUR), gang("short", limit=HOUR)
    assert started(plan(world(found, held, now, long), now)) == {"long": "training-0001"}
    both = plan(world(found, held, now, long, short), now)
    assert started(both) == {"long": "training-0001", "short": "training-0000"}


def test_with_a_lead_time_anything_starts_there_until_then() -> None:
    found, held = read("lead: {time: 30m}")
    endless = [gang(name, limit=None) for name in ("a", "b")]
    early, late = BEGINS - HOUR, BEGINS - HOUR // 2
    assert set(started(plan(world(found, held, early, *endless), early)).values()) == {"training-0000", "training-0001"}
    assert set(started(plan(world(found, held, late, *endless), late)).values()) == {"training-0001"}


def test_while_it_drains_not_even_what_ends_in_time_starts() -> None:
    found, held = read("lead: {time: 30m, mode: drain}")
    short = [gang(name, limit=60) for name in ("a", "b")]
    now = BEGINS - HOUR // 2
    assert set(started(plan(world(found, held, now, *short), now)).values()) == {"training-0001"}


def test_a_job_of_the_reservation_is_promised_its_start_and_begins_with_the_window() -> None:
    found, held = read()
    own = gang("own", queue="research", limit=5 * HOUR, reservation="morning")
    now = BEGINS - HOUR
    before = plan(world(found, held, now, own), now)
    assert (started(before), [each.cause for each in before.refusals]) == ({}, [Cause.RESERVATION])
    assert [(each.start, each.pods[0].node) for each in before.promises] == [(BEGINS, "training-0000")]
    assert started(plan(world(found, held, BEGINS, own), BEGINS)) == {"own": "training-0000"}


def test_strangers_are_told_to_go_when_the_window_begins_and_its_own_when_it_is_over() -> None:
    found, held = read("lead: {time: 30m}")
    made = world(found, held, BEGINS - HOUR, gang("a", limit=None), gang("b", limit=None))
    made.apply(plan(made, BEGINS - HOUR), BEGINS - HOUR)
    (there,) = (each for each in made.running.values() if each.pods[0].node == held[0].nodes[0])

    def told(now: int) -> list[str]:
        return [each.request for each in told_to_go(held, tuple(made.running.values()), names_it, now)]

    assert (told(BEGINS - 1), told(BEGINS)) == ([], [there.request.id])
    made.ended(there.request.id, BEGINS)
    own = gang("own", queue="research", limit=None, reservation="morning")
    later = world(found, held, BEGINS, own)
    later.apply(plan(later, BEGINS), BEGINS)
    made.running = dict(later.running)
    assert (told(BEGINS), told(BEGINS + 2 * HOUR)) == ([], ["own"])
