"""A regressor of which some inputs are fixed: again a regressor, of the other inputs.

A product of polynomials becomes a product of the other inputs, with a weight that depends on the
fixed ones; fixed inputs move the sheared first input of splines, and so their knots, and the biases
of the inner units of networks. Nothing is approximated.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array
from foundation.base.errors import InputError
from surrogates.families.regressor import Regressor
from surrogates.families.training import legendre_columns, polynomial_exponents

#: Number of the first parameter of a design among the inputs of a regressor.
FIRST_PARAMETER = 5


def with_parameters(inputs: FloatArray, z: FloatArray) -> FloatArray:
    """Return inputs (N, 6) with parameters z (P,) or (N, P) before the last one, (N, 6 + P) [1]."""
    rows = np.broadcast_to(z, (len(inputs), np.shape(z)[-1]))
    return np.concatenate([inputs[:, :FIRST_PARAMETER], rows, inputs[:, FIRST_PARAMETER:]], axis=1)


class FixedInputs:
    """A polynomial, spline-polynomial or network of which inputs are fixed at many values."""

    # `count` inputs are fixed from number `first` on, at least 1: splines and Fourier series are of
    # input 0.

    def __init__(self, regressor: Regressor, first: int, count: int) -> None:
        if len(regressor.points):
            raise InputError(
                f"points: expected a polynomial, a spline-polynomial or a network in "
                f"{regressor.inputs} inputs, found Kriging"
            )
        d = regressor.inputs
        if not 1 <= first <= d - count:
            raise InputError(
                f"first: expected 1 to {d - count} for {count} of {d} inputs, found {first}"
            )
        self._regressor = regressor
        self._chosen = np.arange(first, first + count)
        self._free = np.setdiff1d(np.arange(d), self._chosen)
        self._terms = CollectedTerms(regressor.exponents, self._free, self._chosen)

    def at(self, values: ArrayLike) -> Regressor:
        """Return the regressor of the other d - P inputs, those fixed at values (P,) [any unit]."""
        chosen, regressor = self._chosen, self._regressor
        fixed = check_array("values", values, (len(chosen),))
        z = (fixed - regressor.x_offset[chosen]) / regressor.x_scale[chosen]
        numbers = {"weights": self._weights(z)}
        if len(regressor.knots):
            numbers["knots"] = regressor.knots - z @ regressor.shear[chosen]
        if len(regressor.inner):
            numbers["inner_bias"] = regressor.inner_bias + z @ regressor.inner[:, chosen]
        if regressor.spread.size:
            numbers["spread"] = self._spread(z)
        return self._in_the_middle.with_numbers(**numbers)

    @cached_property
    def _in_the_middle(self) -> Regressor:
        """The regressor with the inputs fixed at the middle of their scaling."""
        regressor, free, z = self._regressor, self._free, np.zeros(len(self._chosen))
        spread = self._spread(z) if regressor.spread.size else np.empty((regressor.outputs, 0))
        return replace(
            regressor,
            x_offset=regressor.x_offset[free],
            x_scale=regressor.x_scale[free],
            exponents=self._terms.exponents,
            points=np.empty((0, len(free))),
            lengths=regressor.lengths[free],
            kinds=regressor.kinds[free],
            shear=regressor.shear[free],
            inner=regressor.inner[:, free],
            weights=self._weights(z),
            spread=spread,
        )

    def _weights(self, z: FloatArray) -> FloatArray:
        """Return the weights at scaled values z (P,) of the fixed inputs."""
        regressor = self._regressor
        terms = regressor.splines * len(regressor.exponents)
        polynomial = regressor.weights[:, :terms].reshape(regressor.outputs, regressor.splines, -1)
        weights = (polynomial @ self._terms.factors(z)).reshape(regressor.outputs, -1)
        return np.concatenate([weights, regressor.weights[:, terms:]], axis=1)

    def _spread(self, z: FloatArray) -> FloatArray:
        """Return the weights (k, E) of a model of the errors in the free inputs alone."""
        terms, columns = self._spread_terms
        return (self._regressor.spread @ terms.factors(np.clip(z, -1.0, 1.0)))[:, columns]

    @cached_property
    def _spread_terms(self) -> tuple[CollectedTerms, list[int]]:
        """Terms of a model of the errors, and the place of each term in the free inputs."""
        free = len(self._free)
        exponents = polynomial_exponents(free + len(self._chosen), 2)
        terms = CollectedTerms(exponents, self._free, self._chosen)
        place = {tuple(row): r for r, row in enumerate(terms.exponents.tolist())}
        return terms, [place[tuple(row)] for row in polynomial_exponents(free, 2).tolist()]


class CollectedTerms:
    """Products (T, d) of polynomials, collected by their factors in the free inputs (R, d - P)."""

    # Terms of a lower total degree come first: a term without its last factor precedes it.

    def __init__(
        self, exponents: NDArray[np.int64], free: NDArray[np.int64], chosen: NDArray[np.int64]
    ) -> None:
        unique, place = np.unique(exponents[:, free], axis=0, return_inverse=True)
        order = np.lexsort((*unique.T[::-1], unique.sum(axis=1)))
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        self.exponents = unique[order]
        self._column = rank[place.ravel()]
        self._degrees = np.ascontiguousarray(exponents[:, chosen].T)

    def factors(self, z: FloatArray) -> FloatArray:
        """Return the factors (T, R) [1] of the products at fixed inputs z (P,) [1]."""
        columns = legendre_columns(z, int(self._degrees.max(initial=0)))
        products = columns[np.arange(len(z))[:, None], self._degrees].prod(axis=0)
        factors = np.zeros((len(products), len(self.exponents)))
        factors[np.arange(len(products)), self._column] = products
        return factors
