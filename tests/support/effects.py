"""What the source says about effect boundaries: which there are, and which outside calls stand in none."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = tuple(sorted((ROOT / "activities").glob("*.py")))
WORKERS = tuple(sorted((ROOT / "workers").glob("*.py")))
# What only the worker of a Kubernetes cluster comes to.
OF_CLUSTERS = tuple(
    ROOT / name for name in ("activities/clusters.py", "workers/cluster_loops.py", "workers/notice_watcher.py")
)
KUBERNETES = tuple(sorted((ROOT / "activities" / "adapters" / "kubernetes").glob("*.py")))
HOOK_SIDES = ("before", "after")


def effect_names(paths: Iterable[Path] = (*MODULES, *WORKERS)) -> tuple[str, ...]:
    """Every name given to `effect(...)` in activities/ and workers/, in the order of the source."""
    return _literals(paths, "effect")


def hooks() -> tuple[str, ...]:
    """Every place at which a worker of any runtime can be made to die: both sides of each effect, amid a heartbeat."""
    names = [name for name in effect_names() if name not in effect_names(OF_CLUSTERS)]
    return (*_sides(names), "heartbeat:mid")


def cluster_hooks() -> tuple[str, ...]:
    """The places to which only a cluster's worker comes: its own effects, and the steps of the Kubernetes runtime."""
    return (*_literals(KUBERNETES, "crash_point"), *_sides(effect_names(OF_CLUSTERS)))


def unguarded_calls(source: str) -> list[str]:
    """Calls of a port outside every `with effect(...)`, as `line: call`."""
    tree = ast.parse(source)
    return [
        f"{call.lineno}: {ast.unparse(call.func)}"
        for cls in tree.body
        if isinstance(cls, ast.ClassDef) and _has_activities(cls)
        for call in _outside_calls(cls, _ports(cls))
    ]


def _sides(names: Iterable[str]) -> list[str]:
    return [f"{name}:{side}" for name in names for side in HOOK_SIDES]


def _literals(paths: Iterable[Path], function: str) -> tuple[str, ...]:
    """The first argument of every call of a function, in the order of the source."""
    found: dict[str, None] = {}
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and _called(node) == function:
                assert isinstance(node.args[0], ast.Constant), f"{path}: names of hooks are literals"
                found[str(node.args[0].value)] = None
    return tuple(found)


def _has_activities(cls: ast.ClassDef) -> bool:
    return any(
        ast.unparse(decorator).startswith("activity.defn")
        for method in cls.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
        for decorator in method.decorator_list
    )


def _ports(cls: ast.ClassDef) -> frozenset[str]:
    """Attributes that `__init__` keeps of its parameters; a callable such as a clock is no outside system."""
    init = next((m for m in cls.body if isinstance(m, ast.FunctionDef) and m.name == "__init__"), None)
    if init is None:
        return frozenset()
    clocks = {a.arg for a in init.args.args if a.annotation and "Callable" in ast.unparse(a.annotation)}
    return frozenset(
        node.targets[0].attr
        for node in ast.walk(init)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id not in clocks
    )


def _outside_calls(node: ast.AST, ports: frozenset[str]) -> Iterator[ast.Call]:
    if isinstance(node, ast.With | ast.AsyncWith) and any(_guards(item) for item in node.items):
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        if isinstance(owner, ast.Attribute) and ast.unparse(owner.value) == "self" and owner.attr in ports:
            yield node
    for child in ast.iter_child_nodes(node):
        yield from _outside_calls(child, ports)


def _guards(item: ast.withitem) -> bool:
    return isinstance(item.context_expr, ast.Call) and _called(item.context_expr) == "effect"


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func)
