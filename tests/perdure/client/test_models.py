"""The generated models are those of the API's description, and final phases are those of the server."""

import json

from definitions import states
from perdure.cli.options import PhaseName
from perdure.client import _models as models
from perdure.client.phases import FINAL
from tests.perdure.client_models import SOURCE, TARGET
from tests.perdure.client_models import models as generated


def test_the_models_are_up_to_date() -> None:
    assert TARGET.read_text() == generated(), "run `make client-models`"


def test_final_phases_are_the_servers() -> None:
    assert {phase.value for phase in FINAL} == {phase.value for phase in states.Phase if phase.is_final}


def test_phases_of_the_command_line_are_the_apis() -> None:
    assert [phase.value for phase in PhaseName] == json.loads(SOURCE.read_text())["components"]["schemas"]["Phase"][
        "enum"
    ]
    assert {phase.value for phase in PhaseName} == {phase.value for phase in models.Phase}
