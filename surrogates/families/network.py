"""Fitting of networks: two layers of tanh units on top of a polynomial of low degree.

Training is Adam (Kingma & Ba 2015, Algorithm 1) in single precision on random batches, with a
learning rate that falls as a cosine. scikit-learn's `MLPRegressor` lowers the rate only between
calls of `fit`, each of which resets Adam's moments: with 62,578 samples of one knee and 30,000
steps its errors of height and centre of pressure are larger by 17 and 30 %.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.checks import FloatArray, check_number
from foundation.errors import InputError
from surrogates.families.basis import basis_matrix, row_blocks
from surrogates.families.cross_validation import CrossCheck, Fitted, fit_spread, spread_at
from surrogates.families.polynomial_evidence import Prior, Ridge
from surrogates.families.regressor import linear_in
from surrogates.families.training import (
    check_training,
    check_weights,
    mean_and_deviation,
    middle_and_half_range,
    polynomial_exponents,
)

SingleArray = NDArray[np.float32]
#: Decay of Adam's first and second moments.
_DECAYS = (0.9, 0.995)
_WARM_UP = 300
#: Maximum number of passes through the samples.
_MOST_EPOCHS = 4000


@dataclass(frozen=True)
class NetworkSettings:
    """Settings of a network fit.

    Attributes
    ----------
    hidden : int
        Units of each of the two layers.
    networks : int
        Number of networks with different random starts, of which the mean is taken.
    base_degree : int
        Total degree of the polynomial; lowered for fewer than two samples for each term.
    ridge : float
        Penalty on the squared coefficients of the polynomial, over the number of samples [1]; grows
        as the square of one plus the degree.
    steps : int
        Steps of Adam, divided among the networks; at most 4000 passes through the samples.
    batch : int
        Number of samples in a step.
    rate, last_rate : float
        Learning rate after the warm-up of 300 steps, and the fraction of the rate at the end [1].
    held_back : float
        Fraction of the samples, drawn at random, that is kept for the check [1].
    """

    hidden: int = 96
    networks: int = 1
    base_degree: int = 4
    ridge: float = 1e-7
    steps: int = 220_000
    batch: int = 512
    rate: float = 4e-3
    last_rate: float = 0.01
    held_back: float = 0.05

    def __post_init__(self) -> None:
        for name in ("hidden", "networks", "steps", "batch"):
            check_number(name, getattr(self, name), at_least=1)
        check_number("base_degree", self.base_degree, at_least=0, at_most=8)
        check_number("ridge", self.ridge, above=0.0)
        check_number("rate", self.rate, above=0.0)
        check_number("last_rate", self.last_rate, above=0.0, at_most=1.0)
        check_number("held_back", self.held_back, above=0.0, at_most=0.5)


def fit_network(
    X: ArrayLike,
    Y: ArrayLike,
    settings: NetworkSettings | None = None,
    rng: np.random.Generator | None = None,
    weights: ArrayLike | None = None,
) -> Fitted:
    """Fit networks to outputs Y (N, k) at inputs X (N, d) [any unit]; outputs have equal influence.

    Arguments as of `surrogates.families.registry.fit_family`; `rng` draws the samples held back,
    the starts and the batches. The check is at the samples held back, drawn from samples of at
    least half the largest weight. Raises `InputError` if the data are malformed or have fewer than
    20 rows.
    """
    chosen = settings or NetworkSettings()
    draw = rng or np.random.default_rng(0)
    x, y = check_training(X, Y)
    if len(x) < 20:
        raise InputError(f"X: expected at least 20 rows for a network, found {len(x)}")
    w = check_weights(weights, len(x))
    (x_offset, x_scale), (y_offset, y_scale) = middle_and_half_range(x), mean_and_deviation(y)
    z, target = (x - x_offset) / x_scale, (y - y_offset) / y_scale
    full = np.flatnonzero(w >= 0.5 * w.max())
    out = np.sort(draw.permutation(full)[: max(2, round(chosen.held_back * len(full)))])
    kept = np.setdiff1d(np.arange(len(x)), out)
    exponents = _base_terms(z.shape[1], int(chosen.base_degree), len(kept))
    base = _fit_base(z[kept], target[kept], w[kept], exponents, chosen.ridge)
    rest = target[kept] - _polynomial(z[kept], exponents, base)
    size = np.sqrt(np.average(rest**2, axis=0, weights=w[kept]))
    size = np.where(size > 1e-12, size, 0.0)  # a constant output does not need a network
    scaled = rest / np.where(size > 0.0, size, 1.0)
    count = int(chosen.networks)
    nets = [_train(z[kept], scaled, w[kept], chosen, seed) for seed in draw.spawn(count)]
    last = np.concatenate([net.last for net in nets]) * (size / count)
    base[0] += sum(net.last_bias for net in nets) * size / count
    hidden = sum(net.hidden_units(z[out]) @ net.last for net in nets) * (size / count)
    left = (target[out] - _polynomial(z[out], exponents, base) - hidden) * y_scale
    spread = fit_spread(z[out], left)
    check = CrossCheck(out, left, spread_at(spread, z[out]), "held back")
    regressor = linear_in(
        "network", (x_offset, x_scale, y_offset, y_scale), exponents,
        np.concatenate([base, last]).T, spread=spread,
        inner=np.stack([net.inner for net in nets]),
        inner_bias=np.stack([net.inner_bias for net in nets]),
        hidden=np.stack([net.hidden for net in nets]),
        hidden_bias=np.stack([net.hidden_bias for net in nets]),
    )  # fmt: skip
    return Fitted(regressor, check)


def _base_terms(d: int, degree: int, rows: int) -> NDArray[np.int64]:
    while degree and 2 * len(polynomial_exponents(d, degree)) > rows:
        degree -= 1
    return polynomial_exponents(d, degree)


def _fit_base(
    z: FloatArray, y: FloatArray, w: FloatArray, exponents: NDArray[np.int64], ridge: float
) -> FloatArray:
    """Return the coefficients (T, k) of the polynomial below the networks."""
    variances = 1.0 / (1.0 + exponents.sum(axis=1)) ** 2
    prior = Prior(exponents, variances, ridge * float(w.sum()))
    return Ridge(z, y, w, prior, 0.0).coefficients


def _polynomial(
    z: FloatArray, exponents: NDArray[np.int64], coefficients: FloatArray
) -> FloatArray:
    blocks = row_blocks(len(z), len(exponents))
    return np.concatenate([basis_matrix(z[b], exponents) @ coefficients for b in blocks])


class _Network(NamedTuple):
    """Weights of one network, in double precision."""

    inner: FloatArray
    inner_bias: FloatArray
    hidden: FloatArray
    hidden_bias: FloatArray
    last: FloatArray
    last_bias: FloatArray

    def hidden_units(self, z: FloatArray) -> FloatArray:
        """Return the outer hidden units (N, h)."""
        inner = np.tanh(z @ self.inner + self.inner_bias)
        return np.asarray(np.tanh(inner @ self.hidden + self.hidden_bias))


def _train(
    z: FloatArray,
    y: FloatArray,
    w: FloatArray,
    settings: NetworkSettings,
    rng: np.random.Generator,
) -> _Network:
    """Return a network trained on scaled inputs and outputs."""
    batch = min(int(settings.batch), len(z))
    steps = max(1, int(settings.steps) // int(settings.networks))
    steps = min(steps, max(1, _MOST_EPOCHS * len(z) // batch))
    data = [np.asarray(a, dtype=np.float32) for a in (z, y, w[:, None] / w.mean())]
    vector, parts = random_weights(z.shape[1], int(settings.hidden), y.shape[1], rng)
    slope, slopes = _parts(vector.size, [part.shape for part in parts])
    first, second = np.zeros_like(vector), np.zeros_like(vector)
    decay, decay2 = _DECAYS
    batches = random_batches(data, batch, rng)
    for step in range(steps):
        loss_gradient(parts, slopes, *next(batches))
        turn = 0.5 * (1.0 + np.cos(np.pi * step / steps))
        rate = settings.rate * (settings.last_rate + (1.0 - settings.last_rate) * turn)
        rate *= min(1.0, (step + 1) / _WARM_UP)
        rate *= np.sqrt(1.0 - decay2 ** (step + 1)) / (1.0 - decay ** (step + 1))
        first += np.float32(1.0 - decay) * (slope - first)
        second += np.float32(1.0 - decay2) * (slope * slope - second)
        vector -= np.float32(rate) * first / (np.sqrt(second) + np.float32(1e-10))
    return _Network(*(part.astype(np.float64) for part in parts))


def _parts(size: int, shapes: list[tuple[int, ...]]) -> tuple[SingleArray, list[SingleArray]]:
    """Return a vector, and consecutive views of the vector with the given shapes."""
    vector, parts, start = np.zeros(size, dtype=np.float32), [], 0
    for shape in shapes:
        stop = start + int(np.prod(shape))
        parts.append(vector[start:stop].reshape(shape))
        start = stop
    return vector, parts


def random_weights(
    d: int, h: int, k: int, rng: np.random.Generator
) -> tuple[SingleArray, list[SingleArray]]:
    """Return random weights (W,) [1] for d inputs, h units and k outputs, and views by layer."""
    shapes: list[tuple[int, ...]] = [(d, h), (h,), (h, h), (h,), (h, k), (k,)]
    vector, parts = _parts(sum(int(np.prod(s)) for s in shapes), shapes)
    for part, size in zip(parts[::2], (1.5, 1.0, 0.1), strict=True):
        part[:] = size / np.sqrt(len(part)) * rng.standard_normal(part.shape)
    # Biases that spread the inner units over the cube.
    parts[1][:] = rng.uniform(-1.0, 1.0, h)
    parts[3][:] = rng.uniform(-0.1, 0.1, h)
    return vector, parts


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
    parts: list[SingleArray],
    slopes: list[SingleArray],
    z: SingleArray,
    y: SingleArray,
    w: SingleArray,
) -> None:
    """Write the gradient of the weighted mean square error of a batch to `slopes`.

    Parameters
    ----------
    parts, slopes : list of arrays
        Weights in the order of `random_weights`, and their gradient to fill [1].
    z, y, w : (b, d), (b, k), (b, 1) float32
        Scaled inputs, outputs and weights of the batch [1].
    """
    inner, inner_bias, hidden, hidden_bias, last, last_bias = parts
    below = np.tanh(z @ inner + inner_bias)
    above = np.tanh(below @ hidden + hidden_bias)
    error = (above @ last + last_bias - y) * (w * np.float32(2.0 / len(z)))
    np.matmul(above.T, error, out=slopes[4])
    np.sum(error, axis=0, out=slopes[5])
    error = (error @ last.T) * (1 - above * above)
    np.matmul(below.T, error, out=slopes[2])
    np.sum(error, axis=0, out=slopes[3])
    error = (error @ hidden.T) * (1 - below * below)
    np.matmul(z.T, error, out=slopes[0])
    np.sum(error, axis=0, out=slopes[1])
