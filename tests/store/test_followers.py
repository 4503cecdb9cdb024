"""Who is told of a job's end: everybody who followed it before, once, and nobody else."""

import threading
from collections.abc import Callable

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import NoResultFound

from activities.adapters.job_ends import SqlJobEnds
from activities.adapters.journal import SqlJournal
from activities.job import entry
from definitions.facts import JobEnded
from definitions.ids import new_id
from definitions.job import Job
from definitions.states import FailureClass, Phase
from definitions.submission import JobSubmission
from store import followers, jobs, outbox, system
from store.engine import reading, session, transaction
from store.intake import Origin, accept
from store.system import Word
from store.tables_jobs import JobRow
from tests.store.builders import HERE, NOW, OTHERS, add_job, document, event, state_of
from tests.support.polling import eventually


def follow(engine: Engine, job: str, follower: str, where: tuple[str, str] = HERE) -> JobEnded | None:
    return transaction(engine, lambda active: followers.follow(active, *where, job, follower))


def told(engine: Engine) -> list[tuple[str, JobEnded]]:
    with reading(engine) as active:
        found = outbox.waiting(active, followers.TOPIC, 1000)
    return [(message.target, JobEnded.model_validate(message.body)) for message in found]


def write_end(engine: Engine, row: JobRow, phase: Phase = Phase.SUCCEEDED, count: int = 5) -> None:
    failure = FailureClass.USER_ERROR if phase is Phase.FAILED else None
    SqlJournal(engine).write(entry(state_of(row, phase, count, failure=failure)))


def refuse(engine: Engine, row: JobRow) -> None:
    with session(engine) as active:
        assert system.refuse_start(active, row.id, NOW, event(1, "refused", "the engine refuses it"))


# Every way in which a job that is there comes to its end -> how it has ended then.
ENDS: dict[str, tuple[Callable[[Engine, JobRow], None], Phase]] = {
    "succeeds": (write_end, Phase.SUCCEEDED),
    "fails": (lambda engine, row: write_end(engine, row, Phase.FAILED), Phase.FAILED),
    "is cancelled": (lambda engine, row: write_end(engine, row, Phase.CANCELLED), Phase.CANCELLED),
    "is refused by the engine": (refuse, Phase.FAILED),
}


@pytest.mark.parametrize("how", ENDS)
def test_every_follower_is_left_a_message_when_the_job_ends_however_it_ends(engine: Engine, how: str) -> None:
    end, phase = ENDS[how]
    row, other = add_job(engine), add_job(engine, "other")
    assert follow(engine, row.id, "b" * 26) is None
    assert follow(engine, row.id, "a" * 26) is None
    assert follow(engine, row.id, "a" * 26) is None
    assert follow(engine, other.id, "c" * 26) is None
    assert told(engine) == []
    end(engine, row)
    words = told(engine)
    assert {target for target, _ in words} == {f"job/acme/{'a' * 26}", f"job/acme/{'b' * 26}"}
    assert {(word.job, word.name, word.phase) for _, word in words} == {(row.id, "digits", phase)}
    assert {word.failure is None for _, word in words} == {phase is not Phase.FAILED}


def test_an_end_that_is_written_again_is_told_once(engine: Engine) -> None:
    row = add_job(engine)
    follow(engine, row.id, "a" * 26)
    for count in (5, 5, 6):
        write_end(engine, row, count=count)
    assert len(told(engine)) == 1


def test_an_entry_that_does_not_end_the_job_tells_nobody(engine: Engine) -> None:
    row = add_job(engine)
    follow(engine, row.id, "a" * 26)
    SqlJournal(engine).write(entry(state_of(row, Phase.COLLECTING, 4)))
    assert told(engine) == []


def test_who_follows_a_job_that_has_ended_hears_of_it_at_once(engine: Engine) -> None:
    row = add_job(engine)
    write_end(engine, row, Phase.FAILED)
    word = follow(engine, row.id, "a" * 26)
    assert word is not None
    assert (word.job, word.phase, word.failure) == (row.id, Phase.FAILED, FailureClass.USER_ERROR)
    assert told(engine) == []
    with reading(engine) as active:
        assert followers.of(active, *HERE, row.id) == []


@pytest.mark.parametrize("where", OTHERS)
def test_nobody_follows_a_job_of_another_tenant_or_project(engine: Engine, where: tuple[str, str]) -> None:
    row = add_job(engine)
    with pytest.raises(NoResultFound):
        follow(engine, row.id, "a" * 26, where)
    follow(engine, row.id, "b" * 26)
    with session(engine) as active:
        assert followers.of(active, *where, row.id) == []
    with session(engine) as active:
        assert followers.forget(active, "rival", row.id) == 0
        assert followers.of(active, *HERE, row.id) == ["b" * 26]


def test_words_are_listed_page_by_page_with_whether_anybody_can_hear_them(engine: Engine) -> None:
    row = add_job(engine, "prepare")
    rows = {name: add_job(engine, name) for name in ("new", "begun", "over")}
    for each in rows.values():
        follow(engine, row.id, each.id)
    follow(engine, row.id, "0" * 26)  # never accepted
    with session(engine) as active:
        system.acknowledge_starts(active, [rows["begun"].id, rows["over"].id], NOW)
    write_end(engine, rows["over"])
    write_end(engine, row)
    found: list[Word] = []
    with reading(engine) as active:
        assert system.words_of_ends(active, 0) == []
        while page := system.words_of_ends(active, 3, found[-1] if found else None):
            found += page
    hears = {word.target.rsplit("/", 1)[1]: (word.begun, word.over) for word in found}
    assert len(found) == 4
    assert hears == {
        rows["new"].id: (False, False),
        rows["begun"].id: (True, False),
        rows["over"].id: (True, True),
        "0" * 26: (True, True),
    }


def test_a_purge_removes_what_the_job_followed_and_who_followed_it(engine: Engine) -> None:
    first, second, third = add_job(engine, "a"), add_job(engine, "b"), add_job(engine, "c")
    follow(engine, first.id, second.id)
    follow(engine, second.id, third.id)
    follow(engine, first.id, third.id)
    write_end(engine, second)
    with session(engine) as active:
        assert jobs.delete(active, *HERE, second.id, NOW, event(9))
        system.mark_purged(active, second, NOW)
        assert (followers.of(active, *HERE, first.id), followers.of(active, *HERE, second.id)) == ([third.id], [])


def test_of_many_who_follow_while_the_job_ends_each_is_told_or_sees_the_end_and_none_both(engine: Engine) -> None:
    """Fifty threads against the one that writes the end; some come before it and some after."""
    row = add_job(engine)
    names = [f"{number:026d}" for number in range(50)]
    ready, seen = threading.Barrier(len(names) + 1), dict[str, JobEnded | None]()

    def one(follower: str) -> None:
        ready.wait()
        seen[follower] = follow(engine, row.id, follower)

    threads = [threading.Thread(target=one, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    ready.wait()
    write_end(engine, row)
    for thread in threads:
        thread.join()
    by_message = {target.rsplit("/", 1)[1] for target, _ in told(engine)}
    at_once = {name for name, word in seen.items() if word is not None}
    assert by_message | at_once == set(names)
    assert by_message & at_once == set()


def accept_after(engine: Engine, name: str, other: str) -> JobRow:
    job = Job.model_validate(document(name, after=[{"job": other}], workdir={"mode": "none"}))
    origin = Origin(id=new_id(), tenant=HERE[0], owner="ada", seed="5" * 32)
    return transaction(engine, lambda active: accept(active, job, JobSubmission(), origin, NOW))


def test_of_many_jobs_accepted_while_the_other_ends_each_is_told_or_was_told_so_at_acceptance(engine: Engine) -> None:
    row = add_job(engine, "prepare")
    ready, made = threading.Barrier(31), dict[str, JobRow]()

    def one(name: str) -> None:
        ready.wait()
        made[name] = accept_after(engine, name, "prepare")

    threads = [threading.Thread(target=one, args=(f"train-{number}",)) for number in range(30)]
    for thread in threads:
        thread.start()
    ready.wait()
    write_end(engine, row, Phase.FAILED)
    for thread in threads:
        thread.join()
    by_message = {target.rsplit("/", 1)[1] for target, _ in told(engine)}
    at_once = set()
    for accepted in made.values():
        (awaited,) = JobSubmission.model_validate(accepted.submission).after
        if awaited.phase is not None:
            assert (awaited.phase, awaited.failure) == (Phase.FAILED, FailureClass.USER_ERROR)
            at_once.add(accepted.id)
    assert len(made) == 30
    assert by_message | at_once == {accepted.id for accepted in made.values()}
    assert by_message & at_once == set()


def test_who_comes_while_the_end_is_being_written_waits_for_it_and_sees_it(postgres_engine: Engine) -> None:
    engine = postgres_engine
    row = add_job(engine, "prepare")
    seen: list[JobEnded | None] = []
    late = threading.Thread(target=lambda: seen.append(follow(engine, row.id, "a" * 26)))
    with session(engine) as active:
        held = active.get_one(JobRow, row.id, with_for_update=True)
        held.phase, held.ended_at = Phase.SUCCEEDED, NOW
        assert followers.tell(active, held) == 0
        late.start()
        eventually(lambda: _blocked(engine))
    late.join()
    assert [word.phase for word in seen if word is not None] == [Phase.SUCCEEDED]


def _blocked(engine: Engine) -> int:
    with reading(engine) as active:
        waiting = text("select count(*) from pg_stat_activity where wait_event_type = 'Lock'")
        return active.scalar(waiting) or 0


def test_two_that_wait_for_the_same_jobs_in_another_order_never_wait_for_each_other(engine: Engine) -> None:
    for name in "ab":
        add_job(engine, name)
    found: list[JobRow] = []

    def one(number: int) -> None:
        order = [{"job": name} for name in ("ab" if number % 2 else "ba")]
        job = Job.model_validate(document(f"train-{number}", after=order, workdir={"mode": "none"}))
        origin = Origin(id=new_id(), tenant=HERE[0], owner="ada", seed="5" * 32)
        with session(engine) as active:  # a deadlock is not tried again here
            found.append(accept(active, job, JobSubmission(), origin, NOW))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20


@pytest.mark.parametrize("phase", list(Phase))
def test_whoever_is_accepted_in_any_phase_of_the_other_hears_of_its_end_once(engine: Engine, phase: Phase) -> None:
    row = add_job(engine, "prepare")
    SqlJournal(engine).write(entry(state_of(row, phase, 3)))
    accepted = accept_after(engine, "train", row.id)
    (awaited,) = JobSubmission.model_validate(accepted.submission).after
    assert (awaited.phase is not None) == phase.is_final
    write_end(engine, row, phase if phase.is_final else Phase.SUCCEEDED)
    assert len(told(engine)) == (0 if phase.is_final else 1)


def test_what_has_ended_is_found_again_also_when_it_was_deleted_and_purged(engine: Engine) -> None:
    done, gone, going = (add_job(engine, name) for name in ("done", "gone", "going"))
    elsewhere = add_job(engine, "done", OTHERS[1])
    for row in (done, gone, elsewhere):
        write_end(engine, row)
    with session(engine) as active:
        assert jobs.delete(active, *HERE, gone.id, NOW, event(9))
        system.mark_purged(active, gone, NOW)
    asked = tuple(row.id for row in (done, gone, going, elsewhere))
    ends = SqlJobEnds(engine).ended(*HERE, asked)
    assert {end.job for end in ends} == {done.id, gone.id}
