"""A network of two layers in plain numpy. All its numbers lie in one flat array, which is what travels and is saved."""

import hashlib

import numpy as np
from data import Floats, Ints

SHAPES = {"hidden.weights": (64, 64), "hidden.bias": (64,), "output.weights": (64, 10), "output.bias": (10,)}
SIZE = sum(int(np.prod(shape)) for shape in SHAPES.values())


def fresh_weights(seed: int) -> Floats:
    flat = np.zeros(SIZE)
    random = np.random.default_rng(seed)
    for name, array in arrays(flat).items():
        if name.endswith("weights"):
            array[:] = random.normal(0.0, np.sqrt(2.0 / array.shape[0]), array.shape)
    return flat


def arrays(flat: Floats) -> dict[str, Floats]:
    """The network's arrays by name, as views of the flat one."""
    views, start = {}, 0
    for name, shape in SHAPES.items():
        end = start + int(np.prod(shape))
        views[name] = flat[start:end].reshape(shape)
        start = end
    return views


def loss_and_gradient(flat: Floats, images: Floats, labels: Ints) -> tuple[float, Floats]:
    """Cross-entropy and its gradient, summed (not averaged) over the images."""
    net, gradient = arrays(flat), np.zeros(SIZE)
    hidden = images @ net["hidden.weights"] + net["hidden.bias"]
    active = np.maximum(hidden, 0.0)
    chances = _softmax(active @ net["output.weights"] + net["output.bias"])
    rows = np.arange(len(labels))
    loss = -float(np.log(chances[rows, labels] + 1e-12).sum())
    chances[rows, labels] -= 1.0
    back = (chances @ net["output.weights"].T) * (hidden > 0.0)
    into = arrays(gradient)
    into["output.weights"][:] = active.T @ chances
    into["output.bias"][:] = chances.sum(axis=0)
    into["hidden.weights"][:] = images.T @ back
    into["hidden.bias"][:] = back.sum(axis=0)
    return loss, gradient


def accuracy(flat: Floats, images: Floats, labels: Ints) -> float:
    net = arrays(flat)
    active = np.maximum(images @ net["hidden.weights"] + net["hidden.bias"], 0.0)
    answers = (active @ net["output.weights"] + net["output.bias"]).argmax(axis=1)
    return float((answers == labels).mean())


def digest(flat: Floats) -> str:
    """sha256 over the arrays' bytes: an archive's would differ with the tool that wrote it."""
    return hashlib.sha256(np.ascontiguousarray(flat, dtype="<f8").tobytes()).hexdigest()


def _softmax(scores: Floats) -> Floats:
    raised: Floats = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = raised / raised.sum(axis=1, keepdims=True)
    return shares
