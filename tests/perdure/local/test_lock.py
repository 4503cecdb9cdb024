"""The lock on a home lives as long as any process that inherited it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perdure.local.errors import LocalError
from perdure.local.lock import acquire, holders, is_held

WAIT_FOR_INPUT = "import sys; sys.stdin.read()"


def test_a_free_lock_is_taken_and_freed(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    assert not is_held(lock)
    assert not lock.exists()
    descriptor = acquire(lock)
    assert is_held(lock)
    os.close(descriptor)
    assert not is_held(lock)
    assert lock.stat().st_mode & 0o777 == 0o600


def test_an_orphan_that_inherited_the_lock_keeps_the_home_closed_and_is_named(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    descriptor = acquire(lock)
    command = [sys.executable, "-c", WAIT_FOR_INPUT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=(descriptor,)) as orphan:
        os.close(descriptor)
        assert is_held(lock)
        assert holders(lock) == [orphan.pid]
        with pytest.raises(LocalError, match=rf"{tmp_path} is in use by pid {orphan.pid} \(.*\[PD-4001\]"):
            acquire(lock)
    assert not is_held(lock)
    os.close(acquire(lock))


def test_looking_at_a_lock_takes_nothing_away(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    descriptor = acquire(lock)
    assert is_held(lock)
    assert is_held(lock)
    os.close(descriptor)
