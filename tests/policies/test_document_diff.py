"""Differences between documents, and laying one over another."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.document_diff import changes, merged

documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
solid = documents.filter(lambda document: document is not None)


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("a", 1, 2)]),
        ({"a": 1}, {"a": True}, [("a", 1, True)]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, [("a.b[1]", 2, 3)]),
        ({"a": [1]}, {"a": [1, 2]}, [("a", [1], [1, 2])]),
        ({"a": 1, "b": 2}, {"c": 3, "b": 2}, [("c", None, 3), ("a", 1, None)]),
    ],
)
def test_each_difference_is_named_with_both_values(before: Any, after: Any, wanted: list[Any]) -> None:
    assert [(change.path, change.before, change.after) for change in changes(before, after)] == wanted


@given(documents)
def test_a_document_does_not_differ_from_itself(document: Any) -> None:
    assert changes(document, document) == []


@given(solid, solid)
def test_documents_that_differ_are_told_apart(before: Any, after: Any) -> None:
    if before != after and not (isinstance(before, dict) and isinstance(after, dict)):
        assert changes(before, after) != []


@pytest.mark.parametrize(
    ("document", "overrides", "wanted"),
    [
        ({"a": 1, "b": 2}, {}, {"a": 1, "b": 2}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}}, {"a": {"x": 1, "y": 3}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": 1}, {"a": {"b": 2}}, {"a": {"b": 2}}),
    ],
)
def test_overrides_replace_what_they_name_and_nothing_else(document: Any, overrides: Any, wanted: Any) -> None:
    kept = repr(document)
    assert merged(document, overrides) == wanted
    assert repr(document) == kept
