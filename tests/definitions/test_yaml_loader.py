"""Reading YAML: 1.2 core scalars, places on every fault, and bounds that no text gets around."""

import json
import re
import time
from contextlib import suppress

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from definitions.spec_errors import SpecError, SpecIssue
from definitions.yaml_loader import load
from tests.definitions.strategies import json_values, texts, yaml_like


def data(text: str | bytes) -> list[object]:
    return [document.data for document in load(text, source="job.yaml")]


def fault(text: str | bytes) -> SpecIssue:
    with pytest.raises(SpecError) as refused:
        load(text, source="job.yaml")
    assert len(refused.value.issues) == 1, refused.value
    return refused.value.issues[0]


def faults(text: str | bytes) -> tuple[SpecIssue, ...]:
    try:
        load(text, source="x")
    except SpecError as error:
        return error.issues
    return ()


@pytest.mark.parametrize(
    ("word", "value"),
    [
        *[(word, None) for word in ("", "~", "null", "Null", "NULL")],
        *[(word, True) for word in ("true", "True", "TRUE")],
        *[(word, False) for word in ("false", "False", "FALSE")],
        ("0", 0),
        ("-12", -12),
        ("+12", 12),
        ("0o17", 15),
        ("0x1F", 31),
        ("1.5", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("-1.5E-2", -0.015),
        (".inf", float("inf")),
        ("1e999", float("inf")),
        ("-.Inf", float("-inf")),
        ("nUll", "nUll"),
        ("tRue", "tRue"),
        ("y", "y"),
        ("n", "n"),
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("1.2.3", "1.2.3"),
        ("0o8", "0o8"),
        ("=", "="),
        ("10Gi", "10Gi"),
    ],
)
def test_an_unquoted_word_is_what_yaml_1_2_says(word: str, value: object) -> None:
    assert data(f"a: {word}") == [{"a": value}]


@pytest.mark.parametrize(
    ("word", "old", "write"),
    [
        ("12:00:00", "43200", '"12:00:00"'),
        ("1:30", "90", '"1:30"'),
        ("NO", "false", '"NO" or false'),
        ("yes", "true", '"yes" or true'),
        ("on", "true", '"on" or true'),
        ("Off", "false", '"Off" or false'),
        ("0777", "511", '"0777" for the text, or 777'),
        ("-010", "-8", '"-010" for the text, or -10'),
        ("08", "text", '"08" for the text, or 8'),
        ("1_000", "1000", '"1_000" or 1000'),
        ("0b101", "5", '"0b101" or 5'),
    ],
)
def test_a_word_that_tools_read_differently_is_refused_with_both_ways_out(word: str, old: str, write: str) -> None:
    found = fault(f"a:\n  b: {word}\n")
    assert (found.code, found.line, found.column) == ("PD-1010", 2, 6)
    assert old in found.what
    assert write in found.fix
    assert data(f'a:\n  b: "{word}"\n') == [{"a": {"b": word}}], "quoted, it is text"


@pytest.mark.parametrize(
    ("text", "code", "place", "says"),
    [
        ("a: 1\nb: 2\na: 3\n", "PD-1004", (3, 1), "on line 1, column 1"),
        ('"a": 1\na: 3\n', "PD-1004", (2, 1), "written twice"),
        ("1: x\n", "PD-1008", (1, 1), "1 is not text"),
        ("a:\n  true: x\n", "PD-1008", (2, 3), "true is not text"),
        ("? [a]\n: b\n", "PD-1008", (1, 3), "list or mapping"),
        ("x: {<<: {a: 1}}\n", "PD-1009", (1, 5), "<<"),
        ("a: !!python/object:os.system x\n", "PD-1007", (1, 4), "!!python/object:os.system"),
        ("a: !mine [1]\n", "PD-1007", (1, 4), "!mine"),
        ("a: !!bool 3\n", "PD-1007", (1, 4), "!!bool"),
        ("%YAML 1.1\n---\na: 1\n", "PD-1013", (1, 1), "version"),
        ("a: *b\n", "PD-1006", (1, 4), "&b"),
        ("a: &b [*b]\n", "PD-1006", (1, 8), "never ends"),
        ("cron:\n- */5 * * * *\n", "PD-1006", (2, 4), "*"),
        ("a:\n\tb: 1\n", "PD-1011", (2, 1), "tab"),
        ("a: b: c\n", "PD-1003", (1, 5), "second ': '"),
        ("a: 'x\n", "PD-1003", (1, 4), "quote"),
        ("a: [1, 2\nb: 3\n", "PD-1003", (1, 4), "bracket"),
        ("a:\n  b: 1\n c: 2\n", "PD-1003", (3, 2), "indentation"),
        ("a: @x\n", "PD-1003", (1, 4), "cannot begin"),
        ('a: "\\q"\n', "PD-1003", (1, 6), "escape"),
        ('a: "\\U99999999"\n', "PD-1003", (1, 2), "escape"),
        ('a: "\\ud800"\n', "PD-1001", (1, 4), "half a character"),
        ("a: " + "9" * 500 + "\n", "PD-1106", (1, 4), "too many digits"),
        ("a: 1\nb: \x07\n", "PD-1001", (2, 4), "U+0007"),
        ("a\0", "PD-1001", (1, 2), "NUL"),
        (b"a: 1\nb: \xff\n", "PD-1001", (2, 4), "0xff"),
    ],
)
def test_a_fault_has_its_place_and_says_what_to_do(
    text: str | bytes, code: str, place: tuple[int, int], says: str
) -> None:
    found = fault(text)
    assert (found.code, (found.line, found.column)) == (code, place)
    assert says in found.what
    assert found.fix


def test_an_excerpt_shows_the_line_with_a_caret_below_the_place() -> None:
    assert fault("a: 1\nb: [NO]\n").excerpt == "    2 | b: [NO]\n      |     ^"
    long = fault("a: " + "x " * 200 + "\nb: " + "z" * 300 + " : y: q")
    line, caret = long.excerpt.split("\n")
    assert len(line) <= 110
    assert caret.index("^") < len(line)


@pytest.mark.parametrize("text", [b"\xff\xfea\0", b"\xfe\xff\0a", "a: 1".encode("utf-16")])
def test_other_encodings_are_named(text: bytes) -> None:
    assert "UTF-16" in fault(text).what


def test_a_byte_order_mark_of_utf_8_and_windows_line_ends_do_no_harm() -> None:
    assert data(b"\xef\xbb\xbfa: 1\r\nb: x\r\n") == [{"a": 1, "b": "x"}]


def test_several_faults_are_reported_at_once_in_the_order_of_the_text() -> None:
    with pytest.raises(SpecError) as refused:
        load("a: 1\na: NO\nb: !x 1\n---\n<<: {}\n", source="job.yaml")
    assert [(issue.line, issue.code) for issue in refused.value.issues] == [
        (2, "PD-1004"),
        (2, "PD-1010"),
        (3, "PD-1007"),
        (5, "PD-1009"),
    ]


def test_documents_are_separate_and_empty_ones_are_left_out() -> None:
    assert data("a: 1\n---\n# nothing\n---\nb: 2\n...\n") == [{"a": 1}, {"b": 2}]
    assert data("# only a comment\n") == []


def test_aliases_repeat_what_was_anchored() -> None:
    assert data("a: &x {k: [1]}\nb: *x\nc: &y z\nd: *y\n") == [{"a": {"k": [1]}, "b": {"k": [1]}, "c": "z", "d": "z"}]


def test_core_tags_decide_the_type() -> None:
    assert data('a: !!str 3.10\nb: !!int "3"\nc: !!float 3\nd: ! 12\n') == [{"a": "3.10", "b": 3, "c": 3, "d": "12"}]


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines)


DEEP = {
    "500 brackets": "[" * 500,
    "500 braces": '{"a":' * 500,
    "500 dashes": "- " * 500 + "a",
    "500 question marks": "? " * 500 + "a",
    "500 indents": "\n".join(" " * n + "a:" for n in range(500)),
    "100000 brackets": "[" * 100_000,
    "depth by aliases": "a: &a " + "[" * 40 + "]" * 40 + "\nb: " + "[" * 40 + "*a" + "]" * 40,
}


@pytest.mark.parametrize("name", DEEP)
def test_depth_is_bounded_however_it_is_made(name: str) -> None:
    assert fault(DEEP[name]).code == "PD-1005"


@pytest.mark.parametrize("text", [bomb(9), bomb(60), "[" + "a," * 11_000 + "]"])
def test_what_aliases_expand_to_is_bounded(text: str) -> None:
    began = time.monotonic()
    assert fault(text).code == "PD-1002"
    assert time.monotonic() - began < 10


def test_size_is_bounded_in_bytes() -> None:
    assert data("a: " + "x" * 262_000)
    assert fault("é" * 131_073).code == "PD-1002"


@given(json_values, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_json_is_read_as_json(value: object, indent: int | str | None, ascii_only: bool) -> None:
    text = json.dumps({"value": value}, indent=indent, ensure_ascii=ascii_only)
    if ascii_only or all(character.isprintable() for character in text):
        assert data(text) == [json.loads(text)]


old_texts = texts.filter(lambda text: not re.fullmatch(r"0o[0-7]+|0x[0-9a-fA-F]+|[-+]?[0-9.]+[eE]?[-+]?[0-9]*", text))


@given(old_texts, old_texts)
def test_plain_yaml_means_what_other_readers_say(key: str, value: str) -> None:
    text = yaml.safe_dump({key: [value, {"k": value}]}, allow_unicode=True)
    with suppress(SpecError):  # what tools disagree about is refused; what is accepted must agree
        assert data(text) == [yaml.safe_load(text)]


@given(yaml_like | st.text() | st.binary(max_size=60))
@example("\ud800")
@example('"\\U99999999"')
@example("%TAG ! tag:x,2000:\n--- !a\n")
@example("? &a ? *a\n: b")
def test_no_text_raises_anything_but_a_document_error(text: str | bytes) -> None:
    issues = faults(text)
    assert all(issue.code and issue.what and issue.fix for issue in issues)
    assert all("\n" in issue.text() for issue in issues)
