"""Expressions of a regressor: its outputs, and its first output along the last input.

The formula is that of `surrogates.core.regressor_data`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from surrogates.core.correlations import BY_CODE
from surrogates.core.packing import correlation_scales, sheared, spline_pieces
from surrogates.core.regressor_data import SPLINE_ORDER, RegressorData
from surrogates.expressions.functions import Expression
from surrogates.expressions.of_casadi import CasadiFunctions
from surrogates.expressions.of_jax import JaxFunctions

Functions = CasadiFunctions | JaxFunctions


class Learner:
    """Expressions of a regressor of d inputs and k outputs, in functions of CasADi or JAX."""

    def __init__(self, f: Functions, data: RegressorData) -> None:
        self.f, self.data = f, data
        self.outputs, self.inputs = data.outputs, data.inputs
        self._terms = data.splines * len(data.exponents)
        self._ends = np.cumsum([self._terms, len(data.points), *map(len, data.inner_bias)])
        self._points, self._rates = sheared(data, data.points), correlation_scales(data)

    def values(self, x: Expression, chosen: slice = slice(None)) -> Expression:
        """Return the chosen outputs (k',) at inputs x (d,) [any unit]."""
        f, data, z = self.f, self.data, self._scaled(x)
        weights = data.weights[chosen]
        total = self._polynomials(z, data.exponents, weights[:, : self._terms])

        def others(z: Sequence[Expression]) -> Expression:
            units = []
            for net, (inner, bias) in enumerate(zip(data.inner, data.inner_bias, strict=True)):
                # Not as a product with a vector, of whose derivatives compilers know no zeros.
                terms = (z[j] * f.constant(row) for j, row in enumerate(inner))
                units.append(self._units(net, sum(terms, f.constant(bias))))
            features = [self._correlations(self._here(z), range(self.inputs)), *units]
            return self._weighted(weights, features)

        if weights.shape[1] > self._terms:
            total = total + f.by_inputs(others, z)
        return f.constant(data.y_offset[chosen]) + f.constant(data.y_scale[chosen]) * total

    def line(self, u: Expression) -> list[Expression]:
        """Return what inputs u (d - 1,) [any unit] give to the first output, for `on_line`."""
        f, data, z = self.f, self.data, self._scaled(u)
        here = self._here(z)
        moved = data.shear[-1] != 0.0
        return [
            self._polynomials(z, self._kept, self._line_weights),
            here[0] if moved else 0.0,
            *self._separate(here, range(int(moved), self.inputs - 1)),
            *(
                f.matmul(inner[:-1].T, z) + f.constant(bias)
                for inner, bias in zip(data.inner, data.inner_bias, strict=True)
            ),
        ]

    def on_line(self, x: Expression, *line: Expression) -> Expression:
        """Return the first output at a last input x [any unit] and the inputs of a `line`."""
        f, data = self.f, self.data
        coefficients, first, exponent, factor, *fixed = line
        z = (x - float(data.x_offset[-1])) * float(1.0 / data.x_scale[-1])
        highest = coefficients.shape[0] - 1
        total = coefficients[highest]
        for e in range(highest - 1, -1, -1):
            total = total * z + coefficients[e]
        shear, d = float(data.shear[-1]), self.inputs
        here = [
            first + float(self._rates[0]) * shear * z,
            *[0.0] * (d - 2),
            float(self._rates[-1]) * z,
        ]
        moving = [0, d - 1] if shear else [d - 1]
        features = [self._correlations(here, moving, exponent, factor)]
        for net, rest in enumerate(fixed):
            features.append(self._units(net, rest + f.constant(data.inner[net][-1]) * z))
        if data.weights.shape[1] > self._terms:
            total = total + self._weighted(data.weights[:1], features)[0]
        return float(data.y_offset[0]) + float(data.y_scale[0]) * total

    def _scaled(self, x: Expression) -> Expression:
        """Return inputs x (d,), or the first of these, scaled."""
        offset, scale = (v[: x.shape[0]] for v in (self.data.x_offset, self.data.x_scale))
        if not offset.any() and (scale == 1.0).all():
            return x
        return (x - self.f.constant(offset)) * self.f.constant(1.0 / scale)

    def _weighted(self, weights: FloatArray, features: list[Expression]) -> Expression:
        """Return sums (k',) of correlations and of outer units, with all weights (k', F)."""
        parts = np.split(weights, self._ends, axis=1)[1:-1]
        products = [
            self.f.matmul(own, feature)
            for own, feature in zip(parts, features, strict=True)
            if own.shape[1]
        ]
        return sum(products[1:], products[0])

    # ---- the features

    def _polynomials(
        self, z: Expression, exponents: NDArray[np.int64], weights: FloatArray
    ) -> Expression:
        """Return sums (k,) of polynomial terms, or of splines times these, of weights (k, S T)."""
        f, data = self.f, self.data
        by_spline = weights.reshape(len(weights), data.splines, -1).swapaxes(0, 1)
        flat = by_spline.reshape(data.splines * len(weights), -1)
        sums = f.polynomials(z, exponents, data.wave, flat)
        if not data.pieces:
            return sums
        return f.combined(spline_values(f, data.knots, self._sheared_first(z)), sums)

    @cached_property
    def _kept(self) -> NDArray[np.int64]:
        """Exponents (R, d - 1) of the terms without the last input."""
        exponents = self.data.exponents
        return exponents[exponents[:, -1] == 0][:, :-1]

    @cached_property
    def _line_weights(self) -> FloatArray:
        """Weights (D + 1, S R) of the terms without the last input, for powers of that input."""
        data = self.data
        place = {tuple(row): i for i, row in enumerate(self._kept.tolist())}
        highest = int(data.exponents[:, -1].max())
        rows = np.zeros((highest + 1, data.splines, len(place)))
        weights = data.weights[0, : self._terms].reshape(data.splines, -1)
        for row, weight in zip(data.exponents.tolist(), weights.T, strict=True):
            powers = legendre.leg2poly(np.eye(highest + 1)[row[-1]])
            rows[: len(powers), :, place[tuple(row[:-1])]] += np.outer(powers, weight)
        return rows.reshape(highest + 1, -1)

    def _sheared_first(self, z: Sequence[Expression] | Expression) -> Expression:
        """Return the first of the inputs z, sheared by the others of z."""
        shear = self.data.shear[: z.shape[0] if hasattr(z, "shape") else len(z)]
        return sum((float(shear[j]) * z[int(j)] for j in np.flatnonzero(shear)), z[0])

    def _here(self, z: Sequence[Expression] | Expression) -> list[Expression]:
        """Return z in the units of the correlations, the first sheared by the others."""
        count = z.shape[0] if hasattr(z, "shape") else len(z)
        sheared_z = [self._sheared_first(z), *(z[j] for j in range(1, count))]
        return [float(rate) * own for rate, own in zip(self._rates, sheared_z, strict=False)]

    def _correlations(
        self, here: Sequence[Expression], chosen: Iterable[int], *others: Expression
    ) -> Expression:
        """Return the correlations (n,) over chosen inputs and `others`; 0 without points."""
        if not len(self._points):
            return 0.0
        exponent, factor = self._separate(here, chosen, *others)
        return factor * BY_CODE[self.data.kinds[0]].close(self.f, exponent)

    def _separate(
        self,
        here: Sequence[Expression],
        chosen: Iterable[int],
        exponent: Expression = 0.0,
        factor: Expression = 1.0,
    ) -> tuple[Expression, Expression]:
        """Return sums of exponents and products of factors of the correlations, (n,) or numbers."""
        for j in chosen if len(self._points) else ():
            u = here[j] - self.f.constant(self._points[:, j])
            more, times = BY_CODE[self.data.kinds[j]].along(self.f, u)
            exponent, factor = exponent + more, factor * times
        return exponent, factor

    def _units(self, net: int, before: Expression) -> Expression:
        """Return the outer units (h,) of a network from what its inner units add up."""
        f, data = self.f, self.data
        inner = f.matmul(data.hidden[net].T, f.tanh(before))
        return f.tanh(inner + f.constant(data.hidden_bias[net]))


def spline_values(f: Functions, knots: FloatArray, x: Expression) -> Expression:
    """Return the cubic B-splines (S,) of knots (S + 4,) at x [1].

    The cubics of the first and of the last piece go on beyond the knots. The splines are sums over
    all pieces, as expressions have no other choice of a piece: of each piece, powers of the
    distance from its beginning, times 1 in the piece and 0 elsewhere.
    """
    ends, powers = spline_pieces(knots)
    pieces = len(powers)
    matrix = np.zeros((pieces + SPLINE_ORDER - 1, SPLINE_ORDER, pieces))
    for piece, own in enumerate(powers):
        matrix[piece : piece + SPLINE_ORDER, :, piece] = own.T
    inner = f.constant(ends[1:-1])
    beyond = [f.where(x >= inner, 1.0 + 0.0 * inner, 0.0 * inner)] if pieces > 1 else []
    inside = f.join([1.0, *beyond]) - f.join([*beyond, 0.0])
    t = x - f.matmul(ends[None, :-1], inside)[0]
    powers_of_t = f.join([inside, t * inside, t * t * inside, t * t * t * inside])
    return f.matmul(matrix.reshape(len(matrix), -1), powers_of_t)
