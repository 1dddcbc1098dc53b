"""Features of a regressor with their first and second derivatives, in matrix operations of JAX.

A jet is a list of arrays over the features: the values, the derivatives by each of d inputs, and,
for order 2, those by each pair of inputs (i, j), i <= j, in the order of `pairs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from surrogates.core.packing import correlation_scales
from surrogates.core.regressor_data import RegressorData
from surrogates.expressions.functions import Expression
from surrogates.expressions.learners import Learner, along_one


def pairs(inputs: int) -> list[tuple[int, int]]:
    """Return the pairs (i, j), i <= j, of inputs."""
    return [(i, j) for i in range(inputs) for j in range(i, inputs)]


def closure(exponents: NDArray[np.int64], wave: float) -> NDArray[np.int64]:
    """Return the exponents (M, d) of terms of which all derivatives are sums of these terms.

    With all lower degrees in every input and, of a Fourier series, sine and cosine of a frequency.
    """
    found: set[tuple[int, ...]] = set()
    for row in exponents.tolist():
        if wave > 0.0:
            row[0] += row[0] % 2
        found |= set(product(*(range(e + 1) for e in row)))
    return np.array(sorted(found), dtype=np.int64)


def derivative_weights(
    data: RegressorData, own: FloatArray, terms: NDArray[np.int64], order: int
) -> FloatArray:
    """Return weights (M, R) of terms for k outputs and their derivatives up to an order [1].

    From the outputs' `own` weights (k, T) of the polynomial terms. In blocks of k columns, in the
    order of a jet: the derivative of a Legendre polynomial is a sum of Legendre polynomials, P'_e =
    sum of (2 m + 1) P_m over m = e - 1, e - 3, ...
    """
    place = {tuple(row): t for t, row in enumerate(terms.tolist())}
    weights = np.zeros((len(terms), len(own)))
    for row, column in zip(data.exponents.tolist(), own.T, strict=True):
        weights[place[tuple(row)]] = column
    blocks, d = [weights], data.inputs
    if order:
        first = [_differentiated(weights, terms, place, j, data.wave) for j in range(d)]
        blocks += first
        if order > 1:
            blocks += [_differentiated(first[i], terms, place, j, data.wave) for i, j in pairs(d)]
    return np.concatenate(blocks, axis=1)


def _differentiated(
    weights: FloatArray,
    terms: NDArray[np.int64],
    place: Mapping[tuple[int, ...], int],
    j: int,
    wave: float,
) -> FloatArray:
    """Return the weights (M, k) of the derivative by input j of terms times weights (M, k)."""
    found = np.zeros_like(weights)
    for row, own in zip(terms.tolist(), weights, strict=True):
        e = row[j]
        if j == 0 and wave > 0.0:
            turns = wave * ((e + 1) // 2)
            row[0] = e + 1 if e % 2 else e - 1
            if e:
                found[place[tuple(row)]] += turns * own if e % 2 else -turns * own
            continue
        for m in range(e - 1, -1, -2):
            row[j] = m
            found[place[tuple(row)]] += (2 * m + 1) * own
    return found


def correlation_jet(learner: Learner, z: Expression, order: int) -> list[Expression]:
    """Return the jet (n,) of the correlations by the inputs in units of the correlations."""
    f, d = learner.f, learner.inputs
    here, points = moves(learner) @ z, learner._points
    exponent: Any = 0.0
    factor: Any = 1.0
    slopes, bends = [], []
    for j in range(d):
        u = here[j] - f.constant(points[:, j])
        more, other, slope, bend = along_one(f, u, int(learner.data.kinds[j]))
        exponent, factor = exponent + more, factor * other
        slopes.append(slope)
        bends.append(bend)
    value = factor * f.exp(-exponent)
    found = [value]
    if order:
        first = [value * slope for slope in slopes]
        found += first
        if order > 1:
            found += [value * bends[i] if i == j else first[i] * slopes[j] for i, j in pairs(d)]
    return found


def moves(learner: Learner) -> Expression:
    """Return the matrix (d, d) from scaled inputs to the inputs of the correlations."""
    matrix = np.eye(learner.inputs)
    matrix[0] += learner.data.shear
    return learner.f.constant(matrix * correlation_scales(learner.data)[:, None])


def network_jet(learner: Learner, net: int, z: Expression, order: int) -> list[Expression]:
    """Return the jet (h,) of the outer units of a network at scaled inputs z (d,) [1]."""
    f: Any = learner.f
    data, d = learner.data, learner.inputs
    jnp, inner = f.jax.numpy, f.constant(data.inner[net])
    t = f.tanh(z @ inner + f.constant(data.inner_bias[net]))
    rows = [t[None]]
    if order:
        slopes = (1.0 - t * t) * inner
        rows.append(slopes)
        if order > 1:
            i, j = (np.array(column) for column in zip(*pairs(d), strict=True))
            rows.append(-2.0 * t * slopes[i] * inner[j])
    mixed = jnp.concatenate(rows) @ f.constant(data.hidden[net])
    outer = f.tanh(mixed[0] + f.constant(data.hidden_bias[net]))
    found = [outer]
    if order:
        falling = 1.0 - outer * outer
        first = falling * mixed[1 : d + 1]
        found += list(first)
        if order > 1:
            bends = falling * mixed[d + 1 :] - 2.0 * outer * first[i] * mixed[1 : d + 1][j]
            found += list(bends)
    return found
