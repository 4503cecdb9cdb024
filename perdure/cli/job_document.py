"""From the flags of `perdure run` to a Job document. Pure; the API judges what it is given."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from perdure.codes import USAGE
from perdure.errors import PerdureError
from perdure.order import dependencies

SECRET = "secret:"
LAUNCHERS = frozenset(
    {"bash", "conda", "env", "exec", "mpirun", "poetry", "python", "python3", "run", "sh", "torchrun", "uv"}
)
SCRIPTS = (".py", ".sh")
LONGEST_NAME = 63
SUFFIX_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"


@dataclass(frozen=True)
class Flags:
    """What was given to `perdure run`; None is what was left out, and left to the API."""

    command: Sequence[str] = ()
    name: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    nodes: int | None = None
    processes_per_node: int | None = None
    cluster: str | None = None
    image: str | None = None
    gpus: int | None = None
    queue: str | None = None
    priority: int | None = None
    priority_class: str | None = None
    reservation: str | None = None
    array: Mapping[str, int] | None = None
    after: Sequence[str] = ()
    timeout: str | None = None
    retries: int | None = None
    checkpoint_every: str | None = None
    grace: str | None = None
    hang_after: str | None = None
    framework: str | None = None
    workdir: str | None = None
    mode: str | None = None
    readiness_file: str | None = None
    readiness_tcp: int | None = None
    readiness_http: int | None = None
    readiness_path: str | None = None


def document(flags: Flags, name: str) -> dict[str, Any]:
    """The Job document that says what the flags say, and nothing else. Raises PerdureError PD-2901 for a word behind
    `--after` that is none."""
    readiness = {
        "file": flags.readiness_file,
        "tcpPort": flags.readiness_tcp,
        "httpPort": flags.readiness_http,
        "httpPath": flags.readiness_path,
    }
    spec = {
        "mode": flags.mode,
        "command": list(flags.command),
        "env": {key: _env(value) for key, value in flags.env.items()},
        "workdir": {"mode": flags.workdir},
        "nodes": flags.nodes,
        "processesPerNode": flags.processes_per_node,
        "cluster": flags.cluster,
        "image": flags.image,
        "resources": {"gpus": flags.gpus},
        "queue": flags.queue,
        "priority": flags.priority,
        "priorityClass": flags.priority_class,
        "reservation": flags.reservation,
        "array": dict(flags.array) if flags.array is not None else None,
        "after": dependencies(flags.after, "--after") or None,
        "distributed": {"framework": flags.framework},
        "timeout": flags.timeout,
        "gracePeriod": flags.grace,
        "retry": {"limit": flags.retries},
        "checkpoints": {"every": flags.checkpoint_every},
        "progress": {"hangAfter": flags.hang_after},
        "service": {"readiness": readiness},
    }
    metadata = {"name": name, "labels": dict(flags.labels)}
    return {"apiVersion": "perdure/v1", "kind": "Job", "metadata": _given(metadata), "spec": _given(spec)}


def changed_by(flags: Flags) -> list[str]:
    """The flags that describe a job, of those that were given: a template says all that itself, but for the name and
    the jobs to wait for."""
    plain = {name: getattr(flags, name) for name in Flags.__dataclass_fields__ if name not in ("name", "after")}
    return [f"--{name.replace('_', '-')}" if name != "command" else "a command" for name, at in plain.items() if at]


def name_from(command: Sequence[str]) -> str:
    """A name for a command: that of its script, else of its first word that is no launcher, else of the launcher."""
    words = list(command)
    if "-c" in words:
        words = words[: words.index("-c")]  # what follows is a program's text, not its name
    plain = [word for word in words if not word.startswith("-") and "=" not in word]
    scripts = [word for word in plain if word.endswith(SCRIPTS)]
    named = scripts or [word for word in plain if PurePath(word).name not in LAUNCHERS] or plain
    path = PurePath(named[0] if named else "job")
    stem = path.stem if path.suffix in SCRIPTS else path.name
    cleaned = re.sub(r"[^a-z0-9]+", "-", stem.lower())[: LONGEST_NAME - 5].strip("-")
    return cleaned or "job"


def distinct(name: str) -> str:
    """The name with a few random letters behind it."""
    return f"{name}-{''.join(secrets.choice(SUFFIX_LETTERS) for _ in range(4))}"


def check_command(flags: Flags, template: str | None, of_template: Mapping[str, object]) -> None:
    """A run has a command or a template, one of the two, and options about a template (`of_template`) only with one.
    Raises PerdureError PD-2901."""
    if template is None and not flags.command:
        raise PerdureError(USAGE, "there is nothing to run: no command behind -- and no --template", where="run")
    given = changed_by(flags)
    if template is not None and given:
        detail = f"--template says what to run, and {', '.join(given)} would say it again"
        remedy = "Give the template's parameters with --set, or leave --template out."
        raise PerdureError(USAGE, detail, where="--template", remedy=remedy)
    for option, value in of_template.items():
        if template is None and value is not None:
            remedy = "Add --template NAME, or leave the option out; --env sets a variable."
            raise PerdureError(USAGE, f"{option} is about a template, and none is named", where=option, remedy=remedy)


def _env(value: str) -> str | dict[str, str]:
    return {"secret": value.removeprefix(SECRET)} if value.startswith(SECRET) else value


def _given(node: dict[str, Any]) -> dict[str, Any]:
    """The object without what was left out, and without objects in which everything was."""
    kept = {key: _given(value) if isinstance(value, dict) else value for key, value in node.items()}
    return {key: value for key, value in kept.items() if value is not None and value != {}}
