"""Names and labels are valid and tell apart, whatever a job is called."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.adapters.kubernetes import naming
from activities.ports import PortError
from definitions.attempt import AttemptRef

DNS = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")  # what Services want, the strictest of them
VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?")
POD_SUFFIX = len("-99999-abcde")

texts = st.text(max_size=80)
words = st.text(string.ascii_letters + string.digits + "-_.äß", min_size=1, max_size=80)
refs = st.builds(
    AttemptRef,
    tenant=words,
    project=words,
    job=words,
    number=st.integers(1, 9_999_999),
    token=st.text("0123456789abcdef", min_size=32, max_size=32),
)


@given(refs, texts)
def test_names_are_dns_labels_of_at_most_forty_characters(ref: AttemptRef, name: str) -> None:
    base = naming.object_name(ref, name)
    assert len(base) <= 40
    assert DNS.fullmatch(base)
    assert DNS.fullmatch(naming.claim_name(ref, name))
    assert len(naming.keeper_name(base, "abcdef")) + POD_SUFFIX <= 63
    assert len(base) + POD_SUFFIX <= 63


@given(refs)
def test_label_values_are_valid(ref: AttemptRef) -> None:
    for value in naming.labels(ref).values():
        assert len(value) <= 63
        assert VALUE.fullmatch(value)


@given(texts, texts)
def test_different_texts_are_different_label_values(one: str, other: str) -> None:
    assert (naming.label_value(one) == naming.label_value(other)) == (one == other)


@given(refs, refs, texts)
def test_different_attempts_have_different_names(one: AttemptRef, other: AttemptRef, name: str) -> None:
    same = (one.tenant, one.project, one.job, one.number) == (other.tenant, other.project, other.job, other.number)
    assert (naming.object_name(one, name) == naming.object_name(other, name)) == same


@given(refs)
def test_an_object_says_whose_it_is(ref: AttemptRef) -> None:
    meta = {"annotations": {naming.REF: ref.model_dump_json()}}
    assert naming.ref_of({"metadata": meta}) == ref


@pytest.mark.parametrize("meta", [{}, {"annotations": {}}, {"annotations": {naming.REF: "{"}}])
def test_what_says_nothing_belongs_to_nobody(meta: dict[str, object]) -> None:
    assert naming.ref_of({"metadata": meta}) is None


@pytest.mark.parametrize("changes", [{"token": "x" * 32}, {"token": "ab"}])
def test_what_is_no_token_is_refused(changes: dict[str, str]) -> None:
    ref = AttemptRef(tenant="t", project="p", job="j", number=1, token="ab" * 16).model_copy(update=changes)
    with pytest.raises(PortError) as refused:
        naming.labels(ref)
    assert refused.value.code == "PD-3150"
