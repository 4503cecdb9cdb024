"""The handwritten digits that come with scikit-learn: 1,797 real images of 8 by 8 pixels, split once and for all."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

TEST_IMAGES = 360


class Digits(NamedTuple):
    """Pixels are between 0 and 1, one row of 64 per image."""

    images: Floats
    labels: Ints
    test_images: Floats
    test_labels: Ints


def load(seed: int) -> Digits:
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(labels))
    pixels, classes = images[order] / 16.0, labels[order].astype(np.int64)
    return Digits(pixels[TEST_IMAGES:], classes[TEST_IMAGES:], pixels[:TEST_IMAGES], classes[:TEST_IMAGES])


def batch(digits: Digits, seed: int, step: int, size: int, rank: int, ranks: int) -> tuple[Floats, Ints]:
    """A rank's share of the batch of a step (counted from 1).

    The order of an epoch follows from seed and epoch alone, so a run that resumes at any step sees the images that the
    undisturbed one would have seen.
    """
    per_epoch = len(digits.labels) // size
    epoch, place = divmod(step - 1, per_epoch)
    order = np.random.default_rng((seed, epoch)).permutation(len(digits.labels))
    chosen = order[place * size : (place + 1) * size][rank::ranks]
    return digits.images[chosen], digits.labels[chosen]
