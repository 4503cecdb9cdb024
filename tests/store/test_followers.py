"""Who is told of a job's end: everybody who followed it before, once, and nobody else."""

import threading
from collections.abc import Callable

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import NoResultFound

from activities.adapters.journal import SqlJournal
from activities.job import entry
from definitions.facts import JobEnded
from definitions.states import FailureClass, Phase
from store import followers, jobs, outbox, system
from store.engine import reading, session, transaction
from store.tables_jobs import JobRow
from tests.store.builders import HERE, NOW, OTHERS, add_job, event, state_of


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
