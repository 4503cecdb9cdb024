"""A sweeper in a process of its own that dies at its n-th deletion of an object: `url home objects before|after n`."""

import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

from activities.adapters.local.runtime import LocalRuntime
from activities.adapters.objects_folder import FolderObjects
from activities.adapters.secrets import SqlSecrets
from store.engine import open_engine
from store.sealing import Keys
from tests.store.builders import NOW
from workers.sweeper import Sweeper


class Deadly(FolderObjects):
    """The real folder store; its n-th deletion is the end, before it is done or after."""

    def __init__(self, root: Path, side: str, number: int) -> None:
        super().__init__(root)
        self._side = side
        self._left = number

    def delete(self, key: str) -> bool:
        self._left -= 1
        if self._left == 0 and self._side == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = super().delete(key)
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer


def main(url: str, home: str, objects: str, side: str, number: str) -> None:
    engine = open_engine(url)
    store = Deadly(Path(objects), side, int(number))
    runtime = LocalRuntime(Path(home), SqlSecrets(engine, Keys([b"k" * 32])), store)
    Sweeper(engine, runtime, store, now=lambda: NOW + timedelta(days=8)).sweep()


if __name__ == "__main__":
    main(*sys.argv[1:])
