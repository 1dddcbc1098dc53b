"""The form in which every fitted family is kept and evaluated: a weighted sum of features.

With z = (x - x_offset) / x_scale,

    y_k = y_offset_k + y_scale_k * sum_m weights[k, m] phi_m(z),

the features phi being, one after the other,

1. products of Legendre polynomials of the inputs (of a Fourier series in the first input if `wave`
   is positive: 1, sin(wave z_0), cos(wave z_0), sin(2 wave z_0), ...): the whole of a polynomial or
   Poly-Fourier response surface, the trend of Kriging, the base of a network;
2. correlations with the training points (Kriging);
3. the outer hidden units of two-layer tanh networks.

Evaluation is compiled (`surrogates.compiled`); fitting is in `kriging`, `polynomial` and `network`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.checks import FloatArray, check_array, check_in, check_number, frozen
from foundation.errors import InputError
from surrogates.compiled import (
    Arguments,
    Posterior,
    evaluate,
    evaluate_hessian,
    evaluate_values,
    new_work,
    pack,
    pack_posterior,
    standard_errors,
    workspace_size,
)
from surrogates.families.training import check_scales, polynomial_exponents, polynomial_terms

FAMILY_NAMES = ("kriging", "polynomial", "poly_fourier", "network")
#: Correlation functions of one scaled distance, by their code in `kinds`.
CORRELATIONS = {"squared_exponential": 0, "matern52": 1, "matern32": 2}
#: Most inputs and highest degree of a regressor; a file that claims more is not one of ours.
MOST_INPUTS = 7
HIGHEST_DEGREE = 24


@dataclass(frozen=True, eq=False, repr=False)
class Regressor:
    """A fitted function of d inputs and k outputs; a value over plain arrays.

    Parameters
    ----------
    family : str
        One of `FAMILY_NAMES`.
    x_offset, x_scale : (d,) float64
        Scaling of the inputs.
    y_offset, y_scale : (k,) float64
        Scaling of the outputs.
    exponents : (T, d) int64
        Degree of every polynomial term in every input; the first term is the constant, and a term
        without its last factor is a term before it.
    wave : float
        Angular frequency of the Fourier series in z_0; 0 for Legendre polynomials of it.
    points : (n, d) float64
        Training points z; n = 0 without correlations.
    lengths : (d,) float64
        Correlation lengths in z.
    kinds : (d,) int64
        Correlation function along each input, a code of `CORRELATIONS`.
    shear : (d,) float64
        Distances along the first input are those of z_0 + sum_j shear_j z_j; shear_0 = 0.
    inner, inner_bias, hidden, hidden_bias : (M, d, h), (M, h), (M, h, h), (M, h) float64
        Weights of M networks tanh(hidden^T tanh(inner^T z + inner_bias) + hidden_bias).
    weights : (k, T + n + M h) float64
        Weights of the features.
    nugget : float
        On the diagonal of the correlation matrix.
    variance : (k,) float64
        Process variance of Kriging, in output units squared.
    spread : (k, S) float64
        Without correlations: weights of the Legendre products of total degree 2 whose sum is the
        logarithm of the standard error; S = 0 if there is no such model.

    Raises
    ------
    InputError
        If a shape does not fit, a value is not finite or a term lacks its parent.
    """

    family: str
    x_offset: FloatArray
    x_scale: FloatArray
    y_offset: FloatArray
    y_scale: FloatArray
    exponents: NDArray[np.int64]
    wave: float
    points: FloatArray
    lengths: FloatArray
    kinds: NDArray[np.int64]
    shear: FloatArray
    inner: FloatArray
    inner_bias: FloatArray
    hidden: FloatArray
    hidden_bias: FloatArray
    weights: FloatArray
    nugget: float
    variance: FloatArray
    spread: FloatArray

    def __post_init__(self) -> None:
        check_in("family", self.family, FAMILY_NAMES)
        self._check_integers()
        d, k = np.size(self.x_offset), np.size(self.y_offset)
        n, (nets, _, h) = np.shape(self.points)[0], np.shape(self.inner)
        features = len(self.exponents) + n + nets * h
        shapes = {
            "x_offset": (d,), "x_scale": (d,), "y_offset": (k,), "y_scale": (k,),
            "points": (n, d), "lengths": (d,), "shear": (d,),
            "inner": (nets, d, h), "inner_bias": (nets, h),
            "hidden": (nets, h, h), "hidden_bias": (nets, h),
            "weights": (k, features), "variance": (k,), "spread": (k, None),
        }  # fmt: skip
        for name, shape in shapes.items():
            checked = check_array(name, getattr(self, name), shape)
            object.__setattr__(self, name, frozen(checked))
        check_scales(self.x_scale, self.y_scale)
        for name in ("wave", "nugget"):
            number = check_number(name, getattr(self, name), at_least=0.0)
            object.__setattr__(self, name, number)
        self._check_values()
        self.terms  # noqa: B018 - raises if a term lacks its parent

    def _check_integers(self) -> None:
        exponents, kinds = (_whole(name, getattr(self, name)) for name in ("exponents", "kinds"))
        d = np.size(self.x_offset)
        if not 1 <= d <= MOST_INPUTS:
            raise InputError(f"x_offset: expected 1 to {MOST_INPUTS} inputs, found {d}")
        if exponents.ndim != 2 or exponents.shape[1] != d or not len(exponents):
            raise InputError(f"exponents: expected (T, {d}), T >= 1, found {exponents.shape}")
        if exponents.min() < 0 or exponents.max() > HIGHEST_DEGREE or exponents[0].any():
            raise InputError(
                f"exponents: expected degrees from 0 to {HIGHEST_DEGREE} and the constant first, "
                f"found {exponents.min()} to {exponents.max()} and {exponents[0]} first"
            )
        if kinds.shape != (d,) or not set(kinds.tolist()) <= set(CORRELATIONS.values()):
            raise InputError(f"kinds: expected {d} codes of {CORRELATIONS}, found {kinds}")
        object.__setattr__(self, "exponents", frozen(exponents))
        object.__setattr__(self, "kinds", frozen(kinds))

    def _check_values(self) -> None:
        if self.lengths.min() <= 0.0:
            raise InputError(f"lengths: expected positive numbers, found {self.lengths.tolist()}")
        if self.variance.size and self.variance.min() < 0.0:
            raise InputError(f"variance: expected at least 0, found {self.variance.tolist()}")
        if self.shear[0] != 0.0:
            raise InputError(f"shear: expected 0 for the first input, found {self.shear[0]}")
        sizes = (0, len(polynomial_exponents(self.inputs, 2)))
        if self.spread.shape[1] not in sizes:
            raise InputError(f"spread: expected {sizes} columns, found {self.spread.shape[1]}")

    @property
    def inputs(self) -> int:
        """Number of inputs d."""
        return len(self.x_offset)

    @property
    def outputs(self) -> int:
        """Number of outputs k."""
        return len(self.y_offset)

    @cached_property
    def terms(self) -> NDArray[np.int64]:
        """(T, 3): parent, variable and degree that lead from each term's parent to it."""
        return polynomial_terms(self.exponents)

    @cached_property
    def arguments(self) -> Arguments:
        """What the functions of `surrogates.compiled` take for this regressor."""
        return pack(self)

    @cached_property
    def posterior(self) -> Posterior:
        """What the standard error needs; of n points, computing it costs n^3.

        Raises
        ------
        InputError
            If the correlations of the points are not positive definite.
        """
        return pack_posterior(self)

    @property
    def workspace_size(self) -> int:
        """Numbers of scratch memory that the functions of `surrogates.compiled` need."""
        return int(workspace_size(self.arguments))

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the outputs (N, k) at inputs `X` : (N, d), in their units.

        Raises
        ------
        InputError
            If X is malformed.
        """
        inputs = check_array("X", X, (None, self.inputs))
        values = np.empty((len(inputs), self.outputs))
        evaluate_values(inputs, self.arguments, values, new_work(self.workspace_size))
        return values

    def predict_with_jacobian(self, x: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the outputs (k,) at one input `x` : (d,) and d(output)/d(input), (k, d).

        Raises
        ------
        InputError
            If x is malformed.
        """
        here = check_array("x", x, (self.inputs,))
        value, jacobian = np.empty(self.outputs), np.empty((self.outputs, self.inputs))
        evaluate(here, self.arguments, value, jacobian, new_work(self.workspace_size))
        return value, jacobian

    def hessian(self, x: ArrayLike) -> FloatArray:
        """Return the second derivatives (d, d) of the first output at one input `x` : (d,).

        Raises
        ------
        InputError
            If x is malformed or there is no output.
        """
        here = check_array("x", x, (self.inputs,))
        if not self.outputs:
            raise InputError("hessian: expected a regressor with an output, found none")
        second = np.empty((self.inputs, self.inputs))
        evaluate_hessian(here, self.arguments, second, new_work(self.workspace_size))
        return second

    def standard_error(self, X: ArrayLike) -> FloatArray:
        """Return the standard errors (N, k) of the outputs at inputs `X` : (N, d), in their units.

        NaN if the regressor has neither points nor a model of its errors (`spread`).

        Raises
        ------
        InputError
            If X is malformed, or see `posterior`.
        """
        inputs = check_array("X", X, (None, self.inputs))
        errors = np.empty((len(inputs), self.outputs))
        work = new_work(self.workspace_size)
        standard_errors(inputs, self.arguments, self.posterior, errors, work)
        return errors

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the regressor as plain arrays; the inverse of `from_arrays`."""
        return {name: np.array(getattr(self, name)) for name in _FIELDS}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Self:
        """Return the regressor that `to_arrays` described.

        Raises
        ------
        InputError
            If an array is missing or malformed.
        """
        missing = [name for name in _FIELDS if name not in arrays]
        if missing:
            raise InputError(f"arrays: expected a regressor's arrays, missing {missing}")
        named: dict[str, Any] = {name: np.asarray(arrays[name]) for name in _FIELDS}
        named["family"] = str(named["family"])
        for name in ("wave", "nugget"):
            named[name] = float(named[name])
        return cls(**named)


def _whole(name: str, value: ArrayLike) -> NDArray[np.int64]:
    """Return whole numbers as a new array; others are not rounded to them."""
    found = np.asarray(value)
    if found.dtype.kind not in "iu":
        raise InputError(f"{name}: expected whole numbers, found {found.dtype}")
    return np.array(found, dtype=np.int64, order="C")


_FIELDS = tuple(Regressor.__dataclass_fields__)


def linear_in(
    family: str,
    scalings: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    exponents: NDArray[np.int64],
    weights: FloatArray,
    **parts: Any,
) -> Regressor:
    """Return a regressor whose parts that are not given are empty.

    Parameters
    ----------
    family : str
    scalings : (x_offset, x_scale, y_offset, y_scale)
    exponents : (T, d) int64
    weights : (k, features) float64
    **parts
        Further fields of `Regressor`.
    """
    x_offset, _, y_offset, _ = scalings
    d, k = len(x_offset), len(y_offset)
    empty: dict[str, Any] = {
        "wave": 0.0, "points": np.empty((0, d)), "lengths": np.ones(d),
        "kinds": np.zeros(d, dtype=np.int64), "shear": np.zeros(d),
        "inner": np.empty((0, d, 0)), "inner_bias": np.empty((0, 0)),
        "hidden": np.empty((0, 0, 0)), "hidden_bias": np.empty((0, 0)),
        "nugget": 0.0, "variance": np.zeros(k), "spread": np.empty((k, 0)),
    }  # fmt: skip
    named = empty | parts
    return Regressor(family, *scalings, exponents=exponents, weights=weights, **named)
