"""Codes PD-4000 to PD-4499: the embedded control plane, its processes and its engine."""

from definitions.errors import Exit, register

register(
    "PD-4001",
    "Home in use",
    409,
    Exit.CONFLICT,
    "A process of a control plane holds the lock of that folder; two would destroy each other's state.",
    "Use the one that runs (perdure status), stop it (perdure down), or set PERDURE_HOME to another folder.",
)
register(
    "PD-4002",
    "Port taken",
    409,
    Exit.CONFLICT,
    "Another process listens on a port that the control plane needs. Nothing was written.",
    "Stop that process, or choose other ports with --port-api, --port-temporal, --port-ui and --port-metrics.",
)
register(
    "PD-4003",
    "Home not usable",
    500,
    Exit.USAGE,
    "The folder must be yours, writable, and on a disk of this machine: locks do not hold on shared file systems.",
    "Set PERDURE_HOME to a folder of your own on a local disk.",
)
register(
    "PD-4004",
    "Port setting not valid",
    500,
    Exit.USAGE,
    "A port is a number from 1 to 65535, and no two listeners share one.",
    "Correct the option or the environment variable that is named.",
)
register(
    "PD-4005",
    "Control plane did not start",
    503,
    Exit.SERVER,
    "A process of the control plane ended, or did not serve in time, before everything was ready.",
    "Read the log that is named, correct what it says, and start again.",
)
register(
    "PD-4006",
    "Control plane did not stop",
    504,
    Exit.TIMEOUT,
    "Processes of the control plane still ran when the time for stopping was over.",
    "Look at logs/up.log; if it goes on, end the processes that are named. Jobs are not among them.",
)
register(
    "PD-4007",
    "Control plane not installed",
    500,
    Exit.USAGE,
    "This is the light installation: client, command line and job helper.",
    'Install the control plane too: pip install "perdure[server]".',
)
register(
    "PD-4008",
    "System not supported",
    500,
    Exit.USAGE,
    "The embedded stack supervises processes through Linux's /proc.",
    "Run it on Linux, or submit to a remote API from here.",
)
register(
    "PD-4010",
    "Code of the control plane is shadowed",
    500,
    Exit.USAGE,
    "An installed package has the name of one of our folders and would be imported in its place.",
    "Remove or rename that package, or install Perdure in an environment of its own.",
)
register(
    "PD-4011",
    "Engine's file could not be made",
    500,
    Exit.SERVER,
    "The workflow engine did not serve, or did not stop cleanly, while its first file was prepared.",
    "Read logs/temporal.log; check free space and permissions of PERDURE_HOME, then start again.",
)
register(
    "PD-4012",
    "Settings not valid",
    500,
    Exit.USAGE,
    "An environment variable of the control plane has a value that it cannot have.",
    "Correct the variable that is named; docs/settings.md lists them all.",
)
register(
    "PD-4013",
    "Simulator not installed",
    500,
    Exit.USAGE,
    "Simulations need the scheduler and libraries for arrays and plots, which this installation lacks.",
    'Install them too: pip install "perdure[simulator]".',
)
register(
    "PD-4014",
    "Trace or nodes not usable",
    400,
    Exit.USAGE,
    "A file of jobs or nodes has rows that cannot be understood. Nothing was simulated.",
    "Correct what is named; docs/simulation.md describes the columns.",
)
register(
    "PD-4015",
    "Simulation not possible",
    400,
    Exit.USAGE,
    "Trace, nodes, documents and options are each right, and do not go together. Nothing was simulated.",
    "Correct what is named; docs/simulation.md has examples.",
)
register(
    "PD-4016",
    "Simulation broke off",
    500,
    Exit.SERVER,
    "The process that simulates ended without an answer.",
    "Look at what it said; for lack of memory use fewer jobs with --limit.",
)
