"""Arrays that are polynomials of the scaled parameters of a design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, frozen
from foundation.base.errors import InputError
from surrogates.core.regressor_data import ArrayRecord
from surrogates.families.training import basis_matrix, legendre_columns, polynomial_exponents

#: Degrees of the polynomials, and the least number of designs for each term of the higher one.
_DEGREES, _DESIGNS_PER_TERM = (2, 1, 0), 1.5


@dataclass(frozen=True, eq=False)
class SmoothArray(ArrayRecord):
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
        found = check_array("coefficients", self.coefficients)
        if found.ndim < 2 or len(found) != len(exponents):
            raise InputError(
                f"coefficients: expected {len(exponents)} arrays, found shape {found.shape}"
            )
        object.__setattr__(self, "exponents", frozen(exponents.astype(np.int64)))
        object.__setattr__(self, "coefficients", frozen(found))

    @classmethod
    def fit(cls, z: ArrayLike, arrays: ArrayLike, highest: int = 2) -> Self:
        """Return the polynomial that comes closest to the arrays (N, ...) [any unit] of N designs.

        Of the `highest` degree, 0 to 2, if there are enough designs, else of a lower degree. `z`
        (N, P) [1] has the scaled parameters of the designs.
        """
        points = check_array("z", z, (None, None))
        values = check_array("arrays", arrays)
        for degree in (each for each in _DEGREES if each <= highest):
            exponents = polynomial_exponents(points.shape[1], degree)
            if degree == 0 or len(points) >= _DESIGNS_PER_TERM * len(exponents):
                break
        basis = basis_matrix(points, exponents)
        found = np.linalg.lstsq(basis, values.reshape(len(values), -1), rcond=None)[0]
        shape = len(exponents), *values.shape[1:]
        return cls(exponents, np.asarray(found.reshape(shape), dtype=np.float64))

    def at(self, z: FloatArray) -> FloatArray:
        """Return the array (...) [any unit] at scaled parameters z (P,) [1]."""
        return np.asarray(np.tensordot(self.products(z), self.coefficients, axes=1))

    def slopes(self, z: FloatArray) -> FloatArray:
        """Return the derivatives (P, ...) [any unit] of the array by scaled parameters z (P,)."""
        return np.asarray(np.tensordot(self.product_slopes(z), self.coefficients, axes=1))

    def products(self, z: FloatArray) -> FloatArray:
        """Return the products (T,) [1] at scaled parameters z (P,) [1]."""
        return np.asarray(basis_matrix(z[None], self.exponents)[0])

    def product_slopes(self, z: FloatArray) -> FloatArray:
        """Return the derivatives (P, T) [1] of the products by scaled parameters z (P,) [1]."""
        highest = int(self.exponents.max(initial=0))
        table = legendre_columns(z, highest)
        slopes = np.zeros_like(table)
        for e in range(1, highest + 1):
            slopes[:, e] = (2 * e - 1) * table[:, e - 1] + (slopes[:, e - 2] if e > 1 else 0.0)
        parameters = np.arange(len(z))
        factors = table[parameters, self.exponents]  # (T, P)
        steep = slopes[parameters, self.exponents]
        return np.array(
            [np.where(parameters == p, steep, factors).prod(axis=1) for p in parameters]
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return exponents (T, P) and coefficients (T, ...) [any unit] as arrays."""
        return {"exponents": self.exponents, "coefficients": self.coefficients}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Build from the arrays of `to_arrays`, such as coefficients (T, ...) [any unit].

        Raises `InputError` if an array is missing or malformed.
        """
        missing = {"exponents", "coefficients"} - set(arrays)
        if missing:
            raise InputError(f"arrays: missing {sorted(missing)} of a function of the parameters")
        return cls(arrays["exponents"], arrays["coefficients"])
