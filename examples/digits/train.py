"""Trains a small network on handwritten digits, on any number of ranks, and survives being killed at any moment.

A resumed run ends with the very bits of an undisturbed one: threads are pinned, the order of summing is fixed, and a
checkpoint holds all that the next step depends on: weights, momentum, each rank's random state, and the step.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"  # read when numpy is loaded; two threads add up in another order

import numpy as np  # noqa: E402
from allreduce import Ranks  # noqa: E402
from data import Digits, Floats, batch, load  # noqa: E402
from network import SIZE, accuracy, digest, fresh_weights, loss_and_gradient  # noqa: E402

from perdure import job  # noqa: E402

NOISE = 0.05  # added to the pixels, from each rank's own random numbers
MOMENTUM = 0.9


@dataclass
class State:
    """All that the next step depends on."""

    step: int
    weights: Floats
    velocity: Floats
    random: np.random.Generator


def main() -> None:
    options = _options()
    digits = load(options.seed)
    state = _resumed() or _fresh(options.seed)
    address = (os.environ.get("MASTER_ADDR", "127.0.0.1"), int(os.environ.get("MASTER_PORT", "29500")))
    try:
        ranks = Ranks(job.rank(), job.world_size(), address, os.environ.get("PERDURE_ATTEMPT_TOKEN", ""))
        while state.step < options.steps:
            _train(state, digits, ranks, options)
        ranks.close()
    except OSError as error:
        sys.exit(f"rank {job.rank()} gives up after step {state.step}: {error}")
    if job.rank() == 0:
        _report(state, digits)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=64, help="images per step, over all ranks")
    parser.add_argument("--learning-rate", type=float, default=0.1)
    parser.add_argument("--save-every", type=int, default=50, help="steps between checkpoints")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--step-seconds", type=float, default=0.0, help="rest after each step, to have time to watch")
    return parser.parse_args()


def _fresh(seed: int) -> State:
    return State(0, fresh_weights(seed), np.zeros(SIZE), np.random.default_rng((seed, job.rank())))


def _resumed() -> State | None:
    start = job.resume()
    if start is None:
        return None
    with np.load(start.root / "rank-0" / "model.npz") as saved:
        weights, velocity = saved["weights"], saved["velocity"]
    random = np.random.default_rng()
    random.bit_generator.state = json.loads((start.folder / "random.json").read_text())
    print(f"rank {job.rank()} resumes after step {start.step}", flush=True)
    return State(start.step, weights, velocity, random)


def _train(state: State, digits: Digits, ranks: Ranks, options: argparse.Namespace) -> None:
    step = state.step + 1
    images, labels = batch(digits, options.seed, step, options.batch, job.rank(), job.world_size())
    images = images + state.random.normal(0.0, NOISE, images.shape)
    loss, gradient = loss_and_gradient(state.weights, images, labels)
    total = ranks.sum(np.append(gradient, loss)) / options.batch
    state.velocity = MOMENTUM * state.velocity - options.learning_rate * total[:-1]
    state.weights = state.weights + state.velocity
    state.step = step
    if job.rank() == 0:
        job.progress(step, total=options.steps, loss=total[-1])
    if step % options.save_every == 0 or job.should_checkpoint(step):
        _save(state, float(total[-1]))
    if options.step_seconds:
        time.sleep(options.step_seconds)


def _save(state: State, loss: float) -> None:
    """Weights are the same on every rank, so rank 0 saves them; random numbers are each rank's own."""
    with job.checkpoint(state.step, metrics={"loss": loss}) as folder:
        if job.rank() == 0:
            np.savez(folder / "model.npz", weights=state.weights, velocity=state.velocity)
        (folder / "random.json").write_text(json.dumps(state.random.bit_generator.state))


def _report(state: State, digits: Digits) -> None:
    share = accuracy(state.weights, digits.test_images, digits.test_labels)
    result = {"accuracy": share, "steps": state.step, "ranks": job.world_size(), "sha256": digest(state.weights)}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "result.json")
        file.write_text(json.dumps(result, indent=2) + "\n")
        job.artifact(file)
    print(f"test accuracy {share:.4f} after {state.step} steps; weights {result['sha256']}", flush=True)


if __name__ == "__main__":
    main()
