"""The numbers of a fitted regressor, from which the kernels' arrays are packed.

With z = (x - x_offset) / x_scale,

    y_k = y_offset_k + y_scale_k * sum_m weights[k, m] phi_m(z),

the features phi being, one after the other,

1. products of Legendre polynomials of the inputs (of a Fourier series in the first input if `wave`
   is positive: 1, sin(wave z_0), cos(wave z_0), sin(2 wave z_0), ...): the whole of a polynomial or
   Poly-Fourier response surface, the trend of Kriging, the base of a network. With `knots`, each
   cubic B-spline of the sheared first input z_0 + sum_j shear_j z_j times each product of the other
   inputs, spline by spline: the whole of a spline-polynomial, the base of a network;
2. correlations with the training points (Kriging);
3. the outer hidden units of two-layer tanh networks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, frozen
from foundation.base.errors import InputError


class ArrayRecord:
    """Base of frozen dataclasses whose array fields are read-only, also in other processes."""

    # A copy has the fields alone; what is computed from the fields is computed anew.

    def __getstate__(self) -> dict[str, Any]:
        record: Any = self
        return {field.name: getattr(self, field.name) for field in fields(record)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name, value in state.items():
            kept = frozen(value) if isinstance(value, np.ndarray) else value
            object.__setattr__(self, name, kept)


class StoredArrays(ArrayRecord):
    """Base of a dataclass that a file keeps as an array for each field, truth values as 0 and 1."""

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields as arrays (N, ...) [SI]; the inverse of `from_arrays`."""
        named = {name: np.array(value) for name, value in self.__getstate__().items()}
        return {n: a.astype(np.uint8) if a.dtype == np.bool_ else a for n, a in named.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Self:
        """Build from the arrays (N, ...) [SI] of `to_arrays`; InputError if one is missing."""
        kind: Any = cls
        names = [field.name for field in fields(kind)]
        missing = [name for name in names if name not in arrays]
        if missing:
            raise InputError(f"arrays: missing {missing} of {cls.__name__}")
        found = {name: np.asarray(arrays[name]) for name in names}
        return cls(**{name: a.item() if a.ndim == 0 else a for name, a in found.items()})


#: Number of coefficients of a piece of a spline, and of B-splines that are not zero there.
SPLINE_ORDER = 4


@dataclass(frozen=True, eq=False, repr=False)
class RegressorData(StoredArrays):
    """A weighted sum of features as plain arrays, unchecked."""

    #: One of `surrogates.families.registry.FAMILIES`.
    family: str
    #: x_offset, x_scale (d,): scaling of the inputs [any unit].
    x_offset: FloatArray
    x_scale: FloatArray
    #: y_offset, y_scale (k,): scaling of the outputs [any unit].
    y_offset: FloatArray
    y_scale: FloatArray
    #: Degree of every polynomial term in every input (T, d); the first term is the constant, and a
    #: term without its last factor is a term before it.
    exponents: NDArray[np.int64]
    #: Angular frequency of the Fourier series in z_0; 0 for Legendre polynomials of z_0.
    wave: float
    #: (L,) of the S = L - 4 cubic B-splines of the sheared first input; empty without splines (S =
    #: 1). With splines there are no points.
    knots: FloatArray
    #: Training points z (n, d); n = 0 without correlations.
    points: FloatArray
    #: Correlation lengths in z (d,).
    lengths: FloatArray
    #: Correlation function along each input (d,), a code of `surrogates.core.correlations`.
    kinds: NDArray[np.int64]
    #: Distances and splines along the first input are those of z_0 + sum_j shear_j z_j (d,);
    #: shear_0 = 0, and with splines the last is 0 too.
    shear: FloatArray
    #: (M, d, h), (M, h), (M, h, h), (M, h): weights of M networks tanh(hidden^T tanh(inner^T z +
    #: inner_bias) + hidden_bias).
    inner: FloatArray
    inner_bias: FloatArray
    hidden: FloatArray
    hidden_bias: FloatArray
    #: Of the features (k, S T + n + M h).
    weights: FloatArray
    #: On the diagonal of the correlation matrix, in units of the process variance.
    nugget: float
    #: Process variance of Kriging (k,), in output units squared.
    variance: FloatArray
    #: Without correlations (k, E): weights of the Legendre products of total degree 2 whose sum is
    #: the logarithm of the standard error; E = 0 without such a model.
    spread: FloatArray

    @property
    def inputs(self) -> int:
        """Number of inputs d."""
        return len(self.x_offset)

    @property
    def outputs(self) -> int:
        """Number of outputs k."""
        return len(self.y_offset)

    @property
    def splines(self) -> int:
        """Number of B-splines S; 1 without splines."""
        return max(len(self.knots) - SPLINE_ORDER, 1)

    @property
    def pieces(self) -> int:
        """Number of pieces between the knots; 0 without splines."""
        return max(len(self.knots) - 2 * SPLINE_ORDER + 1, 0)

    @property
    def operations(self) -> int:
        """Multiplications of an evaluation with its gradient, by the counts of features."""
        d, k, terms, n = self.inputs, self.outputs, len(self.exponents), len(self.points)
        nets, _, h = self.inner.shape
        if not k:
            return 0
        blends = 2 * SPLINE_ORDER * k if self.pieces else 0
        per_feature = (d + 1) * k
        networks = nets * h * (d + (d + 1) * h + per_feature)
        return terms * (d + 1 + blends + per_feature) + n * (4 * d + per_feature) + networks

    @cached_property
    def terms(self) -> NDArray[np.int64]:
        """Parent, variable and degree (T, 3) of each term; see `polynomial_terms`."""
        return polynomial_terms(self.exponents)


def polynomial_terms(exponents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each term's parent, which precedes it, and variable and degree from there, (T, 3)."""
    index: dict[tuple[int, ...], int] = {}
    terms = np.zeros((len(exponents), 3), dtype=np.int64)
    for t, row in enumerate(exponents):
        used = np.flatnonzero(row)
        index[tuple(row)] = t
        if used.size == 0:
            continue
        variable = used[-1]
        parent = row.copy()
        parent[variable] = 0
        if tuple(parent) not in index:
            raise InputError(
                f"exponents: expected the term {tuple(parent)} before {tuple(row)}, found none; "
                "use the order of polynomial_exponents"
            )
        terms[t] = index[tuple(parent)], variable, row[variable]
    return terms
