"""Expressions of CasADi: the elementary functions for `SX` and `MX`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from surrogates.core.regressor_data import RegressorData
from surrogates.expressions.functions import Expression, whole_numbers
from surrogates.expressions.learners import Learner

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


class CasadiFunctions:
    """Elementary functions of CasADi expressions; vectors are columns (n, 1)."""

    def __init__(self, kind: Any = None) -> None:
        self.casadi = casadi()
        self.kind = kind or self.casadi.SX

    def constant(self, values: FloatArray) -> Expression:
        """Return an array (n,) or (n, m) [any unit] as constants."""
        return self.casadi.DM(np.asarray(values, dtype=np.float64))

    def sin(self, x: Expression) -> Expression:
        """Return the sine."""
        return self.casadi.sin(x)

    def cos(self, x: Expression) -> Expression:
        """Return the cosine."""
        return self.casadi.cos(x)

    def exp(self, x: Expression) -> Expression:
        """Return the exponential."""
        return self.casadi.exp(x)

    def sqrt(self, x: Expression) -> Expression:
        """Return the square root."""
        return self.casadi.sqrt(x)

    def tanh(self, x: Expression) -> Expression:
        """Return the hyperbolic tangent."""
        return self.casadi.tanh(x)

    def power(self, x: Expression, exponent: float) -> Expression:
        """Return x to a constant exponent, x > 0."""
        if exponent in (0.5, 1.0):
            return x if exponent == 1.0 else self.casadi.sqrt(x)
        return x**exponent

    def where(self, condition: Expression, yes: Expression, no: Expression) -> Expression:
        """Return `yes` where the condition holds, `no` elsewhere."""
        return self.casadi.if_else(condition, yes, no)

    def minimum(self, a: Expression, b: Expression) -> Expression:
        """Return the smaller one."""
        return self.casadi.fmin(a, b)

    def maximum(self, a: Expression, b: Expression) -> Expression:
        """Return the larger one."""
        return self.casadi.fmax(a, b)

    def join(self, parts: Sequence[Expression]) -> Expression:
        """Return the column of numbers and columns, one below the other."""
        return self.casadi.vertcat(*parts)

    def matmul(self, matrix: FloatArray, vector: Expression) -> Expression:
        """Return the product (n,) of a matrix (n, m) [any unit] and a vector (m,)."""
        ca = self.casadi
        if self.kind is ca.MX:
            return ca.mtimes(ca.DM(matrix), vector)
        total = None
        count = matrix.shape[1]
        for first in range(0, count, _CHAIN):
            end = min(first + _CHAIN, count)
            columns = ca.sparsify(ca.DM(matrix[:, first:end]))
            more = ca.mtimes(columns, vector[first:end])
            total = more if total is None else total + more
        return ca.densify(total)

    def outer(self, a: Expression, b: Expression) -> Expression:
        """Return the products (n m,) of each element of a vector (n,) and each of another (m,)."""
        return self.casadi.kron(a, b)

    def combined(self, weights: Expression, rows: Expression) -> Expression:
        """Return the sum (m,) of rows (T m,), one after the other, times weights (T,)."""
        return self.casadi.mtimes(self.casadi.reshape(rows, -1, weights.shape[0]), weights)

    def fixed(self, x: Expression) -> Expression:
        """Return the value of x, without derivatives: those of the floor are 0."""
        ca = self.casadi
        coarse = ca.floor(x * _COARSE) / _COARSE
        return coarse + ca.floor((x - coarse) * _FINE) / _FINE

    def gradient(
        self, function: Callable[..., Expression], at: Expression, *beside: Expression
    ) -> Expression:
        """Return d(function(at, *beside))/d(at) (n,), of a function whose value is a number."""
        ca = self.casadi
        symbols = [self.kind.sym(f"v{i}", v.shape[0]) for i, v in enumerate((at, *beside))]
        slope = ca.gradient(function(*symbols), symbols[0])
        return ca.Function("gradient", symbols, [slope]).call([at, *beside], True, False)[0]

    def learner(self, data: RegressorData) -> Learner:
        """Return the expressions of a regressor."""
        return Learner(self, data)

    def implicit(
        self,
        find: Callable[..., Expression],
        refine: Callable[..., Expression],
        slopes: Callable[..., tuple[Expression, ...]],
        *inputs: Expression,
    ) -> Expression:
        """Return the number s that inputs imply, with the derivatives of the implicit function."""
        return refine(self.fixed(find(*inputs)), *inputs)

    def iterated(
        self, function: Callable[[Expression], Expression], x: Expression, count: int
    ) -> Expression:
        """Return what becomes of a number x when a function is applied `count` times."""
        for _ in range(count):
            x = function(x)
        return x

    def products(self, table: Sequence[Expression], exponents: NDArray[np.int64]) -> Expression:
        """Return the products (T,) over all inputs j of table[e][j], e the exponents (T, d).

        Each is a product of fewer inputs times one more entry.
        """
        ca = self.casadi
        if self.kind is ca.MX:  # one node, not one for each product
            symbols = [ca.SX.sym(f"t{e}", row.shape[0]) for e, row in enumerate(table)]
            found = CasadiFunctions(ca.SX).products(symbols, exponents)
            return ca.Function("products", symbols, [ca.densify(found)])(*table)
        return ca.vertcat(*_products(table, exponents))


def _products(table: Sequence[Expression], exponents: NDArray[np.int64]) -> list[Expression]:
    found: dict[tuple[int, ...], Expression] = {}
    return [_product(tuple(whole_numbers(row)), table, found) for row in exponents]


def _product(
    degrees: tuple[int, ...], table: Sequence[Expression], found: dict[tuple[int, ...], Expression]
) -> Expression:
    if degrees not in found:
        used = np.flatnonzero(degrees)
        if not used.size:
            return 1.0
        last = int(used[-1])
        entry = table[degrees[last]][last]
        if used.size > 1:
            entry = _product((*degrees[:last], *[0] * (len(degrees) - last)), table, found) * entry
        found[degrees] = entry
    return found[degrees]
