"""Functions of JAX: the elementary functions for arrays."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from surrogates.core.regressor_data import RegressorData
from surrogates.expressions.functions import Expression
from surrogates.expressions.jax_learner import JaxLearner


def jax() -> Any:
    """Return the module `jax`; raises `InputError` if the package is not installed."""
    try:
        return importlib.import_module("jax")
    except ImportError as error:
        raise InputError(
            "functions of a surrogate need JAX, which is not installed: install JAX with pip "
            'install "knee-contact[jax]"'
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
        """Return an array (n,) or (n, m) [any unit] as constants."""
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
        """Return the product (n,) of a matrix (n, m) [any unit] and a vector (m,)."""
        return self.constant(matrix) @ vector

    def outer(self, a: Expression, b: Expression) -> Expression:
        """Return the products (n m,) of each element of a vector (n,) and each of another (m,)."""
        return self.numpy.outer(a, b).ravel()

    def combined(self, weights: Expression, rows: Expression) -> Expression:
        """Return the sum (m,) of rows (T m,), one after the other, times weights (T,)."""
        return weights @ rows.reshape(len(weights), -1)

    def gradient(
        self, function: Callable[..., Expression], at: Expression, *beside: Expression
    ) -> Expression:
        """Return d(function(at, *beside))/d(at) (n,), of a function whose value is a number."""
        return self.jax.grad(function)(at, *beside)

    def learner(self, data: RegressorData) -> JaxLearner:
        """Return the expressions of a regressor."""
        return JaxLearner(self, data)

    def implicit(
        self,
        find: Callable[..., Expression],
        refine: Callable[..., Expression],
        slopes: Callable[..., tuple[Expression, ...]],
        *inputs: Expression,
    ) -> Expression:
        """Return the number s that inputs imply, with the derivatives of the implicit function."""
        root = self.jax.custom_jvp(lambda *own: refine(find(*own), *own))

        @root.defjvp
        def _(primals: Any, tangents: Any) -> Any:
            s = root(*primals)
            found = slopes(s, *primals)
            changes = (self.numpy.sum(a * b) for a, b in zip(found, tangents, strict=True))
            return s, sum(changes)

        return root(*inputs)

    def iterated(
        self, function: Callable[[Expression], Expression], x: Expression, count: int
    ) -> Expression:
        """Return what becomes of a number x when a function is applied `count` times."""
        return self.jax.lax.fori_loop(0, count, lambda _, s: function(s), x)

    def products(self, table: Sequence[Expression], exponents: NDArray[np.int64]) -> Expression:
        """Return the products (T,) over all inputs j of table[e][j], e the exponents (T, d)."""
        inputs = exponents.shape[1]
        flat = self.numpy.concatenate(table)
        places = exponents * inputs + np.arange(inputs)
        used = [j for j in range(inputs) if exponents[:, j].any()]
        if not used:
            return self.numpy.ones(len(exponents), self.kind)
        picked = flat.at[places[:, used]].get(mode="promise_in_bounds")
        found = picked[:, 0]
        for j in range(1, len(used)):
            found = found * picked[:, j]
        return found
