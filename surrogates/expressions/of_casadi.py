"""Expressions of CasADi: functions for `SX` and `MX`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from surrogates.expressions.functions import Elementary, Expression, factors

#: Numbers are split at multiples of these to drop their derivatives without loss of digits.
_COARSE, _FINE = 2.0**40, 2.0**95
#: Terms of a sum that one chain adds, so that a processor adds several chains at once.
_CHAIN = 24


def casadi() -> Any:
    """Return the module `casadi`; raises `InputError` if it is not installed, or beside OpenSim."""
    try:
        return importlib.import_module("casadi")
    except ImportError as error:
        if "opensim" in sys.modules:
            raise InputError(
                "casadi: expected a process without OpenSim, found OpenSim imported, which has "
                "another version of CasADi; use CasADi in a separate process"
            ) from error
        raise InputError(
            "expressions of a surrogate need CasADi, which is not installed: install CasADi with "
            'pip install "knee-contact[casadi]"'
        ) from error


class CasadiFunctions(Elementary):
    """Functions of CasADi expressions; vectors are columns (n, 1).

    The methods are those of `surrogates.expressions.of_jax.JaxFunctions` too.
    """

    #: Whether a learnt height is differentiated as a function of what its other inputs give.
    by_lines = True

    def __init__(self) -> None:
        self.casadi = casadi()
        super().__init__(self.casadi)

    def constant(self, values: FloatArray) -> Expression:
        """Return an array (n,) or (n, m) [any unit] as constants."""
        return self.casadi.DM(np.asarray(values, dtype=np.float64))

    def join(self, parts: Sequence[Expression]) -> Expression:
        """Return the vector of numbers and vectors, one after the other."""
        return self.casadi.vertcat(*parts)

    def matmul(self, matrix: FloatArray, vector: Expression) -> Expression:
        """Return the product (n,) of a matrix (n, m) [any unit] and a vector (m,)."""
        ca = self.casadi
        total = None
        count = matrix.shape[1]
        for first in range(0, count, _CHAIN):
            end = min(first + _CHAIN, count)
            columns = ca.sparsify(ca.DM(matrix[:, first:end]))
            more = ca.mtimes(columns, vector[first:end])
            total = more if total is None else total + more
        return ca.densify(total)

    def combined(self, weights: Expression, rows: Expression) -> Expression:
        """Return the sum (m,) of rows (T m,), one after the other, times weights (T,)."""
        return self.casadi.mtimes(self.casadi.reshape(rows, -1, weights.shape[0]), weights)

    def fixed(self, x: Expression) -> Expression:
        """Return the value of x, without derivatives: those of the floor are 0."""
        ca = self.casadi
        coarse = ca.floor(x * _COARSE) / _COARSE
        return coarse + ca.floor((x - coarse) * _FINE) / _FINE

    def iterated(
        self, function: Callable[[Expression], Expression], x: Expression, count: int
    ) -> Expression:
        """Return what becomes of a number x when a function is applied `count` times."""
        for _ in range(count):
            x = function(x)
        return x

    def with_slope(
        self, function: Callable[..., Expression], x: Expression, *beside: Expression
    ) -> tuple[Expression, Expression]:
        """Return function(x, *beside), which is a number, and its derivative by the number x."""
        ca = self.casadi
        inputs = [ca.SX(expression) for expression in (x, *beside)]
        symbols = [ca.SX.sym(f"v{i}", v.shape[0]) for i, v in enumerate(inputs)]
        value = function(*symbols)
        both = ca.Function("both", symbols, [value, ca.jacobian(value, symbols[0])])
        return tuple(both.call(inputs, True, False))

    def implicit(
        self,
        find: Callable[..., Expression],
        residual: Callable[..., Expression],
        steepest: float,
        *inputs: Expression,
    ) -> Expression:
        """Return the root s of residual(s, *inputs), with its first and second derivatives.

        `find(*inputs)` is the root without derivatives. The residual falls with s, at least as
        steeply as `steepest` < 0 says. From s, a constant, a step of third order (Chebyshev's),

            s - e / r' - e^2 r'' / (2 r'^3),  e = r(s) and its derivatives,

        has the first and second derivatives of the implicit function.
        """
        s = self.fixed(find(*inputs))
        value, slope = self.with_slope(residual, s, *inputs)
        _, bend = self.with_slope(lambda *own: self.with_slope(residual, *own)[1], s, *inputs)
        slope = self.minimum(slope, steepest)
        miss = value / slope
        near = self.where(miss * miss < 1.0, miss, 0.0)  # else no root is near, or r is a line
        return s - miss - 0.5 * near * near * bend / slope

    def by_inputs(
        self, function: Callable[[Sequence[Expression]], Expression], z: Expression
    ) -> Expression:
        """Return a function of d numbers at z (d,), differentiated by each number on its own."""
        return function(self.casadi.vertsplit(z))

    def polynomials(
        self, z: Expression, exponents: NDArray[np.int64], wave: float, weights: FloatArray
    ) -> Expression:
        """Return sums (k,) of products of `factors` at z (d,) [1], with weights (k, T) [any unit].

        The exponents (T, d) choose the factor of each input. Products share their first factors,
        which are computed once.
        """
        table = factors(self, z, int(exponents.max()), wave)
        return self.matmul(weights, self.casadi.vertcat(*_products(table, exponents)))


def _products(table: Sequence[Expression], exponents: NDArray[np.int64]) -> list[Expression]:
    products: dict[tuple[int, ...], Expression] = {}

    def product(degrees: tuple[int, ...]) -> Expression:
        used = np.flatnonzero(degrees)
        if not used.size:
            return 1.0
        if degrees not in products:
            last = int(used[-1])
            fewer = (*degrees[:last], *[0] * (len(degrees) - last))
            entry = table[degrees[last]][last]
            products[degrees] = product(fewer) * entry if used.size > 1 else entry
        return products[degrees]

    return [product(tuple(row)) for row in exponents.tolist()]
