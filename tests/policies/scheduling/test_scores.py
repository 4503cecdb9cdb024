"""Scores of nodes: what they are worth, how ties are broken, and that compiled and plain kernels agree."""

import importlib.util
import math
from collections.abc import Sequence
from types import ModuleType

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.scheduling import kernels, rows
from policies.scheduling.model import Node, Shape
from policies.scheduling.nodes import Nodes
from policies.scheduling.rows import ScoreRows, numbers
from policies.scheduling.scores import Scoring, learnt, standard

SHAPES = (
    Shape(cpu=4000, memory=8, gpus=1),
    Shape(cpu=1000, memory=2, gpus=1, share=300),
    Shape(cpu=2000, memory=2, gpus=1, share=500, gpu_models=("a",)),
    Shape(cpu=3000, memory=1),
    Shape(cpu=8000, memory=16, gpus=2),
    Shape(cpu=100, slices=(("small", 2),)),
)
PODS = {shape: weight for weight, shape in enumerate(SHAPES, 1)}


@pytest.fixture(scope="module")
def plain() -> ModuleType:
    """The kernels' source as it runs without the compiler."""
    spec = importlib.util.spec_from_file_location("plain_kernels", str(kernels.__file__))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(numba.config, "DISABLE_JIT", 1)
        spec.loader.exec_module(module)
    return module


def cluster(sizes: Sequence[tuple[int, int, str]]) -> list[Node]:
    return [
        Node(f"n{number}", cpu, cpu // 250, gpus, model, slices={"small": gpus})
        for number, (cpu, gpus, model) in enumerate(sizes)
    ]


@settings(max_examples=40, derandomize=True)
@given(
    st.lists(
        st.tuples(st.sampled_from([4000, 9000, 16000]), st.integers(0, 4), st.sampled_from("ab")),
        min_size=1,
        max_size=5,
    ),
    st.lists(st.tuples(st.sampled_from(SHAPES), st.booleans()), max_size=14),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.booleans(),
)
def test_compiled_and_plain_kernels_place_alike(
    plain: ModuleType, sizes: list[tuple[int, int, str]], pods: list[tuple[Shape, bool]], lam: float, tight: bool
) -> None:
    found = learnt(PODS, lam, cover=1.0)
    scoring = Scoring(found.classes, lam, found.cpu_per_part, found.memory_per_part, tight)
    answers = []
    for place in (kernels.place, plain.place):
        nodes = Nodes(cluster(sizes))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(rows, "place", place)
            scores, answer = ScoreRows(nodes, scoring), list[tuple[int, int]]()
            for shape, goes in pods:
                _, where, devices = scores.fill(np.array([scores.row(shape)], np.int64), stop=False)
                answer.append((int(where[0]), int(devices[0])))
                if goes and where[0] >= 0:
                    nodes.give(shape, int(where[0]), numbers(int(devices[0])))
        answers.append((answer, nodes.free_gpu.tolist(), nodes.free_cpu.tolist()))
    assert answers[0] == answers[1]


def worth(scoring: Scoring, node: Node, cpu: int, memory: int, gpus: Sequence[int]) -> float:
    """The definition, in so many words."""
    total = sum(weight for _, weight in scoring.classes)
    value = 0.0
    for shape, weight in scoring.classes:
        able = [free for free in gpus if free >= shape.share]
        right = not shape.gpu_models or node.model in shape.gpu_models
        if shape.gpus and right and len(able) >= shape.gpus and cpu >= shape.cpu:
            value += weight / total * sum(able)
    served = cpu / scoring.cpu_per_part, memory / scoring.memory_per_part
    return value + scoring.lam * min(sum(gpus), *served)


@settings(max_examples=60, derandomize=True)
@given(st.lists(st.sampled_from(SHAPES[:5]), max_size=8), st.sampled_from(SHAPES[:5]))
def test_the_best_node_is_the_one_that_loses_least_worth(pods: list[Shape], shape: Shape) -> None:
    made = cluster([(9000, 2, "a"), (16000, 4, "b"), (16000, 1, "a")])
    nodes, scoring = Nodes(made), learnt(PODS, 1.0, cover=1.0)
    scores = ScoreRows(nodes, scoring)
    scores.fill(np.array([scores.row(pod) for pod in pods], np.int64), stop=False)
    ways: list[tuple[int, int, int]] = []
    for n in np.flatnonzero(nodes.fits(shape)):
        free = [part for part in nodes.free_gpu[n].tolist() if part >= 0]
        fitting = [device for device, part in enumerate(free) if part >= shape.share]
        for chosen in [[device] for device in fitting] if shape.gpus == 1 else [fitting[: shape.gpus]]:
            rest = [part - shape.share * (device in chosen) for device, part in enumerate(free)]
            before_cpu, before_memory = int(nodes.free_cpu[n]), int(nodes.free_memory[n])
            lost = worth(scoring, made[n], before_cpu, before_memory, free)
            lost -= worth(scoring, made[n], before_cpu - shape.cpu, before_memory - shape.memory, rest)
            drop = round(shape.gpus * shape.share - lost, 6)
            score = int(100 / (1 + math.exp(-drop / 1000)))
            ways.append((-score, int(n), sum(free[device] for device in chosen) if shape.share < 1000 else 0))
    _, where, devices = scores.fill(np.array([scores.row(shape)], np.int64), stop=False)
    if not ways:
        assert where.tolist() == [-1]
        return
    best = min(ways)
    assert where.tolist() == [best[1]]
    if shape.share < 1000:
        taken = nodes.free_gpu[best[1], numbers(int(devices[0]))[0]]
        assert taken + shape.share == best[2]


def test_a_pod_that_shares_takes_the_device_with_least_left_or_the_first_as_the_setting_says() -> None:
    for tight, device in ((True, 1), (False, 0)):
        nodes = Nodes([Node("n", 0, 0, 2)])
        nodes.take(Shape(gpus=1, share=100), 0, [0])
        nodes.take(Shape(gpus=1, share=600), 0, [1])
        scores = ScoreRows(nodes, Scoring((), tight=tight))
        _, _, devices = scores.fill(np.array([scores.row(Shape(gpus=1, share=300))], np.int64))
        assert numbers(int(devices[0])) == (device,)


def test_without_knowledge_small_pods_fill_nodes_that_are_begun() -> None:
    nodes = Nodes([Node(f"n{number}", 64000, 64, 8) for number in range(3)])
    nodes.take(Shape(gpus=6), 2, range(6))
    scores = ScoreRows(nodes, standard(nodes))
    _, where, _ = scores.fill(np.full(3, scores.row(Shape(cpu=1000, gpus=1)), np.int64))
    assert where.tolist() == [2, 2, 0]


def test_target_classes_are_the_most_frequent_that_cover_the_pods() -> None:
    pods = {Shape(cpu=1, gpus=1): 50, Shape(cpu=2, gpus=2): 30, Shape(cpu=3): 16, Shape(cpu=4, gpus=4): 4}
    found = learnt(pods)
    assert [(shape.cpu, weight) for shape, weight in found.classes] == [(1, 50), (2, 30), (3, 16)]
    assert found.cpu_per_part == (50 + 60 + 16) / (50 + 60 + 16) / 1000
    assert learnt({}).classes == ()


def test_a_shape_that_found_no_node_is_looked_at_again_once_something_is_free() -> None:
    nodes = Nodes([Node("n", 1000, 0, 1)])
    scores, shape = ScoreRows(nodes, standard(nodes)), Shape(gpus=1)
    once = np.array([scores.row(shape)], np.int64)
    assert [scores.fill(once, stop=False)[0] for _ in range(3)] == [1, 0, 0]
    nodes.give(shape, 0, [0])
    assert scores.fill(once, stop=False)[0] == 1
