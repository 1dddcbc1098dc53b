"""Fitting of networks: two layers of tanh units beside a polynomial or a spline-polynomial.

The networks learn together what a polynomial of low degree leaves of the outputs. Of enough
samples, the coefficients of all outer units and of a spline-polynomial then follow from linear
least squares: splines add, at little cost, local detail along the first input, for which networks
would need many more units. The samples held back decide whether the splines take the place of the
polynomial.

Training is by SOAP (Vyas et al. 2024, arXiv:2409.11321, Algorithm 3), Adam (Kingma & Ba 2015) in
the eigenbasis of Shampoo's preconditioners (Gupta, Koren & Singer 2018). A weight matrix W (m, n)
with gradient G has running means of G G^T (m, m) and G^T G (n, n). In the basis of their
eigenvectors, the entries of the gradient are nearly uncorrelated, so that a step of Adam there is
close to a step of Gauss-Newton.
"""

from __future__ import annotations

# The last row of every weight matrix is the bias.
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_number
from foundation.base.errors import InputError
from surrogates.families.cross_validation import CrossCheck, Fitted, fit_spread, spread_at
from surrogates.families.polynomial import Prior, Ridge
from surrogates.families.regressor import linear_in
from surrogates.families.spline import (
    SplineFit,
    SplineSettings,
    fewer_pieces,
    found_shear,
    kept_terms,
    ordered_terms,
)
from surrogates.families.training import (
    basis_matrix,
    check_training,
    check_weights,
    mean_and_deviation,
    middle_and_half_range,
    polynomial_exponents,
    row_blocks,
)

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
    vectors = np.linalg.eigh(stack.astype(np.float64))[1][:, :, ::-1]
    return np.ascontiguousarray(vectors, dtype=np.float32)


#: Steps in which the learning rate rises to its largest value.
_WARM_UP = 300
#: Largest learning rate, and fraction of it at the end [1].
_RATE, _LAST_RATE = 3e-2, 0.01
#: Penalty on squared coefficients of the polynomial, over the number of samples, times the square
#: of one plus the degree.
_RIDGE = 1e-7
#: Highest degree of the products of the spline-polynomial, and pieces of its splines.
_SPLINE_DEGREE, _SPLINE_PIECES = 4, 8
#: Fraction of the samples, drawn at random, that is kept for the check [1].
_HELD_BACK = 0.05


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


def rate_at(step: int, steps: int) -> float:
    """Return the learning rate [1] at a step: a linear rise, then half a cosine."""
    turn = 0.5 * (1.0 + np.cos(np.pi * step / steps))
    rate = _RATE * (_LAST_RATE + (1.0 - _LAST_RATE) * turn)
    return float(rate * min(1.0, (step + 1) / _WARM_UP))


def train(
    layers: Layers,
    z: FloatArray,
    y: FloatArray,
    w: FloatArray,
    settings: NetworkSettings,
    rng: np.random.Generator,
) -> None:
    """Train layers in place for the least weighted square error of z (N, d), y, w (N, k) [1]."""
    batch = min(int(settings.batch), len(z))
    steps = min(int(settings.steps), max(1, int(settings.passes) * len(z) // batch))
    data = [np.asarray(a, dtype=np.float32) for a in (z, y, w / w.mean())]
    slopes = Layers(*map(np.zeros_like, layers))
    optimisers = [Soap(stack) for stack in layers]
    batches = random_batches(data, batch, rng)
    for step in range(steps):
        loss_gradient(layers, slopes, *next(batches))
        for optimiser, slope in zip(optimisers, slopes, strict=True):
            optimiser.step(slope, rate_at(step, steps))


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


#: Least number of samples for each outer unit and input with splines.
_ROWS_FOR_SPLINES = 10


@dataclass(frozen=True)
class NetworkSettings:
    """Settings of a network fit."""

    #: Units of each of the two layers.
    hidden: int = 64
    #: Number of networks side by side, whose outputs are added up.
    networks: int = 4
    #: Total degree of the polynomial; lower for fewer than two samples for each term.
    base_degree: int = 3
    #: Number of products of the spline-polynomial; without terms, the polynomial stays.
    terms: int = 126
    #: Steps of the training of all networks, and most passes through the samples.
    steps: int = 12_000
    passes: int = 250
    #: Number of samples in a step.
    batch: int = 1024

    def __post_init__(self) -> None:
        for name in ("hidden", "networks", "steps", "passes", "batch"):
            check_number(name, getattr(self, name), at_least=1)
        check_number("base_degree", self.base_degree, at_least=0, at_most=8)
        check_number("terms", self.terms, at_least=0)


def fit_network(
    X: ArrayLike,
    Y: ArrayLike,
    settings: NetworkSettings | None = None,
    rng: np.random.Generator | None = None,
    weights: ArrayLike | None = None,
) -> Fitted:
    """Fit networks to Y (N, k) at X (N, d) [any unit], at least 20 rows (`fit_family`)."""
    # Weights (N, k) are those of each output of a sample; with weights (N,), all outputs have equal
    # influence. The check is at samples held back, of at least half the largest weight.
    chosen = settings or NetworkSettings()
    draw = rng or np.random.default_rng(0)
    x, y = check_training(X, Y)
    if len(x) < 20:
        raise InputError(f"X: expected at least 20 rows for a network, found {len(x)}")
    every = _output_weights(weights, y)
    w = every.mean(axis=1)
    (x_offset, x_scale), (y_offset, y_scale) = middle_and_half_range(x), mean_and_deviation(y)
    z, target = (x - x_offset) / x_scale, (y - y_offset) / y_scale
    full = np.flatnonzero(w >= 0.5 * w.max())
    out = np.sort(draw.permutation(full)[: max(2, round(_HELD_BACK * len(full)))])
    training = np.setdiff1d(np.arange(len(x)), out)
    exponents = _base_terms(z.shape[1], int(chosen.base_degree), len(training))
    base = _fit_base(z[training], target[training], w[training], exponents)
    residual = target[training] - _polynomial(z[training], exponents, base)
    size = np.sqrt(np.average(residual**2, axis=0, weights=w[training]))
    size = np.where(size > 1e-12, size, 0.0)  # a constant output does not need a network
    scaled = residual / np.where(size > 0.0, size, 1.0)
    nets, last = _trained(z[training], scaled, every[training], chosen, draw)
    last = last * size
    base[0] += last[-1]
    scalings = (x_offset, x_scale, y_offset, y_scale)
    weights = np.concatenate([base, last[:-1]]).T
    candidates = [linear_in("network", scalings, exponents, weights, **nets)]
    enough = len(training) >= _ROWS_FOR_SPLINES * (last.shape[0] + z.shape[1])
    if chosen.terms and z.shape[1] > 1 and enough:
        shear, fit = _beside(z[training], target[training], w[training], nets, chosen.terms, draw)
        weights = fit.coefficients(target[training]).T
        parts = {"knots": fit.knots, "shear": shear, **nets}
        candidates.append(linear_in("network", scalings, fit.exponents, weights, **parts))
    misses = [y[out] - regressor.predict(x[out]) for regressor in candidates]
    best = int(np.argmin([np.log(np.std(miss, axis=0) + 1e-12 * y_scale).sum() for miss in misses]))
    spread = fit_spread(z[out], misses[best])
    check = CrossCheck(out, misses[best], spread_at(spread, z[out]), "held back")
    return Fitted(replace(candidates[best], spread=spread), check)


def _beside(
    z: FloatArray,
    y: FloatArray,
    w: FloatArray,
    nets: dict[str, FloatArray],
    most: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, SplineFit]:
    """Return shear and least squares of a spline-polynomial and the outer units of networks."""
    settings = SplineSettings(most, _SPLINE_DEGREE, _SPLINE_PIECES)
    shear = found_shear(z, y, w, settings, rng)
    terms = kept_terms(*ordered_terms(z, y, w, shear, settings), settings.terms)
    units = _outer_units(z, nets)
    pieces = fewer_pieces(len(z) - 2 * units.shape[1], len(terms), settings.pieces)
    return shear, SplineFit(z, w, shear, terms, pieces, units)


def _output_weights(weights: ArrayLike | None, y: FloatArray) -> FloatArray:
    """Return the weights (N, k) of the outputs y (N, k) of every sample."""
    if weights is not None and np.ndim(weights) == 2:
        return check_array("weights", weights, y.shape, above=0.0)
    return np.repeat(check_weights(weights, len(y))[:, None], y.shape[1], axis=1)


def _base_terms(d: int, degree: int, rows: int) -> NDArray[np.int64]:
    while degree and 2 * len(polynomial_exponents(d, degree)) > rows:
        degree -= 1
    return polynomial_exponents(d, degree)


def _fit_base(
    z: FloatArray, y: FloatArray, w: FloatArray, exponents: NDArray[np.int64]
) -> FloatArray:
    """Return the coefficients (T, k) of the polynomial below the networks."""
    variances = 1.0 / (1.0 + exponents.sum(axis=1)) ** 2
    prior = Prior(exponents, variances, _RIDGE * float(w.sum()))
    return Ridge(z, y, w, prior, 0.0).coefficients


def _polynomial(
    z: FloatArray, exponents: NDArray[np.int64], coefficients: FloatArray
) -> FloatArray:
    blocks = row_blocks(len(z), len(exponents))
    return np.concatenate([basis_matrix(z[b], exponents) @ coefficients for b in blocks])


def _trained(
    z: FloatArray,
    y: FloatArray,
    w: FloatArray,
    settings: NetworkSettings,
    rng: np.random.Generator,
) -> tuple[dict[str, FloatArray], FloatArray]:
    """Return weights of trained networks by field, and the output layer's (M h + 1, k) [1]."""
    start, order = rng.spawn(2)
    count, units = int(settings.networks), int(settings.hidden)
    layers = Layers.random(count, units, z.shape[1], y.shape[1], start)
    train(layers, z, y, w, settings, order)
    inner, hidden, last = (stack.astype(np.float64) for stack in layers)
    nets = {
        "inner": inner[:, :-1], "inner_bias": inner[:, -1],
        "hidden": hidden[:, :-1], "hidden_bias": hidden[:, -1],
    }  # fmt: skip
    return nets, last[0]


def _outer_units(z: FloatArray, nets: dict[str, FloatArray]) -> FloatArray:
    """Return the outer units (N, M h) of all networks."""
    inner = np.tanh(z @ nets["inner"] + nets["inner_bias"][:, None])
    outer = np.tanh(inner @ nets["hidden"] + nets["hidden_bias"][:, None])
    return outer.transpose(1, 0, 2).reshape(len(z), -1)
