"""Codes PD-4000 to PD-4499: what the embedded stack refuses.

The registry of all codes is the server's; a test holds this table and the registry together.
"""

from perdure.codes import Code, Exit
from perdure.errors import PerdureError

CODES: tuple[Code, ...] = (
    Code(
        "PD-4001",
        "Home in use",
        Exit.CONFLICT,
        "A process of a control plane holds the lock of that folder; two would destroy each other's state.",
        "Use the one that runs (perdure status), stop it (perdure down), or set PERDURE_HOME to another folder.",
    ),
    Code(
        "PD-4002",
        "Port taken",
        Exit.CONFLICT,
        "Another process listens on a port that the control plane needs. Nothing was written.",
        "Stop that process, or choose other ports with --port-api, --port-temporal, --port-ui and --port-metrics.",
    ),
    Code(
        "PD-4003",
        "Home not usable",
        Exit.USAGE,
        "The folder must be yours, writable, and on a disk of this machine: locks do not hold on shared file systems.",
        "Set PERDURE_HOME to a folder of your own on a local disk.",
    ),
    Code(
        "PD-4004",
        "Port setting not valid",
        Exit.USAGE,
        "A port is a number from 1 to 65535, and no two listeners share one.",
        "Correct the option or the environment variable that is named.",
    ),
    Code(
        "PD-4005",
        "Control plane did not start",
        Exit.SERVER,
        "A process of the control plane ended, or did not serve in time, before everything was ready.",
        "Read the log that is named, correct what it says, and start again.",
    ),
    Code(
        "PD-4006",
        "Control plane did not stop",
        Exit.TIMEOUT,
        "Processes of the control plane still ran when the time for stopping was over.",
        "Look at logs/up.log; if it goes on, end the processes that are named. Jobs are not among them.",
    ),
    Code(
        "PD-4007",
        "Control plane not installed",
        Exit.USAGE,
        "This is the light installation: client, command line and job helper.",
        'Install the control plane too: pip install "perdure[server]".',
    ),
    Code(
        "PD-4008",
        "System not supported",
        Exit.USAGE,
        "The embedded stack supervises processes through Linux's /proc.",
        "Run it on Linux, or submit to a remote API from here.",
    ),
    Code(
        "PD-4010",
        "Code of the control plane is shadowed",
        Exit.USAGE,
        "An installed package has the name of one of our folders and would be imported in its place.",
        "Remove or rename that package, or install Perdure in an environment of its own.",
    ),
    Code(
        "PD-4013",
        "Simulator not installed",
        Exit.USAGE,
        "Simulations need the scheduler and libraries for arrays and plots, which this installation lacks.",
        'Install them too: pip install "perdure[simulator]".',
    ),
    Code(
        "PD-4016",
        "Simulation broke off",
        Exit.SERVER,
        "The process that simulates ended without an answer.",
        "Look at what it said; for lack of memory use fewer jobs with --limit.",
    ),
    Code(
        "PD-4104",
        "Setting missing",
        Exit.USAGE,
        "A single process of the control plane needs an engine and a database that it shares with the others.",
        "Set the variables that the message names, or use `perdure up`, which starts everything on one machine.",
    ),
)
_BY_CODE = {code.code: code for code in CODES}


class LocalError(PerdureError):
    """The embedded stack refuses: `code` is one of PD-4000 to PD-4499."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(_BY_CODE[code], detail)
