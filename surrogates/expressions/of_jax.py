"""Functions of JAX: the elementary functions for arrays."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from foundation.checks import FloatArray
from foundation.errors import InputError
from surrogates.expressions.functions import Expression


def jax() -> Any:
    """Return the module `jax`; raises `InputError` if the package is not installed."""
    try:
        return importlib.import_module("jax")
    except ImportError as error:
        raise InputError(
            "JAX is not installed, which functions of a surrogate need: install it with "
            'pip install "knee-contact[jax]"'
        ) from error


class JaxFunctions:
    """Elementary functions of JAX arrays of one floating-point type."""

    def __init__(self, kind: Any) -> None:
        self.jax = jax()
        self.kind = kind
        self.numpy = self.jax.numpy
        self.sin, self.cos, self.exp = self.numpy.sin, self.numpy.cos, self.numpy.exp
        self.sqrt, self.tanh = self.numpy.sqrt, self.numpy.tanh
        self.where, self.minimum = self.numpy.where, self.numpy.minimum
        self.maximum, self.fixed = self.numpy.maximum, self.jax.lax.stop_gradient

    def constant(self, values: FloatArray) -> Expression:
        """Return an array (n,) or (n, m) as constants."""
        return self.numpy.asarray(values, dtype=self.kind)

    def power(self, x: Expression, exponent: float) -> Expression:
        """Return x to a constant exponent, x > 0."""
        if exponent in (0.5, 1.0):
            return x if exponent == 1.0 else self.numpy.sqrt(x)
        return x**exponent

    def join(self, parts: Sequence[Expression]) -> Expression:
        """Return the vector of numbers and vectors, one after the other."""
        return self.numpy.concatenate([self.numpy.atleast_1d(part) for part in parts])

    def matmul(self, matrix: FloatArray, vector: Expression) -> Expression:
        """Return the product (n,) of a constant matrix (n, m) and a vector (m,)."""
        return self.constant(matrix) @ vector

    def gradient(
        self, function: Callable[..., Expression], at: Expression, *beside: Expression
    ) -> Expression:
        """Return d(function(at, *beside))/d(at) (n,), of a function whose value is a number."""
        return self.jax.grad(function)(at, *beside)

    def products(self, table: Sequence[Sequence[Expression]], regressor: Any) -> Expression:
        """Return the products (T,) of one entry of each row of a table, the terms of a regressor."""
        found = None
        for entries, degrees in zip(table, np.transpose(regressor.exponents), strict=True):
            if not degrees.any():
                continue
            column = self.numpy.stack([e + self.numpy.zeros((), self.kind) for e in entries])
            picked = column[degrees]
            found = picked if found is None else found * picked
        if found is None:
            return self.numpy.ones(len(regressor.exponents), self.kind)
        return found
