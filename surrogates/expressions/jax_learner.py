"""A regressor as a function of JAX whose derivatives are sums of the features' derivatives."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from surrogates.core.regressor_data import SPLINE_ORDER
from surrogates.expressions.functions import Expression, whole_numbers
from surrogates.expressions.jets import (
    closure,
    correlation_jet,
    derivative_weights,
    moves,
    network_jet,
    pairs,
)
from surrogates.expressions.learners import Learner, Line
from surrogates.expressions.splines import four_splines


class JaxLearner(Learner):
    """Expressions of a regressor in JAX, with its Jacobian and Hessian as matrix products."""

    def values(self, x: Expression, skip: int = 0) -> Expression:
        """Return the outputs from number `skip` on, (k - skip,), at inputs x (d,) [any unit]."""
        return self._functions(slice(skip, None))[0](x)

    def first_at(self, line: Line, u: Expression, x: Expression) -> Expression:
        """Return the first output at u (d - 1,) and a last input x [any unit]."""
        return self._functions(slice(1))[0](self.f.join([u, x]))[0]

    def gradient(self, x: Expression) -> Expression:
        """Return the derivatives (d,) of the first output at inputs x (d,) [any unit]."""
        return self._functions(slice(1))[1](x)[1][0]

    def _functions(self, chosen: slice) -> tuple[Any, Any]:
        """Return the functions of x (d,) to chosen outputs (k,), and to these and their Jacobian.

        The derivatives of both are those of `_jet`.
        """
        f: Any = self.f
        custom = f.jax.custom_jvp
        first = custom(lambda x: self._jet(x, 1, chosen))
        value = custom(lambda x: self._jet(x, 0, chosen)[0])

        @first.defjvp
        def _(primals: Any, tangents: Any) -> Any:
            found, jacobian, hessian = self._jet(primals[0], 2, chosen)
            (change,) = tangents
            return (found, jacobian), (_times(jacobian, change), _times(hessian, change))

        @value.defjvp
        def _(primals: Any, tangents: Any) -> Any:
            found, jacobian = first(primals[0])
            return found, _times(jacobian, tangents[0])

        return value, first

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """Place in `pairs` of each entry (d d,) of a symmetric matrix."""
        d, places = self.inputs, {pair: p for p, pair in enumerate(pairs(self.inputs))}
        return np.array([places[min(i, j), max(i, j)] for i in range(d) for j in range(d)])

    def _jet(self, x: Expression, order: int, chosen: slice) -> tuple[Expression, ...]:
        """Return chosen outputs (k,), Jacobian (k, d) and Hessian (k, d, d) up to an order."""
        f, data = self.f, self.data
        z = (x - f.constant(data.x_offset)) * f.constant(1.0 / data.x_scale)
        weights, at = data.weights[chosen], self.terms
        total = self._polynomials(z, order, weights[:, :at])
        if self.count:
            jet = correlation_jet(self, z, order)
            more = self._weighted(jet, weights[:, at : at + self.count])
            matrix = moves(self)
            more[1:2] = [more[1] @ matrix] if order else []
            more[2:3] = [matrix.T @ more[2] @ matrix] if order > 1 else []
            total = [a + b for a, b in zip(total, more, strict=True)]
            at += self.count
        for net in range(len(data.inner)):
            units = data.inner.shape[2]
            more = self._weighted(network_jet(self, net, z, order), weights[:, at : at + units])
            total = [a + b for a, b in zip(total, more, strict=True)]
            at += units
        size, scale = f.constant(data.y_scale[chosen]), f.constant(1.0 / data.x_scale)
        found = [f.constant(data.y_offset[chosen]) + size * total[0]]
        if order:
            found.append(size[:, None] * total[1] * scale)
        if order > 1:
            found.append(size[:, None, None] * total[2] * scale[:, None] * scale)
        return tuple(found)

    @cached_property
    def _closed(self) -> NDArray[np.int64]:
        """Exponents (T', d) of the polynomial terms and of those in their derivatives."""
        return closure(self.data.exponents, self.data.wave)

    def _polynomials(self, z: Expression, order: int, own: FloatArray) -> list[Expression]:
        """Return the jet of polynomials or spline-polynomials of weights own (k, S T)."""
        f: Any = self.f
        data, outputs = self.data, len(own)
        products = self._products(z, self._closed)
        by_spline = own.reshape(outputs, data.splines, -1).swapaxes(0, 1)
        flat = by_spline.reshape(data.splines * outputs, -1)
        weights = derivative_weights(data, flat, self._closed, order)
        if not data.pieces:
            return self._split((products @ f.constant(weights)).reshape(-1, outputs))
        # The sums of all splines by one matrix are faster than weights gathered for each input.
        blocks = weights.reshape(len(weights), -1, len(flat))
        used = whole_numbers(np.flatnonzero(blocks.any(axis=(0, 2))))  # none by the first input
        sums = products @ f.constant(blocks[:, used].reshape(len(weights), -1))
        blended = self._blended(sums.reshape(-1, data.splines, outputs), z, order)
        empty = f.jax.numpy.zeros_like(blended[:, 0])
        rows = [
            blended[:, used.index(block)] if block in used else empty
            for block in range(blocks.shape[1])
        ]
        whole = f.jax.numpy.stack(rows, axis=1)
        return self._along_splines([self._split(row) for row in whole])

    def _blended(self, sums: Expression, z: Expression, order: int) -> Expression:
        """Return sums (R, S, k) of splines, times the splines at z and their derivatives.

        (order + 1, R, k): of the S splines the four that are not zero at z are used.
        """
        f: Any = self.f
        piece, splines = four_splines(f, self.data.knots, self._sheared_first(z), order)
        own = f.jax.lax.dynamic_slice_in_dim(sums, piece, SPLINE_ORDER, axis=1)
        # A product of batches of small matrices is slow.
        return (splines[:, None, :, None] * own).sum(axis=2)

    def _coefficients(self, z: Expression) -> Expression:
        """Return the coefficients (D + 1,) of the line at scaled inputs z (d - 1,)."""
        data = self.data
        if not data.pieces:
            return super()._coefficients(z)
        powers = len(self._line_weights)
        weights = self._line_weights.reshape(powers, data.splines, -1).transpose(2, 1, 0)
        products = self._products(z, self._rest_exponents)
        sums = products @ self.f.constant(weights.reshape(len(weights), -1))
        return self._blended(sums.reshape(1, data.splines, powers), z, 0)[0, 0]

    def _along_splines(self, parts: list[list[Expression]]) -> list[Expression]:
        """Return the jet of splines times terms.

        `parts` are the jets of the terms alone, times the splines, their first, and their second
        derivatives.
        """
        found = parts[0]
        along = self.f.constant(np.eye(self.inputs)[0] + self.data.shear)
        if len(parts) > 1:
            found[1] = found[1] + parts[1][0][:, None] * along
        if len(parts) > 2:
            mixed = parts[1][1][:, :, None] * along
            bends = parts[2][0][:, None, None] * along[:, None] * along
            found[2] = found[2] + mixed + mixed.swapaxes(1, 2) + bends
        return found

    def _weighted(self, jet: list[Expression], weights: np.ndarray) -> list[Expression]:
        f: Any = self.f
        return self._split(f.jax.numpy.stack(jet) @ f.constant(weights.T))

    def _split(self, sums: Expression) -> list[Expression]:
        """Return outputs (k,), Jacobian (k, d) and Hessian (k, d, d) of rows (r, k) of a jet."""
        d = self.inputs
        found = [sums[0]]
        if len(sums) > 1:
            found.append(sums[1 : d + 1].T)
        if len(sums) > d + 1:
            found.append(sums[d + 1 :].T[:, self._places].reshape(-1, d, d))
        return found


def _times(matrices: Expression, vector: Expression) -> Expression:
    """Return matrices (..., d) times a vector (d,); a product of batches of matrices is slow."""
    return (matrices * vector).sum(axis=-1)
