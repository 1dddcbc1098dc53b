"""Expressions of a regressor: its outputs, and its first output along the last input.

The formula is that of `surrogates.core.regressor_data`.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from surrogates.core.packing import correlation_scales, sheared
from surrogates.core.regressor_data import CORRELATIONS, RegressorData
from surrogates.expressions.functions import Expression, Functions
from surrogates.expressions.splines import spline_values

_SMOOTH, _MATERN_52 = CORRELATIONS["squared_exponential"], CORRELATIONS["matern52"]


class Learner:
    """Expressions of a regressor in one namespace.

    Parameters
    ----------
    f : Functions
        Namespace.
    data : RegressorData
        Numbers of the regressor.
    """

    def __init__(self, f: Functions, data: RegressorData) -> None:
        self.f, self.data = f, data
        self.outputs, self.inputs = data.outputs, data.inputs
        self.terms, self.count = data.splines * len(data.exponents), len(data.points)

    @cached_property
    def _points(self) -> FloatArray:
        return sheared(self.data, self.data.points)

    def values(self, x: Expression, skip: int = 0) -> Expression:
        """Return the outputs from number `skip` on, (k - skip,), at inputs x (d,) [any unit]."""
        f, data = self.f, self.data
        z = self._scaled(x, self.inputs)
        weights = data.weights[skip:]
        total = f.matmul(weights[:, : self.terms], self._terms(z, data.exponents))
        at = self.terms
        if self.count:
            exponent, factor = self._distances(self._here(z), range(self.inputs))
            correlations = factor * f.exp(-exponent)
            total = total + f.matmul(weights[:, at : at + self.count], correlations)
            at += self.count
        for net in range(len(data.inner)):
            units = data.inner.shape[2]
            inner = f.tanh(f.matmul(data.inner[net].T, z) + f.constant(data.inner_bias[net]))
            outer = f.tanh(f.matmul(data.hidden[net].T, inner) + f.constant(data.hidden_bias[net]))
            total = total + f.matmul(weights[:, at : at + units], outer)
            at += units
        return f.constant(data.y_offset[skip:]) + f.constant(data.y_scale[skip:]) * total

    def first_at(self, line: Line, u: Expression, x: Expression) -> Expression:
        """Return the first output at u (d - 1,), of which `line` is, and a last input x."""
        return line.at(x)[0]

    def gradient(self, x: Expression) -> Expression:
        """Return the derivatives (d,) of the first output at inputs x (d,) [any unit]."""
        return self.f.gradient(lambda at: self.values(at)[0], x)

    def line(self, u: Expression) -> Line:
        """Return the first output along the last input, with the other inputs u (d - 1,) fixed."""
        f, data = self.f, self.data
        z = self._scaled(u, self.inputs - 1)
        coefficients = self._coefficients(z)
        base = here = None
        if self.count:
            moved = data.shear[-1] != 0.0
            here = self._here(z)
            exponent, factor = self._distances(here, range(int(moved), self.inputs - 1))
            weights = f.constant(data.weights[0, self.terms : self.terms + self.count])
            base = weights * factor * f.exp(-exponent)
        fixed = [
            f.matmul(inner[:-1].T, z) + f.constant(bias)
            for inner, bias in zip(data.inner, data.inner_bias, strict=True)
        ]
        return Line(self, coefficients, here, base, fixed)

    def _coefficients(self, z: Expression) -> Expression:
        """Return the coefficients (D + 1,) of the line at scaled inputs z (d - 1,)."""
        return self.f.matmul(self._line_weights, self._terms(z, self._rest_exponents))

    def _scaled(self, x: Expression, inputs: int) -> Expression:
        offset, scale = self.data.x_offset[:inputs], self.data.x_scale[:inputs]
        if not offset.any() and (scale == 1.0).all():
            return x
        return (x - self.f.constant(offset)) * self.f.constant(1.0 / scale)

    def _sheared_first(self, z: Expression) -> Expression:
        """Return the first of the inputs z (d,) or (d - 1,), sheared by the others of z."""
        first = z[0]
        for j in range(1, z.shape[0]):
            if self.data.shear[j]:
                first = first + float(self.data.shear[j]) * z[j]
        return first

    def _here(self, z: Expression) -> list[Expression]:
        """Return z in the units of the correlations, the first sheared by the others."""
        first, scales = self._sheared_first(z), correlation_scales(self.data)
        return [float(scales[j]) * (z[j] if j else first) for j in range(z.shape[0])]

    def _distances(self, here: list[Expression], chosen: range) -> tuple[Expression, Expression]:
        """Return exponents and factors (n,) of the correlations over some inputs."""
        exponent: Expression = 0.0
        factor: Expression = 1.0
        for j in chosen:
            u = here[j] - self.f.constant(self._points[:, j])
            more, other, _, _ = along_one(self.f, u, int(self.data.kinds[j]))
            exponent = exponent + more
            factor = factor * other
        return exponent, factor

    def _terms(self, z: Expression, exponents: NDArray[np.int64]) -> Expression:
        """Return each spline times each polynomial term, (S T,); see `_products`."""
        products = self._products(z, exponents)
        if not self.data.pieces:
            return products
        return self.f.outer(
            spline_values(self.f, self.data.knots, self._sheared_first(z)), products
        )

    def _products(self, z: Expression, exponents: NDArray[np.int64]) -> Expression:
        """Return the polynomial terms (T,) of exponents (T, d') at the first d' inputs z (d',)."""
        f, wave = self.f, self.data.wave
        table = legendre_values(z, int(exponents.max()))
        if wave > 0.0:
            series = fourier(f, z[0], len(table) - 1, wave)
            table = [f.join([s, t[1:]]) for s, t in zip(series, table, strict=True)]
        return f.products(table, exponents)

    @cached_property
    def _line_weights(self) -> FloatArray:
        """Weights (D + 1, S R) of the terms without the last input, for powers of that input."""
        data = self.data
        degrees = data.exponents[:, -1]
        kept = np.flatnonzero(degrees == 0)
        place = {tuple(row[:-1]): i for i, row in enumerate(data.exponents[kept])}
        rows = np.zeros((int(degrees.max()) + 1, data.splines, len(kept)))
        weights = data.weights[0, : self.terms].reshape(data.splines, -1)
        for row, weight in zip(data.exponents, weights.T, strict=True):
            rows[row[-1], :, place[tuple(row[:-1])]] += weight
        powers = np.zeros((len(rows), len(rows)))
        for e in range(len(rows)):
            powers[: e + 1, e] = legendre.leg2poly(np.eye(len(rows))[e])[: e + 1]
        return np.asarray(powers @ rows.reshape(len(rows), -1))

    @cached_property
    def _rest_exponents(self) -> NDArray[np.int64]:
        exponents = self.data.exponents
        return exponents[exponents[:, -1] == 0][:, :-1]


class Line(NamedTuple):
    """First output along the last input.

    Attributes
    ----------
    learner : Learner
        Regressor.
    coefficients : (D + 1,)
        Of the powers of the scaled last input.
    here, base
        Scaled inputs and weights times correlations (n,) over the other inputs.
    fixed
        Part of each network's first layer, (h,), that the other inputs give.
    """

    learner: Learner
    coefficients: Expression
    here: Expression
    base: Expression
    fixed: list[Expression]

    def at(self, x: Expression, bend: bool = False) -> tuple[Expression, ...]:
        """Return the value and its first (and second, with `bend`) derivative by the last input."""
        data = self.learner.data
        scale = float(1.0 / data.x_scale[-1])
        z = (x - float(data.x_offset[-1])) * scale
        parts = [self._polynomial(z, bend)]
        if self.base is not None:
            parts.append(self._correlations(z, bend))
        at = self.learner.terms + self.learner.count
        for net, fixed in enumerate(self.fixed):
            units = data.inner.shape[2]
            parts.append(self._network(net, fixed, z, data.weights[:1, at : at + units], bend))
            at += units
        size = float(data.y_scale[0])
        sums = [sum(column[1:], column[0]) for column in zip(*parts, strict=True)]
        factors = (size, size * scale, size * scale * scale)
        found = [factor * total for factor, total in zip(factors, sums, strict=False)]
        return float(data.y_offset[0]) + found[0], *found[1:]

    def _polynomial(self, z: Expression, bend: bool) -> tuple[Expression, ...]:
        highest = self.coefficients.shape[0] - 1
        value = self.coefficients[highest]
        slope = curve = 0.0 * value
        for e in range(highest - 1, -1, -1):
            if bend:
                curve = curve * z + 2.0 * slope
            slope = slope * z + value
            value = value * z + self.coefficients[e]
        return (value, slope, curve) if bend else (value, slope)

    def _correlations(self, z: Expression, bend: bool) -> tuple[Expression, ...]:
        learner, f = self.learner, self.learner.f
        data, last = learner.data, learner.inputs - 1
        scales = correlation_scales(data)
        u = float(scales[last]) * z - f.constant(learner._points[:, last])
        exponent, factor, steep, curve = along_one(f, u, int(data.kinds[last]))
        steep, curve = float(scales[last]) * steep, float(scales[last]) ** 2 * curve
        if data.shear[-1] != 0.0:
            shear = float(data.shear[-1] * scales[0])
            v = self.here[0] + shear * z - f.constant(learner._points[:, 0])
            more, other, by_first, first_curve = along_one(f, v, int(data.kinds[0]))
            exponent, factor = exponent + more, factor * other
            by_first = shear * by_first
            curve = curve + 2.0 * steep * by_first + shear * shear * first_curve
            steep = steep + by_first
        found = self.base * factor * f.exp(-exponent)
        total = [_total(f, found), _total(f, found * steep)]
        return (*total, _total(f, found * curve)) if bend else tuple(total)

    def _network(
        self, net: int, fixed: Expression, z: Expression, weights: FloatArray, bend: bool
    ) -> tuple[Expression, ...]:
        f, data = self.learner.f, self.learner.data
        by_last, hidden = f.constant(data.inner[net][-1]), data.hidden[net].T
        inner = f.tanh(fixed + by_last * z)
        slope = (1.0 - inner * inner) * by_last
        outer = f.tanh(f.matmul(hidden, inner) + f.constant(data.hidden_bias[net]))
        falling, steep = 1.0 - outer * outer, f.matmul(hidden, slope)
        found = [f.matmul(weights, outer)[0], f.matmul(weights, falling * steep)[0]]
        if bend:
            curve = f.matmul(hidden, -2.0 * inner * slope * by_last)
            curve = falling * (curve - 2.0 * outer * steep * steep)
            found.append(f.matmul(weights, curve)[0])
        return tuple(found)


def _total(f: Functions, x: Expression) -> Expression:
    return f.matmul(np.ones((1, x.shape[0])), x)[0]


def along_one(f: Functions, u: Expression, kind: int) -> tuple[Expression, ...]:
    """Return exponent and factor of the correlation over scaled distances u of one input.

    And the first and second derivative of the correlation by u, over the correlation.
    """
    if kind == _SMOOTH:
        return u * u, 1.0, -2.0 * u, 4.0 * u * u - 2.0
    # |u| with the slope 1 at 0, from which the second derivative there is right.
    a = f.where(u >= 0.0, u, -u)
    if kind == _MATERN_52:
        factor = 1.0 + a * (1.0 + a * (1.0 / 3.0))
        return a, factor, -u * (1.0 + a) / (3.0 * factor), (a * a - a - 1.0) / (3.0 * factor)
    factor = 1.0 + a
    return a, factor, -u / factor, (a - 1.0) / factor


def legendre_values(z: Expression, degree: int) -> list[Expression]:
    """Return the Legendre polynomials P_0 to P_degree at z (d,), by Bonnet's recursion."""
    found = [1.0 + 0.0 * z, z]
    for e in range(1, degree):
        found.append(((2 * e + 1) / (e + 1)) * z * found[e] - (e / (e + 1)) * found[e - 1])
    return found[: degree + 1]


def fourier(f: Functions, z: Expression, degree: int, wave: float) -> list[Expression]:
    """Return 1, sin(wave z), cos(wave z), sin(2 wave z), ... of `degree` + 1 functions of z."""
    found: list[Expression] = [1.0]
    sine, cosine = f.sin(wave * z), f.cos(wave * z)
    s, c = sine, cosine
    for e in range(1, degree + 1):
        if e > 1 and e % 2 == 1:
            s, c = s * cosine + c * sine, c * cosine - s * sine
        found.append(s if e % 2 == 1 else c)
    return found
