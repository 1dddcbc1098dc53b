"""Pressure of a continuous layer from the overlap of the surfaces and the load."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.checks import FloatArray, check_array, check_number
from foundation.errors import InputError
from surrogates.compiled.pressure import FACTORS, THRESHOLDS, WIDTH, patch_frame
from surrogates.families.cross_validation import Fitted
from surrogates.families.regressor import Regressor, part_of, under

#: Exponents that are tried, and the number of samples that choose one.
_EXPONENTS, _CHOOSING = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0), 40
#: Threshold from which a fit starts, and the weight of the distance from the start.
_START, _HOLD = 0.3, 1e-2
_MOST_EVALUATIONS = 60
#: Fewest triangles in contact from which the terms of a sample are found.
_FEWEST = 25

Fit = Callable[[FloatArray, FloatArray], Fitted]


@dataclass(frozen=True, eq=False)
class LayerResponse:
    """Pressure p ~ (d / d0 - k(a, b))^m (1 + f(a, b)), scaled to the axial load.

    d is the overlap and d0 the largest of the compartment; a, b are coordinates of the patch, and
    the quadratics k (threshold) and f (factor) are learnt.

    Parameters
    ----------
    exponent : float
        m [1].
    regressor : Regressor
        Coefficients of k (1, a, b, a², a b, b²) and of f (a, b, a², a b, b²) over the six scaled
        variables of the box [1].

    Raises
    ------
    InputError
        If the exponent is not positive or the regressor has other numbers of inputs or outputs.
    """

    exponent: float
    regressor: Regressor

    def __post_init__(self) -> None:
        check_number("exponent", self.exponent, above=0.0)
        sizes = self.regressor.inputs, self.regressor.outputs
        if sizes != (6, THRESHOLDS + FACTORS):
            raise InputError(
                f"regressor: expected 6 inputs and {THRESHOLDS + FACTORS} outputs, found {sizes}"
            )

    @classmethod
    def fit(
        cls,
        variables: FloatArray,
        depths: FloatArray,
        pressures: FloatArray,
        bed: FloatArray,
        fit: Fit,
    ) -> Self:
        """Fit the response to samples.

        Parameters
        ----------
        variables : (N, 6) float64
            Scaled variables of the box [1].
        depths, pressures : (N, T) float64
            Overlaps [m], 0 or less out of contact, and pressures [Pa].
        bed : (T, 7) float64
            See `surrogates.compiled.pressure`.
        fit : callable
            Fit of a family to inputs (N, 6) and outputs (N, 11).

        Raises
        ------
        InputError
            If too few samples have a patch of 25 triangles.
        """
        patches = [
            _patch(depth, pressure, bed) for depth, pressure in zip(depths, pressures, strict=True)
        ]
        chosen = [i for i, patch in enumerate(patches) if patch is not None]
        if len(chosen) < THRESHOLDS + FACTORS:
            raise InputError(
                f"fields: expected at least {THRESHOLDS + FACTORS} samples with {_FEWEST} "
                f"triangles in contact, found {len(chosen)}; use a finer tibial mesh"
            )
        own = [patch for patch in patches if patch is not None]
        some = own[:: max(1, len(own) // _CHOOSING)]
        errors = [np.mean([_terms(p, m)[1] for p in some]) for m in _EXPONENTS]
        exponent = _EXPONENTS[int(np.argmin(errors))]
        terms = np.array([_terms(patch, exponent)[0] for patch in own])
        return cls(exponent, fit(variables[chosen], terms).regressor)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields as arrays, such as terms/weights (11, F) [1]; see `from_arrays`."""
        named: dict[str, NDArray[Any]] = {"exponent": np.array(self.exponent)}
        return named | under("terms", self.regressor.to_arrays())

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Self:
        """Build from the arrays of `to_arrays`, e.g. terms/weights (11, F) [1].

        Raises `InputError` if an array is missing or malformed.
        """
        if "exponent" not in arrays:
            raise InputError("arrays: missing 'exponent' of a layer's response")
        named = {name: np.asarray(array) for name, array in arrays.items()}
        exponent = float(check_array("exponent", named["exponent"], ()))
        return cls(exponent, Regressor.from_arrays(part_of(named, "terms")))


_Patch = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def _patch(depth: FloatArray, pressure: FloatArray, bed: FloatArray) -> _Patch | None:
    """Return relative overlaps and pressures (n,), terms (n, 5) and areas (n,) of an overlap."""
    frame = np.empty(5)
    if (pressure > 0.0).sum() < _FEWEST or not patch_frame(depth, bed, frame):
        return None
    at = depth > 0.0
    b = bed[at, 2] - frame[1]
    a = (bed[at, 0] - frame[0] - frame[4] * b) / (WIDTH * frame[2])
    b = b / (WIDTH * frame[3])
    quadratic = np.column_stack([a, b, a * a, a * b, b * b])
    return depth[at] / depth.max(), pressure[at] / pressure.max(), quadratic, bed[at, 6]


def _terms(patch: _Patch, exponent: float) -> tuple[FloatArray, float]:
    """Return the terms (11,) of a patch and the RMS error over its largest pressure."""
    from scipy.optimize import least_squares  # not needed by a trained surrogate

    depth, pressure, quadratic, area = patch
    weight = np.sqrt(area / area.mean())
    start = np.zeros(1 + THRESHOLDS + FACTORS)
    start[0], start[1] = (1.0 - _START) ** -exponent, _START

    def field(x: FloatArray) -> FloatArray:
        bearing = np.maximum(depth - x[1] - quadratic @ x[2 : 1 + THRESHOLDS], 0.0)
        factor: FloatArray = 1.0 + quadratic @ x[1 + THRESHOLDS :]
        return np.asarray(x[0] * bearing**exponent * factor)

    def misses(x: FloatArray) -> FloatArray:
        return np.concatenate([weight * (field(x) - pressure), _HOLD * (x - start)])

    found = least_squares(misses, start, max_nfev=_MOST_EVALUATIONS).x
    error = float(np.sqrt(((field(found) - pressure) ** 2).mean()))
    return found[1:], error
