"""A regressor of which some inputs are fixed: again a regressor, of the other inputs.

A product of polynomials becomes a product of the other inputs, with a weight that depends on the
fixed ones; fixed inputs move the sheared first input of splines, and so their knots, and the biases
of the inner units of networks. Nothing is approximated.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array
from foundation.base.errors import InputError
from surrogates.families.basis import basis_matrix
from surrogates.families.numpy_evaluation import check_no_points
from surrogates.families.regressor import Regressor
from surrogates.families.training import polynomial_exponents


def with_fixed(regressor: Regressor, first: int, values: ArrayLike) -> Regressor:
    """Return a regressor of d inputs as one of d - P inputs, the others fixed.

    Parameters
    ----------
    regressor : Regressor
        A polynomial, a spline-polynomial or a network.
    first : int
        Number of the first fixed input, at least 1: splines and Fourier series are of input 0.
    values : (P,) array_like
        Values of the fixed inputs [any unit].

    Raises
    ------
    InputError
        If the regressor has correlations with points, or the inputs to fix are not among those
        after the first.
    """
    check_no_points(regressor)
    fixed = check_array("values", values, (None,))
    d, count = regressor.inputs, len(fixed)
    if not 1 <= first <= d - count:
        raise InputError(
            f"first: expected 1 to {d - count} for {count} of {d} inputs, found {first}"
        )
    chosen = np.arange(first, first + count)
    free = np.setdiff1d(np.arange(d), chosen)
    z = (fixed - regressor.x_offset[chosen]) / regressor.x_scale[chosen]
    exponents, gather = _collected(regressor.exponents, free, chosen, z)
    terms = regressor.splines * len(regressor.exponents)
    polynomial = regressor.weights[:, :terms].reshape(regressor.outputs, regressor.splines, -1)
    weights = (polynomial @ gather).reshape(regressor.outputs, -1)
    along = z @ regressor.shear[chosen]
    inner = regressor.inner
    return replace(
        regressor,
        x_offset=regressor.x_offset[free],
        x_scale=regressor.x_scale[free],
        exponents=exponents,
        knots=regressor.knots - along,
        points=np.empty((0, len(free))),
        lengths=regressor.lengths[free],
        kinds=regressor.kinds[free],
        shear=regressor.shear[free],
        inner=inner[:, free],
        inner_bias=regressor.inner_bias + z @ inner[:, chosen],
        weights=np.concatenate([weights, regressor.weights[:, terms:]], axis=1),
        spread=_spread_at(regressor.spread, free, chosen, z),
    )


def _collected(
    exponents: NDArray[np.int64], free: NDArray[np.int64], chosen: NDArray[np.int64], z: FloatArray
) -> tuple[NDArray[np.int64], FloatArray]:
    """Return the terms (R, d - P) in the free inputs, and the factors (T, R) of the terms (T, d).

    Terms of a lower total degree come first, so that a term without its last factor precedes it.
    """
    rows = exponents[:, free]
    unique, place = np.unique(rows, axis=0, return_inverse=True)
    order = np.lexsort((*unique.T[::-1], unique.sum(axis=1)))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    factors = np.zeros((len(exponents), len(unique)))
    own = basis_matrix(z[None], exponents[:, chosen])[0]
    factors[np.arange(len(exponents)), rank[place.ravel()]] = own
    return unique[order], factors


def _spread_at(
    spread: FloatArray, free: NDArray[np.int64], chosen: NDArray[np.int64], z: FloatArray
) -> FloatArray:
    """Return the weights (k, E) of a model of the errors in the free inputs alone."""
    if not spread.size:
        return np.empty((len(spread), 0))
    exponents = polynomial_exponents(len(free) + len(chosen), 2)
    found, factors = _collected(exponents, free, chosen, np.clip(z, -1.0, 1.0))
    wanted = polynomial_exponents(len(free), 2)
    place = {tuple(row): r for r, row in enumerate(found.tolist())}
    return (spread @ factors)[:, [place[tuple(row)] for row in wanted.tolist()]]
