"""What every ObjectStore keeps to. Subclass `ObjectStoreContract` and give it an `objects` fixture."""

import hashlib
import io
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activities.object_keys import AMBIGUOUS
from activities.ports import ObjectInfo, ObjectStore, PortError

REFUSED_KEYS = [
    "", "/absolute", "a//b", "a/", "./a", "a/.", "a/../b", "..", "a\\b", "a%2e%2e/b", "a%00", "a\0b", "a?versionId=1",
    " ", "a/ ", "a/. /b", "a/\u00a0../b", "a#fragment", "a\nb", "a\x7f", "a/" + "x" * 241, "x/" * 600 + "x", "\ud800",
]  # fmt: skip
ALLOWED_KEYS = ["a", "t/p/snapshots/0f.tar.gz", "a b/c", "é/😊", "..a/b..", "~/.hidden", "a=b&c;d,e@f!(g)'h'+i*j"]

segments = st.text(st.sampled_from("ab-.0~ é"), min_size=1, max_size=4).filter(
    lambda text: text.strip() not in AMBIGUOUS
)
keys = st.lists(segments, min_size=1, max_size=3).map("/".join)


def info(key: str, content: bytes) -> ObjectInfo:
    return ObjectInfo(key=key, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


def read(objects: ObjectStore, key: str) -> bytes:
    with objects.get(key) as blob:
        return blob.read()


class Failing(io.BytesIO):
    """A source that breaks off midway."""

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() >= 10:
            raise ConnectionResetError("the source is gone")
        return super().read(5)


class Slow(io.BytesIO):
    """A source that waits, after its first bytes, until it is let go."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell():
            self.begun.set()
            assert self.go_on.wait(20)
        return super().read(4)


class ObjectStoreContract:
    @pytest.mark.parametrize("key", ALLOWED_KEYS)
    @pytest.mark.parametrize("content", [b"", b"some bytes", bytes(range(256)) * 5000])
    def test_what_is_put_is_got_back_described_and_listed(self, objects: ObjectStore, key: str, content: bytes) -> None:
        assert objects.put(key, io.BytesIO(content)) == info(key, content)
        assert read(objects, key) == content
        assert objects.stat(key) == info(key, content)
        assert objects.list("") == [info(key, content)]

    @pytest.mark.parametrize("key", REFUSED_KEYS)
    def test_a_key_that_could_mean_something_else_is_refused_by_every_call(
        self, objects: ObjectStore, key: str
    ) -> None:
        calls: list[Callable[[], object]] = [
            lambda: objects.put(key, io.BytesIO(b"x")),
            lambda: objects.put(key, io.BytesIO(b"x"), if_absent=True),
            lambda: objects.get(key),
            lambda: objects.stat(key),
            lambda: objects.delete(key),
        ]
        for call in calls:
            with pytest.raises(PortError) as refusal:
                call()
            assert (refusal.value.code, refusal.value.permanent) == ("PD-3406", True)
        assert objects.list("") == []

    def test_an_absent_object_is_a_permanent_error_to_get_and_none_to_stat(self, objects: ObjectStore) -> None:
        objects.put("a/b", io.BytesIO(b"x"))
        for key in ("nothing", "a", "a/b/c"):
            with pytest.raises(PortError) as refusal:
                objects.get(key)
            assert (refusal.value.code, refusal.value.permanent) == ("PD-3404", True)
            assert objects.stat(key) is None
            assert objects.delete(key) is False

    def test_a_second_put_replaces_the_first_unless_told_to_leave_it(self, objects: ObjectStore) -> None:
        objects.put("key", io.BytesIO(b"first"))
        assert objects.put("key", io.BytesIO(b"second"), if_absent=True) == info("key", b"first")
        assert read(objects, "key") == b"first"
        assert objects.put("key", io.BytesIO(b"third")) == info("key", b"third")
        assert (read(objects, "key"), objects.stat("key")) == (b"third", info("key", b"third"))

    def test_of_racing_writers_one_wins_and_all_are_told_which(self, objects: ObjectStore) -> None:
        contents = [f"writer {number}".encode() * 1000 for number in range(8)]
        start = threading.Barrier(len(contents))

        def write(content: bytes) -> ObjectInfo:
            start.wait()
            return objects.put("raced", io.BytesIO(content), if_absent=True)

        with ThreadPoolExecutor(len(contents)) as pool:
            answers = set(pool.map(write, contents))
        assert answers == {info("raced", read(objects, "raced"))}

    def test_racing_writers_that_replace_leave_one_whole_content(self, objects: ObjectStore) -> None:
        contents = [f"writer {number}".encode() * (number + 1) for number in range(6)]
        with ThreadPoolExecutor(len(contents)) as pool:
            list(pool.map(lambda content: objects.put("raced", io.BytesIO(content)), contents))
        final = read(objects, "raced")
        assert final in contents
        assert objects.stat("raced") == info("raced", final)

    def test_a_put_that_breaks_off_changes_nothing(self, objects: ObjectStore) -> None:
        objects.put("key", io.BytesIO(b"whole"))
        for key in ("key", "new"):
            with pytest.raises((PortError, ConnectionResetError)):
                objects.put(key, Failing(b"x" * 100))
        assert objects.list("") == [info("key", b"whole")]
        assert read(objects, "key") == b"whole"

    def test_readers_see_nothing_of_a_put_that_is_under_way(self, objects: ObjectStore) -> None:
        source = Slow(b"half and the other half")
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(objects.put, "key", source)
            assert source.begun.wait(20)
            seen = (objects.stat("key"), objects.list(""))
            source.go_on.set()
            assert writing.result(20) == info("key", source.getvalue())
        assert seen == (None, [])

    def test_an_open_object_can_be_read_to_its_end_after_it_was_replaced(self, objects: ObjectStore) -> None:
        objects.put("key", io.BytesIO(b"before"))
        with objects.get("key") as blob:
            objects.put("key", io.BytesIO(b"afterwards"))
            assert blob.read() == b"before"

    def test_deleting_is_safe_to_repeat_and_leaves_the_neighbours(self, objects: ObjectStore) -> None:
        for key in ("a/b", "a/b/c", "a/bc"):
            objects.put(key, io.BytesIO(key.encode()))
        assert [objects.delete("a/b"), objects.delete("a/b")] == [True, False]
        assert [blob.key for blob in objects.list("")] == ["a/b/c", "a/bc"]
        assert objects.put("a/b", io.BytesIO(b"new")) == info("a/b", b"new")

    def test_writers_and_deleters_of_one_folder_do_not_trip_over_each_other(self, objects: ObjectStore) -> None:
        def churn(number: int) -> None:
            for turn in range(15):
                key = f"deep/er/{number}-{turn}"
                objects.put(key, io.BytesIO(b"x"))
                assert objects.delete(key)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(churn, range(4)))
        assert objects.list("") == []

    @settings(
        max_examples=30,
        # The suite is run once for each store, on a store of the test's own that every example leaves empty.
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(
        there=st.sets(keys, max_size=12).map(lambda found: {key for key in found if not _is_below(key, found)}),
        prefix=keys.map(lambda key: key[:3]),
        after=st.none() | keys,
        limit=st.integers(1, 5),
    )
    def test_listing_is_by_prefix_in_key_order_after_a_key_and_up_to_a_limit(
        self, objects: ObjectStore, there: set[str], prefix: str, after: str | None, limit: int
    ) -> None:
        for key in there:
            objects.put(key, io.BytesIO(key.encode()))
        expected = sorted(key for key in there if key.startswith(prefix) and (after is None or key > after))
        assert objects.list(prefix, after=after, limit=limit) == [info(k, k.encode()) for k in expected[:limit]]
        assert [blob.key for blob in _pages(objects, limit)] == sorted(there)
        for key in there:
            objects.delete(key)


def _is_below(key: str, keys: set[str]) -> bool:
    """Whether another key would be a folder of this one. Both can be kept; not every store lists what lies below."""
    return any(key.startswith(other + "/") for other in keys)


def _pages(objects: ObjectStore, limit: int) -> Iterator[ObjectInfo]:
    after = None
    while page := objects.list("", after=after, limit=limit):
        yield from page
        after = page[-1].key
