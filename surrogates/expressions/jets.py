"""Features of a regressor with their first and second derivatives, in matrix operations of JAX.

A jet is a list of arrays over the features: the values, the derivatives by each of d inputs, and,
for order 2, those by each pair of inputs (i, j), i <= j, in the order of `pairs`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surrogates.compiled.packing import correlation_scales
from surrogates.expressions.functions import Expression
from surrogates.expressions.learners import Learner, along_one, fourier, legendre_values


def pairs(inputs: int) -> list[tuple[int, int]]:
    """Return the pairs (i, j), i <= j, of inputs."""
    return [(i, j) for i in range(inputs) for j in range(i, inputs)]


def polynomial_jet(learner: Learner, z: Expression, order: int) -> list[Expression]:
    """Return the jet (T,) of the polynomial terms at scaled inputs z (d,) [1]."""
    f: Any = learner.f
    jnp, d, exponents = f.jax.numpy, learner.inputs, learner.data.exponents
    degrees = int(exponents.max()) + 1
    tables = _tables(learner, z, degrees - 1)[: order + 1]
    chosen = np.zeros((d, degrees, len(exponents)))
    for j in range(d):
        chosen[j, exponents[:, j], np.arange(len(exponents))] = 1.0
    # (input, derivative, degree) times (input, degree, term): one entry of a table for each term.
    entries = jnp.stack([jnp.stack(table) for table in tables]).transpose(2, 0, 1)
    picked = entries @ f.constant(chosen)
    value = picked[0, 0]
    first = {0: picked[0, 1]} if order else {}
    second = {(0, 0): picked[0, 2]} if order > 1 else {}
    for j in range(1, d):
        here = picked[j]
        second = {pair: bend * here[0] for pair, bend in second.items()}
        if order > 1:
            second |= {(i, j): slope * here[1] for i, slope in first.items()}
            second[j, j] = value * here[2]
        first = {i: slope * here[0] for i, slope in first.items()}
        if order:
            first[j] = value * here[1]
        value = value * here[0]
    return [value, *first.values(), *(second[pair] for pair in pairs(d) if second)]


def _tables(learner: Learner, z: Expression, degree: int) -> list[list[Expression]]:
    """Return the polynomials (d,) by degree, their first and their second derivatives."""
    f, wave = learner.f, learner.data.wave
    values = legendre_values(z, degree)
    slopes, bends = [0.0 * z], [0.0 * z]
    for e in range(1, degree + 1):
        for found, by in ((slopes, values), (bends, slopes)):
            before = found[e - 2] if e > 1 else 0.0
            found.append(before + (2 * e - 1) * by[e - 1])
    if wave > 0.0:
        series = fourier(f, z[0], degree, wave)
        for e in range(1, degree + 1):
            turns = wave * ((e + 1) // 2)
            slope = turns * f.cos(turns * z[0]) if e % 2 else -turns * series[e - 1]
            values[e] = values[e].at[0].set(series[e])
            slopes[e] = slopes[e].at[0].set(slope)
            bends[e] = bends[e].at[0].set(-turns * turns * series[e])
    return [values, slopes, bends]


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
