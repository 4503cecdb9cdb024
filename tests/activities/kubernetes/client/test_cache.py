"""What lists and events change in a picture of objects, and what they leave as it is."""

from datetime import UTC, datetime
from typing import Any

from activities.adapters.kubernetes.cache import Change, KindCache, Watched
from activities.adapters.kubernetes.kinds import Kind

THEN = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
NOW = datetime(2026, 1, 1, 12, 5, tzinfo=UTC)


def item(name: str, version: int, uid: str = "", **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": uid or f"uid-{name}", "resourceVersion": str(version)}, **more}


def told(changes: list[Change]) -> list[tuple[str, str, datetime]]:
    """(name, what, when) of each change."""
    what = {(True, False): "appeared", (False, False): "changed", (False, True): "gone"}
    return [(each.name, what[each.old is None, each.new is None], each.at) for each in changes]


def test_a_list_tells_what_is_gone_then_what_is_new_or_changed() -> None:
    cache = KindCache(Watched(Kind.POD))
    cache.replace([item("a", 1), item("b", 2), item("c", 3)], THEN, None)
    changes = cache.replace([item("b", 2), item("c", 7), item("d", 8)], NOW, THEN)
    assert told(changes) == [("a", "gone", THEN), ("c", "changed", NOW), ("d", "appeared", NOW)]
    assert sorted(cache.snapshot()) == ["b", "c", "d"]


def test_another_object_of_the_name_is_an_end_and_a_beginning() -> None:
    for take in ("list", "event"):
        cache = KindCache(Watched(Kind.POD))
        cache.put(item("a", 1, "first"), THEN)
        second = item("a", 5, "second")
        changes = cache.replace([second], NOW, THEN) if take == "list" else cache.put(second, NOW)
        assert [what for _, what, _ in told(changes)] == ["gone", "appeared"]
        assert changes[0].old == item("a", 1, "first")
        assert changes[1].new == second


def test_what_is_known_already_is_not_told_again() -> None:
    cache = KindCache(Watched(Kind.POD))
    cache.put(item("a", 1), THEN)
    assert cache.put(item("a", 1), NOW) == []
    assert cache.replace([item("a", 1)], NOW, THEN) == []


def test_a_deletion_tells_the_last_state_and_spares_a_later_object_of_the_name() -> None:
    cache = KindCache(Watched(Kind.POD))
    cache.put(item("a", 1, status="running"), THEN)
    assert cache.remove(item("a", 2, "another"), NOW) == []
    (change,) = cache.remove(item("a", 3, status="failed"), NOW)
    assert (change.old, change.new) == (item("a", 3, status="failed"), None)
    assert cache.remove(item("a", 3), NOW) == []


def test_objects_are_trimmed_before_they_are_kept_and_told() -> None:
    def trim(found: dict[str, Any]) -> dict[str, Any]:
        return {"metadata": found["metadata"], "status": found["status"]}

    cache = KindCache(Watched(Kind.POD, trim=trim))
    (change,) = cache.put(item("a", 1, spec="large", status="s"), NOW)
    assert change.new == cache.get("a") == item("a", 1, status="s")
    (change,) = cache.remove(item("a", 2, spec="large", status="t"), NOW)
    assert change.old == item("a", 2, status="t")


def test_groups_follow_their_objects() -> None:
    cache = KindCache(Watched(Kind.POD, index=lambda found: found.get("group")))
    cache.replace([item("a", 1, group="x"), item("b", 2, group="x"), item("c", 3)], THEN, None)
    assert [each["metadata"]["name"] for each in cache.having("x")] == ["a", "b"]
    cache.put(item("a", 4, group="y"), NOW)
    cache.remove(item("b", 5, group="x"), NOW)
    assert cache.having("x") == []
    assert cache.having("y") == [item("a", 4, group="y")]


def test_a_snapshot_does_not_change() -> None:
    cache = KindCache(Watched(Kind.POD))
    cache.put(item("a", 1), THEN)
    before = cache.snapshot()
    cache.remove(item("a", 2), NOW)
    assert list(before) == ["a"]
    assert cache.snapshot() == {}
