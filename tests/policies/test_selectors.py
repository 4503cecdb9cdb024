"""Label selectors: what they select, and how one that cannot be read is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions.errors import PerdureError
from definitions.selectors import Operator, Requirement
from policies.selectors import format_selector, matches, parse_selector

LABELS = {"team": "vision", "stage": "dev", "example.org/size": "7b", "draft": ""}

KEYS = st.from_regex(r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", fullmatch=True)
VALUES = st.from_regex(r"([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?", fullmatch=True)
REQUIREMENTS = st.one_of(
    st.builds(Requirement, key=KEYS, operator=st.sampled_from([Operator.EQUALS, Operator.DIFFERS]), value=VALUES),
    st.builds(Requirement, key=KEYS, operator=st.sampled_from([Operator.EXISTS, Operator.ABSENT])),
)


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("  ", True),
        ("team=vision", True),
        ("team==vision", True),
        (" team = vision , stage != test ", True),
        ("team=Vision", False),
        ("team!=vision", False),
        ("owner!=ben", True),
        ("example.org/size=7b", True),
        ("draft", True),
        ("draft=", True),
        ("draft!=", False),
        ("!draft", False),
        ("!final", True),
        ("final", False),
        ("team=vision,!draft", False),
    ],
)
def test_a_selector_selects_what_fulfils_every_condition(text: str, selected: bool) -> None:
    assert matches(parse_selector(text), LABELS) == selected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("team=vision,", "condition 2 of the selector is empty"),
        (",", "condition 1 of the selector is empty"),
        ("=vision", "condition 1"),
        ("team=a=b", "'team=a=b'"),
        ("team=a b", "'team=a b'"),
        ("team>3", "'team>3'"),
        ("!team=x", "'!team=x'"),
        ("!!team", "'!!team'"),
        ("Example.org/size=1", "'Example.org/size=1'"),
        ("team='vision'", "cannot be read"),
        ("a" * 2001, "at most 2000 characters"),
        (",".join(["a"] * 33), "at most 32 conditions"),
    ],
)
def test_a_selector_that_cannot_be_read_is_refused_naming_the_part(text: str, words: str) -> None:
    with pytest.raises(PerdureError, match=words) as refused:
        parse_selector(text)
    assert refused.value.code.code == "PD-3704"


@given(st.lists(REQUIREMENTS, max_size=5).map(tuple))
def test_a_selector_that_is_written_is_read_back(selector: tuple[Requirement, ...]) -> None:
    assert parse_selector(format_selector(selector)) == selector


@given(REQUIREMENTS, st.dictionaries(KEYS, VALUES, max_size=3))
def test_a_condition_and_its_opposite_never_agree(requirement: Requirement, labels: dict[str, str]) -> None:
    opposite = {
        Operator.EQUALS: Operator.DIFFERS,
        Operator.DIFFERS: Operator.EQUALS,
        Operator.EXISTS: Operator.ABSENT,
        Operator.ABSENT: Operator.EXISTS,
    }
    other = requirement.model_copy(update={"operator": opposite[requirement.operator]})
    assert matches((requirement,), labels) != matches((other,), labels)
