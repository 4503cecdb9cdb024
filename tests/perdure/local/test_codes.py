"""The light part's codes are the registry's."""

from definitions import error_codes_local
from definitions.errors import all_codes, lookup
from perdure.local.errors import CODES


def test_both_tables_say_the_same() -> None:
    for code in CODES:
        entry = lookup(code.code)
        assert (entry.title, int(entry.exit), entry.why, entry.remedy) == (
            code.title,
            int(code.exit),
            code.why,
            code.remedy,
        )


def test_the_embedded_stack_keeps_to_its_range() -> None:
    assert error_codes_local.__doc__ is not None
    assert all(4000 <= int(code.code.removeprefix("PD-")) < 4500 for code in CODES)
    assert [entry.code for entry in all_codes() if entry.code.startswith("PD-40")] != []
