"""The client's own table of codes says what the registry says, and its exit codes are the registry's."""

from definitions import errors
from perdure import codes


def test_the_clients_codes_are_those_of_the_registry() -> None:
    registered = [code for code in errors.all_codes() if "PD-2900" <= code.code <= "PD-2999"]
    assert [(code.code, code.title, int(code.exit), code.why, code.remedy) for code in registered] == [
        (code.code, code.title, int(code.exit), code.why, code.remedy) for code in codes.ALL
    ]


def test_exit_codes_are_the_same_numbers() -> None:
    assert {each.name: each.value for each in codes.Exit} == {each.name: each.value for each in errors.Exit}
