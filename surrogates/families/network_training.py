"""Training of networks side by side with one output layer, in single precision, by SOAP."""

from __future__ import annotations

# The last row of every weight matrix is the bias.
from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray

SingleArray = NDArray[np.float32]
#: Decay of the means of the gradient, of its square and of the preconditioners.
_FIRST, _SECOND, _OUTER = 0.95, 0.99, 0.99
#: Steps from one update of the preconditioners to the next, and of their eigenvectors.
_OUTER_STEPS, _BASIS_STEPS = 2, 20
_TINY = np.float32(1e-10)


class Soap:
    """Optimiser of weight matrices (M, m, n) [1]; the first `step` only sets up their bases."""

    def __init__(self, weights: SingleArray) -> None:
        self._weights = weights
        self._steps = 0
        self._first, self._second = np.zeros_like(weights), np.zeros_like(weights)
        self._left, self._right = np.zeros(0, np.float32), np.zeros(0, np.float32)
        self._rows, self._columns = self._left, self._right

    def step(self, gradient: SingleArray, rate: float) -> None:
        """Move the weights against a gradient (M, m, n) [1] by about `rate` in each direction."""
        if self._steps == 0:
            self._left, self._right = _outer(gradient)
            self._rows, self._columns = _eigenvectors(self._left), _eigenvectors(self._right)
            self._steps = 1
            return
        done = self._steps
        rows, columns = self._rows, self._columns
        turned = _transposed(rows) @ gradient @ columns
        self._first += np.float32(1.0 - _FIRST) * (turned - self._first)
        self._second += np.float32(1.0 - _SECOND) * (turned * turned - self._second)
        unbiased = rate * np.sqrt(1.0 - _SECOND**done) / (1.0 - _FIRST**done)
        move = np.float32(unbiased) * self._first / (np.sqrt(self._second) + _TINY)
        self._weights -= rows @ move @ _transposed(columns)
        self._steps += 1
        if self._steps % _OUTER_STEPS == 0:
            left, right = _outer(gradient)
            self._left += np.float32(1.0 - _OUTER) * (left - self._left)
            self._right += np.float32(1.0 - _OUTER) * (right - self._right)
        if self._steps % _BASIS_STEPS == 0:
            self._turn()

    def _turn(self) -> None:
        """Improve the eigenvectors by a step of subspace iteration; turn the mean gradient."""
        rows = np.linalg.qr(self._left @ self._rows)[0]
        columns = np.linalg.qr(self._right @ self._columns)[0]
        left, right = _transposed(rows) @ self._rows, _transposed(self._columns) @ columns
        self._first = left @ self._first @ right
        self._rows, self._columns = rows, columns


def _transposed(stack: SingleArray) -> SingleArray:
    return stack.transpose(0, 2, 1)


def _outer(gradient: SingleArray) -> tuple[SingleArray, SingleArray]:
    """Return G G^T (M, m, m) and G^T G (M, n, n)."""
    return gradient @ _transposed(gradient), _transposed(gradient) @ gradient


def _eigenvectors(stack: SingleArray) -> SingleArray:
    """Return the eigenvectors (M, n, n) of symmetric matrices, the largest eigenvalue first."""
    found = np.linalg.eigh(stack.astype(np.float64))[1][:, :, ::-1]
    return np.ascontiguousarray(found, dtype=np.float32)


#: Steps in which the learning rate rises to its largest value.
_WARM_UP = 300
#: Maximum number of passes through the samples.
_MOST_PASSES = 250


class Layers(NamedTuple):
    """Weights of M networks of h units [1]: (M, d + 1, h), (M, h + 1, h) and (1, M h + 1, k)."""

    #: Inputs to inner units.
    inner: SingleArray
    #: Inner to outer units.
    hidden: SingleArray
    #: Outer units of all networks to outputs.
    last: SingleArray

    @classmethod
    def random(cls, nets: int, units: int, d: int, k: int, rng: np.random.Generator) -> Self:
        """Return random weights (M, m, n) [1] of M = `nets` networks of h = `units`."""
        shapes = (nets, d, units), (nets, units, units), (1, nets * units, k)
        stacks = []
        for shape, size in zip(shapes, (1.5, 1.0, 0.1), strict=True):
            start = size / np.sqrt(shape[1]) * rng.standard_normal(shape)
            stacks.append(np.concatenate([start, np.zeros((shape[0], 1, shape[2]))], axis=1))
        # Biases that spread the inner units over the cube.
        stacks[0][:, -1] = rng.uniform(-1.0, 1.0, (nets, units))
        stacks[1][:, -1] = rng.uniform(-0.1, 0.1, (nets, units))
        return cls(*(stack.astype(np.float32) for stack in stacks))

    def units(self, z: SingleArray) -> tuple[SingleArray, SingleArray]:
        """Return inner and outer units (M, N, h) [1] at scaled inputs z (N, d)."""
        below: SingleArray = z @ self.inner[:, :-1]
        below += self.inner[:, -1:]
        np.tanh(below, out=below)
        above: SingleArray = below @ self.hidden[:, :-1]
        above += self.hidden[:, -1:]
        np.tanh(above, out=above)
        return below, above


class Training(NamedTuple):
    """Course of a training."""

    #: Number of steps, at most 250 passes through the samples.
    steps: int
    #: Samples in a step.
    batch: int
    #: Learning rate after the warm-up of 300 steps [1].
    rate: float
    #: Fraction of the rate at the end [1].
    last_rate: float

    def rate_at(self, step: int, steps: int) -> float:
        """Return the learning rate [1] at a step: a linear rise, then half a cosine."""
        turn = 0.5 * (1.0 + np.cos(np.pi * step / steps))
        rate = self.rate * (self.last_rate + (1.0 - self.last_rate) * turn)
        return float(rate * min(1.0, (step + 1) / _WARM_UP))


def train(
    layers: Layers,
    z: FloatArray,
    y: FloatArray,
    w: FloatArray,
    training: Training,
    rng: np.random.Generator,
) -> None:
    """Train layers in place for the least weighted square error of z (N, d), y, w (N, k) [1]."""
    batch = min(training.batch, len(z))
    steps = min(training.steps, max(1, _MOST_PASSES * len(z) // batch))
    data = [np.asarray(a, dtype=np.float32) for a in (z, y, w / w.mean())]
    slopes = Layers(*map(np.zeros_like, layers))
    optimisers = [Soap(stack) for stack in layers]
    batches = random_batches(data, batch, rng)
    for step in range(steps):
        loss_gradient(layers, slopes, *next(batches))
        for optimiser, slope in zip(optimisers, slopes, strict=True):
            optimiser.step(slope, training.rate_at(step, steps))


def random_batches(
    data: list[SingleArray], batch: int, rng: np.random.Generator
) -> Iterator[list[SingleArray]]:
    """Yield batches (batch, ...) [1] of rows in random order, each row once in every pass."""
    while True:
        order = rng.permutation(len(data[0]))
        shuffled = [array[order] for array in data]
        for start in range(0, len(order) - batch + 1, batch):
            yield [array[start : start + batch] for array in shuffled]


def loss_gradient(
    layers: Layers, slopes: Layers, z: SingleArray, y: SingleArray, w: SingleArray
) -> None:
    """Write the gradient of a batch's weighted square error (b, d), (b, k) [1] to `slopes`."""
    below, above = layers.units(z)
    nets, rows, units = above.shape
    last = layers.last[0]
    flat = above.transpose(1, 0, 2).reshape(rows, nets * units)
    error = flat @ last[:-1]
    error += last[-1]
    error -= y
    error *= w
    error *= np.float32(2.0 / rows)
    _write(slopes.last, flat.T[None], error[None])
    above *= above
    np.subtract(1, above, out=above)
    above *= error @ last[:-1].reshape(nets, units, -1).transpose(0, 2, 1)
    _write(slopes.hidden, below.transpose(0, 2, 1), above)
    back = above @ layers.hidden[:, :-1].transpose(0, 2, 1)
    below *= below
    np.subtract(1, below, out=below)
    back *= below
    _write(slopes.inner, z.T[None], back)


def _write(slope: SingleArray, transposed: SingleArray, error: SingleArray) -> None:
    """Write the gradient by the weights and, in the last row, by the biases."""
    np.matmul(transposed, error, out=slope[:, :-1])
    np.sum(error, axis=1, out=slope[:, -1])
