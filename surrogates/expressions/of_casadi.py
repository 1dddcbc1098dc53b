"""Expressions of CasADi: the elementary functions for `SX` and `MX`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from foundation.checks import FloatArray
from foundation.errors import InputError
from surrogates.expressions.functions import Expression, whole_numbers

#: Numbers are split at multiples of these to drop their derivatives without loss of digits.
_COARSE, _FINE = 2.0**40, 2.0**95
#: Terms of a sum that one chain adds, so that a processor adds several chains at once.
_CHAIN = 24


def casadi() -> Any:
    """Return the module `casadi`; raises `InputError` if the package is not installed."""
    try:
        return importlib.import_module("casadi")
    except ImportError as error:
        raise InputError(
            "CasADi is not installed, which expressions of a surrogate need: install it with "
            'pip install "knee-contact[casadi]"'
        ) from error


class CasadiFunctions:
    """Elementary functions of CasADi expressions; vectors are columns (n, 1)."""

    def __init__(self, kind: Any = None) -> None:
        self.casadi = casadi()
        self.kind = kind or self.casadi.SX

    def constant(self, values: FloatArray) -> Expression:
        """Return an array (n,) or (n, m) as constants."""
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
        """Return the product (n,) of a constant matrix (n, m) and a vector (m,)."""
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

    def products(self, table: Sequence[Sequence[Expression]], regressor: Any) -> Expression:
        """Return the products (T,) of one entry of each row of a table, the terms of a regressor."""
        found: dict[tuple[int, ...], Expression] = {}
        for row in regressor.exponents:
            self._product(tuple(whole_numbers(row)), table, found)
        return self.casadi.vertcat(*(found[tuple(whole_numbers(r))] for r in regressor.exponents))

    def _product(
        self,
        degrees: tuple[int, ...],
        table: Sequence[Sequence[Expression]],
        found: dict[tuple[int, ...], Expression],
    ) -> Expression:
        """Return one product, which is a product of fewer inputs times one more polynomial."""
        if degrees not in found:
            used = np.flatnonzero(degrees)
            if not used.size:
                found[degrees] = 1.0
            else:
                last = int(used[-1])
                parent = (*degrees[:last], 0, *degrees[last + 1 :])
                before = self._product(parent, table, found)
                entry = table[last][degrees[last]]
                found[degrees] = entry if used.size == 1 else before * entry
        return found[degrees]
