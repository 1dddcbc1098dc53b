"""Functions of JAX for arrays."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from surrogates.expressions.functions import Elementary, Expression, factors


def jax() -> Any:
    """Return the module `jax`; raises `InputError` if the package is not installed."""
    try:
        return importlib.import_module("jax")
    except ImportError as error:
        raise InputError(
            "functions of a surrogate need JAX, which is not installed: install JAX with pip "
            'install "knee-contact[jax]"'
        ) from error


class JaxFunctions(Elementary):
    """Functions of JAX arrays of one floating-point type.

    The methods are those of `surrogates.expressions.of_casadi.CasadiFunctions` too.
    """

    #: Whether a learnt height is differentiated as a function of what its other inputs give.
    by_lines = False

    def __init__(self, kind: Any) -> None:
        self.jax = jax()
        super().__init__(self.jax.numpy)
        self.kind = kind
        self.fixed = self.jax.lax.stop_gradient

    def constant(self, values: FloatArray) -> Expression:
        """Return an array (n,) or (n, m) [any unit] as constants."""
        return self.jax.numpy.asarray(values, dtype=self.kind)

    def join(self, parts: Sequence[Expression]) -> Expression:
        """Return the vector of numbers and vectors, one after the other."""
        return self.jax.numpy.concatenate([self.jax.numpy.atleast_1d(vector) for vector in parts])

    def matmul(self, matrix: FloatArray, vector: Expression) -> Expression:
        """Return the product (n,) of a matrix (n, m) [any unit] and a vector (m,)."""
        return self.constant(matrix) @ vector

    def combined(self, weights: Expression, rows: Expression) -> Expression:
        """Return the sum (m,) of rows (T m,), one after the other, times weights (T,).

        A product of batches of small matrices would be slow.
        """
        return (weights[:, None] * rows.reshape(len(weights), -1)).sum(axis=0)

    def iterated(
        self, function: Callable[[Expression], Expression], x: Expression, count: int
    ) -> Expression:
        """Return what becomes of a number x when a function is applied `count` times."""
        return self.jax.lax.fori_loop(0, count, lambda _, s: function(s), x)

    def with_slope(
        self, function: Callable[..., Expression], x: Expression, *beside: Expression
    ) -> tuple[Expression, Expression]:
        """Return function(x, *beside), which is a number, and its derivative by the number x."""
        one = self.jax.numpy.ones_like(x)
        pair: tuple[Any, Any] = self.jax.jvp(lambda number: function(number, *beside), (x,), (one,))
        return pair

    def implicit(
        self,
        find: Callable[..., Expression],
        residual: Callable[..., Expression],
        steepest: float,
        *inputs: Expression,
    ) -> Expression:
        """Return the root s of residual(s, *inputs), with the derivatives of the implicit function.

        `find(*inputs)` is the root without derivatives. The residual falls with s, at least as
        steeply as `steepest` < 0 says.
        """
        root = self.jax.custom_jvp(find)

        @root.defjvp
        def _(primals: Any, tangents: Any) -> Any:
            s = root(*primals)
            change = self.jax.jvp(lambda *own: residual(s, *own), primals, tangents)[1]
            slope = self.with_slope(residual, s, *primals)[1]
            return s, -change / self.minimum(slope, steepest)

        return root(*inputs)

    def by_inputs(
        self, function: Callable[[Sequence[Expression]], Expression], z: Expression
    ) -> Expression:
        """Return a function of d numbers at z (d,), differentiated by each number on its own.

        What an input leaves as it is then takes no time in the derivatives by other inputs.
        """
        module, count = self.jax, len(z)

        def slopes(numbers: Sequence[Expression]) -> Expression:
            def along(j: int, own: Expression) -> Expression:
                return function([*numbers[:j], own, *numbers[j + 1 :]])

            columns = [
                self.with_slope(partial(along, j), number)[1] for j, number in enumerate(numbers)
            ]
            return module.numpy.stack(columns, axis=-1)

        value = module.custom_jvp(lambda z: function([z[j] for j in range(count)]))

        @value.defjvp
        def _(primals: Any, tangents: Any) -> Any:
            change = (self.by_inputs(slopes, primals[0]) * tangents[0]).sum(axis=-1)
            return value(*primals), change

        return value(z)

    def polynomials(
        self, z: Expression, exponents: NDArray[np.int64], wave: float, weights: FloatArray
    ) -> Expression:
        """Return sums (k,) of products of `factors` at z (d,) [1], with weights (k, T) [any unit].

        The exponents (T, d) choose the factor of each input. All derivatives are sums of the same
        products, with other weights.
        """
        closed, changes = derivatives(exponents, wave)
        place = {tuple(row): t for t, row in enumerate(closed.tolist())}
        closed_weights = np.zeros((len(weights), len(closed)))
        closed_weights[:, [place[tuple(row)] for row in exponents.tolist()]] = weights
        return self._sums(z, closed, wave, closed_weights, changes)

    def _sums(
        self,
        z: Expression,
        exponents: NDArray[np.int64],
        wave: float,
        weights: FloatArray,
        changes: FloatArray,
    ) -> Expression:
        value = self.jax.custom_jvp(
            lambda z: self.matmul(weights, self._products(z, exponents, wave))
        )

        @value.defjvp
        def _(primals: Any, tangents: Any) -> Any:
            by_input = np.concatenate(weights @ changes)
            slopes = self._sums(primals[0], exponents, wave, by_input, changes)
            return value(*primals), tangents[0] @ slopes.reshape(len(changes), -1)

        return value(z)

    def _products(self, z: Expression, exponents: NDArray[np.int64], wave: float) -> Expression:
        inputs = exponents.shape[1]
        flat = self.jax.numpy.concatenate(factors(self, z, int(exponents.max()), wave))
        used = np.flatnonzero(exponents.any(axis=0))
        if not used.size:
            return self.jax.numpy.ones(len(exponents), self.kind)
        places = (exponents * inputs + np.arange(inputs))[:, used]
        picked = flat.at[places].get(mode="promise_in_bounds")
        products = picked[:, 0]
        for j in range(1, len(used)):
            products = products * picked[:, j]
        return products


def derivatives(exponents: NDArray[np.int64], wave: float) -> tuple[NDArray[np.int64], FloatArray]:
    """Return terms (M, d) of which all derivatives of terms (T, d) are sums, and these sums.

    The terms have all lower degrees in every input and, of a Fourier series, sine and cosine of a
    frequency. Row t of changes (d, M, M) [1] has the weights of the derivative of term t by an
    input: of Legendre polynomials, P'_e = sum of (2 m + 1) P_m over m = e - 1, e - 3, ...
    """
    terms: set[tuple[int, ...]] = set()
    for row in exponents.tolist():
        if wave > 0.0:
            row[0] += row[0] % 2
        terms |= set(product(*(range(e + 1) for e in row)))
    closed = sorted(terms)
    place = {row: t for t, row in enumerate(closed)}
    changes = np.zeros((len(closed[0]), len(closed), len(closed)))
    for t, row in enumerate(closed):
        for j, e in enumerate(row):
            if j == 0 and wave > 0.0:
                turn = wave * ((e + 1) // 2)
                sums = {e + 1: turn} if e % 2 else {e - 1: -turn} if e else {}
            else:
                sums = {m: 2.0 * m + 1.0 for m in range(e - 1, -1, -2)}
            for m, weight in sums.items():
                changes[j, t, place[*row[:j], m, *row[j + 1 :]]] = weight
    return np.array(closed, dtype=np.int64), changes
