"""Random documents that are valid, and random texts that look like YAML."""

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from definitions.job import Job
from definitions.job_workload import variable_fault
from definitions.quantities import format_duration, format_size
from definitions.states import FailureClass

Json = dict[str, Any]

milliseconds = st.integers(1, 10**9) | st.sampled_from([1000, 60_000, 3_600_000, 86_400_000])
durations = st.builds(lambda n: timedelta(milliseconds=n), milliseconds)
sizes = st.integers(0, 2**63 - 1) | st.builds(
    lambda n, unit: n * unit, st.integers(0, 1000), st.sampled_from([1000, 1024**3])
)

# Words that tools disagree about, and text that needs quotes for other reasons.
AWKWARD = [
    *("yes", "No", "ON", "off", "y", "N", "true", "null", "~", "", " ", "0777", "08", "1_000", "0b1", "0x1f", "0o7"),
    *("12:00:00", "1:30", "3.10", "1e3", "+1", ".5", ".inf", ".nan", "2026-01-01", "=", "<<", "-", "?", ":", "- a"),
    *(
        "a: b",
        "a #b",
        "# a",
        " a",
        "a ",
        "'",
        '"',
        "\\",
        "\t",
        "[",
        "{",
        "]",
        ",",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "%a",
        "@",
    ),
    *(
        "a\nb",
        "a\n",
        "\na",
        "a\n\nb\n",
        " a\nb",
        "a \nb",
        "a\r\nb",
        "\u2028",
        "\x85",
        "\ufeff",
        "\U0001f600",
        "---",
        "...",
    ),
]
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    AWKWARD
)
names = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
variables = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True).filter(lambda n: variable_fault(n) is None)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)

rules = st.fixed_dictionaries({"requiredDuringSchedulingIgnoredDuringExecution": json_values})


def _optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({}, optional=fields)


def _spelled(low: int) -> st.SearchStrategy[str]:
    """Durations of at least so many seconds, below an hour."""
    return st.integers(low, 3599).map(lambda seconds: format_duration(timedelta(seconds=seconds)))


env_values = texts | names.map(lambda name: {"secret": name})
what_runs = st.fixed_dictionaries(
    {"command": st.lists(texts, min_size=1, max_size=4).filter(lambda words: words[0] != "")},
    optional={"args": st.lists(texts, max_size=3)},
) | texts.filter(bool).map(lambda text: {"shell": text})
specs = st.builds(
    lambda runs, rest: {**rest, **runs},
    what_runs,
    _optional(
        type=st.sampled_from(["training", "inference", "fine-tuning", "evaluation"]),
        env=st.dictionaries(variables, env_values, max_size=3),
        secretFiles=st.lists(names, max_size=2, unique=True).map(
            lambda n: [{"secret": s, "path": f"a/{s}"} for s in n]
        ),
        workdir=st.sampled_from([{"mode": "live", "path": "/a b"}, {"mode": "none"}, {"snapshot": "0f" * 32}]),
        nodes=st.integers(1, 32),
        processesPerNode=st.integers(1, 32),
        resources=_optional(
            gpus=st.integers(0, 8), memory=sizes.filter(bool).map(format_size), cpus=st.integers(1, 64)
        ),
        distributed=_optional(framework=st.sampled_from(["pytorch", "jax"]), masterPort=st.integers(1024, 65535)),
        placement=_optional(pin=st.booleans(), affinity=st.fixed_dictionaries({"nodeAffinity": rules})),
        suspend=st.booleans(),
        priority=st.integers(0, 100),
        timeout=_spelled(1),
        gracePeriod=_spelled(0),
        retry=_optional(
            limit=st.integers(0, 9),
            budget=_spelled(1),
            rules=st.dictionaries(st.sampled_from([FailureClass.HANG, FailureClass.SIGNAL]), st.integers(0, 3)),
        ),
        checkpoints=_optional(
            every=_spelled(1),
            keepBest=st.fixed_dictionaries({"metric": names}),
            **{"from": st.fixed_dictionaries({"job": names}, optional={"step": st.integers(0, 10**6)})},
        ),
        artifacts=_optional(maxBytes=sizes.map(format_size), keepFor=_spelled(1)),
    ),
)
job_documents: st.SearchStrategy[Json] = st.builds(
    lambda name, notes, spec: {
        "apiVersion": "perdure/v1",
        "kind": "Job",
        "metadata": {"name": name, "annotations": notes},
        "spec": spec,
    },
    names,
    st.dictionaries(names, texts, max_size=2),
    specs,
)
jobs: st.SearchStrategy[Job] = job_documents.map(Job.model_validate)

# Text made of the pieces that YAML's grammar is made of, so that it is often nearly right.
PIECES = [
    *(
        "a",
        "b: ",
        "- ",
        "\n",
        "\n  ",
        "\n    ",
        "\t",
        ": ",
        "? ",
        "# c\n",
        "[",
        "]",
        "{",
        "}",
        ", ",
        '"',
        "'",
        "\\",
        "\\u00",
    ),
    *("&x ", "*x", "!!str ", "!t ", "!!int ", "<<: ", "|", ">", "|-\n", "---\n", "...\n", "%YAML 1.1\n", "%TAG ! x\n"),
    *("yes", "0777", "12:00:00", "1e999", "-", "\r", "\x85", "\ufeff", "\0", "\x07", "\ud800", "\U0001f600", "9" * 500),
    *(
        "apiVersion: perdure/v1\n",
        "kind: Job\n",
        "metadata: {name: x}\n",
        "spec:\n",
        "  command: [a]\n",
        "  timeout: 3:00\n",
    ),
]
yaml_like = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
