"""Arrays that are polynomials of the scaled parameters of a design."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, frozen
from foundation.base.errors import InputError
from surrogates.core.packing import PackedRegressor
from surrogates.core.regressor_data import StoredArrays
from surrogates.families.regressor import linear_in
from surrogates.families.training import basis_matrix, polynomial_exponents

#: Degrees of the polynomials, and the least number of designs for each term of the higher one.
_DEGREES, _DESIGNS_PER_TERM = (2, 1, 0), 1.5


@dataclass(frozen=True, eq=False)
class SmoothArray(StoredArrays):
    """An array as a sum of products of Legendre polynomials of P scaled parameters.

    Raises `InputError` if a shape does not fit or a number is not finite. Coefficients (T, ...) are
    in [any unit].
    """

    #: Degree of every product in every parameter (T, P).
    exponents: NDArray[np.int64]
    #: Array of each product (T, ...).
    coefficients: FloatArray

    def __post_init__(self) -> None:
        exponents = np.array(self.exponents)
        if exponents.ndim != 2 or exponents.dtype.kind not in "iu" or exponents.min() < 0:
            raise InputError(f"exponents: expected (T, P) degrees, found {exponents.shape}")
        coefficients = check_array("coefficients", self.coefficients)
        if coefficients.ndim < 2 or len(coefficients) != len(exponents):
            raise InputError(
                f"coefficients: expected {len(exponents)} arrays, found shape {coefficients.shape}"
            )
        object.__setattr__(self, "exponents", frozen(exponents.astype(np.int64)))
        object.__setattr__(self, "coefficients", frozen(coefficients))

    @classmethod
    def fit(cls, z: ArrayLike, arrays: ArrayLike) -> Self:
        """Return the polynomial of degree 2 at most closest to arrays (N, ...) at z (N, P) [1]."""
        points = check_array("z", z, (None, None))
        values = check_array("arrays", arrays)
        for degree in _DEGREES:
            exponents = polynomial_exponents(points.shape[1], degree)
            if degree == 0 or len(points) >= _DESIGNS_PER_TERM * len(exponents):
                break
        basis = basis_matrix(points, exponents)
        solution = np.linalg.lstsq(basis, values.reshape(len(values), -1), rcond=None)[0]
        shape = len(exponents), *values.shape[1:]
        return cls(exponents, np.asarray(solution.reshape(shape), dtype=np.float64))

    def at(self, z: FloatArray) -> FloatArray:
        """Return the array (...) [any unit] at scaled parameters z (P,) [1]."""
        products = np.asarray(basis_matrix(z[None], self.exponents)[0])
        return np.asarray(np.tensordot(products, self.coefficients, axes=1))

    @property
    def parameters(self) -> int:
        """Number of parameters P."""
        return self.exponents.shape[1]

    @property
    def middle(self) -> FloatArray:
        """The array (..., k) [any unit] of the design in the middle of the ranges."""
        return self.at(np.zeros(self.parameters))

    @cached_property
    def packed(self) -> PackedRegressor:
        """The array, as one row, as outputs of a regressor over the parameters."""
        weights = self.coefficients.reshape(len(self.exponents), -1).T
        inputs, outputs = self.parameters, len(weights)
        scalings = np.zeros(inputs), np.ones(inputs), np.zeros(outputs), np.ones(outputs)
        return linear_in("polynomial", scalings, self.exponents, weights).packed
