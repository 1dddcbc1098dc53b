"""Fitting of networks: two layers of tanh units on top of a polynomial of low degree.

The networks are trained together (`surrogates.families.network_training`): the polynomial plus the
sum of all networks approximates the outputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_number
from foundation.base.errors import InputError
from surrogates.families.basis import basis_matrix, row_blocks
from surrogates.families.cross_validation import CrossCheck, Fitted, fit_spread, spread_at
from surrogates.families.network_training import Layers, Training, train
from surrogates.families.polynomial_evidence import Prior, Ridge
from surrogates.families.regressor import linear_in
from surrogates.families.training import (
    check_training,
    check_weights,
    mean_and_deviation,
    middle_and_half_range,
    polynomial_exponents,
)


@dataclass(frozen=True)
class NetworkSettings:
    """Settings of a network fit.

    Attributes
    ----------
    hidden : int
        Units of each of the two layers.
    networks : int
        Number of networks side by side, whose outputs are added up.
    base_degree : int
        Total degree of the polynomial; lowered for fewer than two samples for each term.
    ridge : float
        Penalty on the squared coefficients of the polynomial, over the number of samples [1]; grows
        as the square of one plus the degree.
    steps : int
        Steps of the training of all networks together; at most 250 passes through the samples.
    batch : int
        Number of samples in a step.
    rate, last_rate : float
        Learning rate after the warm-up of 300 steps, and the fraction of the rate at the end [1].
    held_back : float
        Fraction of the samples, drawn at random, that is kept for the check [1].
    """

    hidden: int = 64
    networks: int = 4
    base_degree: int = 4
    ridge: float = 1e-7
    steps: int = 12_000
    batch: int = 1024
    rate: float = 3e-2
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
    """Fit networks to outputs Y (N, k) at inputs X (N, d) [any unit].

    Arguments as of `surrogates.families.registry.fit_family`; `rng` draws the samples held back,
    the starts and the batches. Weights (N, k) are those of each output of a sample; with weights
    (N,), all outputs have equal influence. The check is at the samples held back, drawn from
    samples of at least half the largest weight. Raises `InputError` if the data are malformed or
    have fewer than 20 rows.
    """
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
    out = np.sort(draw.permutation(full)[: max(2, round(chosen.held_back * len(full)))])
    kept = np.setdiff1d(np.arange(len(x)), out)
    exponents = _base_terms(z.shape[1], int(chosen.base_degree), len(kept))
    base = _fit_base(z[kept], target[kept], w[kept], exponents, chosen.ridge)
    rest = target[kept] - _polynomial(z[kept], exponents, base)
    size = np.sqrt(np.average(rest**2, axis=0, weights=w[kept]))
    size = np.where(size > 1e-12, size, 0.0)  # a constant output does not need a network
    scaled = rest / np.where(size > 0.0, size, 1.0)
    nets = _trained(z[kept], scaled, every[kept], chosen, draw)
    last = nets["last"] * size
    base[0] += last[-1]
    hidden = _outer_units(z[out], nets) @ last[:-1]
    left = (target[out] - _polynomial(z[out], exponents, base) - hidden) * y_scale
    spread = fit_spread(z[out], left)
    check = CrossCheck(out, left, spread_at(spread, z[out]), "held back")
    regressor = linear_in(
        "network", (x_offset, x_scale, y_offset, y_scale), exponents,
        np.concatenate([base, last[:-1]]).T, spread=spread,
        inner=nets["inner"], inner_bias=nets["inner_bias"],
        hidden=nets["hidden"], hidden_bias=nets["hidden_bias"],
    )  # fmt: skip
    return Fitted(regressor, check)


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


def _trained(
    z: FloatArray,
    y: FloatArray,
    w: FloatArray,
    settings: NetworkSettings,
    rng: np.random.Generator,
) -> dict[str, FloatArray]:
    """Return the weights of networks trained on scaled inputs and outputs, by field."""
    start, order = rng.spawn(2)
    nets, units = int(settings.networks), int(settings.hidden)
    layers = Layers.random(nets, units, z.shape[1], y.shape[1], start)
    training = Training(int(settings.steps), int(settings.batch), settings.rate, settings.last_rate)
    train(layers, z, y, w, training, order)
    inner, hidden, last = (stack.astype(np.float64) for stack in layers)
    return {
        "inner": inner[:, :-1], "inner_bias": inner[:, -1],
        "hidden": hidden[:, :-1], "hidden_bias": hidden[:, -1], "last": last[0],
    }  # fmt: skip


def _outer_units(z: FloatArray, nets: dict[str, FloatArray]) -> FloatArray:
    """Return the outer units (N, M h) of all networks."""
    inner = np.tanh(z @ nets["inner"] + nets["inner_bias"][:, None])
    outer = np.tanh(inner @ nets["hidden"] + nets["hidden_bias"][:, None])
    return outer.transpose(1, 0, 2).reshape(len(z), -1)
