"""Pressure of a continuous layer from the overlap of the surfaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.checks import FloatArray, IntArray, check_array, check_fields, check_number
from foundation.errors import InputError
from surrogates.compiled import layer_pressure as compiled
from surrogates.compiled.layer_pressure import DEGREE, MEASURES, REACH, SHAPES, SPAN, TERMS, WIDTH
from surrogates.compiled.regressor_data import CORRELATIONS
from surrogates.families.kriging_likelihood import Likelihood, factorise_safely, maximise, solve

#: Exponent of the pressure: between the root at a sharp edge, which nodes blur, and a thin layer.
EXPONENT = 0.8
#: Penalty of the terms, over the square of their degree; evaluations of a fit.
_HOLD, _MOST_EVALUATIONS = 3e-3, 40
#: Fewest places in contact from which the terms of a sample are found, and fewest such samples.
_FEWEST, _FEWEST_SAMPLES = 25, 40
#: Bounds of the nugget, samples and iterations of the search for lengths, and of its refinement.
_NUGGET, _SEARCHED, _ITERATIONS, _REFINED = (1e-6, 0.3), 400, 80, 8
_NAMES = ("exponent", "scaling", "points", "lengths", "weights")


@dataclass(frozen=True, eq=False)
class LayerResponse:
    """Pressure p ~ max(s(a, b), 0)^m; a, b are coordinates of the patch.

    The terms of the polynomial s, and the load, are learnt over measures of the overlap by Kriging
    with Matern 5/2 correlations; see `surrogates.compiled.layer_pressure`.

    Parameters
    ----------
    exponent : float
        m [1].
    scaling : (2, 15) float64
        Middle and half range of the measures.
    points : (15, N) float64
        Scaled measures of the samples over the lengths [1].
    lengths : (15,) float64
        Correlation lengths over √5 [1].
    weights : (16 + N, 16) float64
        Weights of trend and correlations [1].

    Raises
    ------
    InputError
        If an array is malformed or a number is out of range.
    """

    exponent: float
    scaling: FloatArray
    points: FloatArray
    lengths: FloatArray
    weights: FloatArray

    def __post_init__(self) -> None:
        check_number("exponent", self.exponent, above=0.0)
        count = np.shape(self.points)[-1]
        check_fields(
            self, scaling=(2, MEASURES), points=(MEASURES, count), lengths=(MEASURES,),
            weights=(1 + MEASURES + count, TERMS),
        )  # fmt: skip
        check_array("scaling", self.scaling[1], (MEASURES,), above=0.0)
        check_array("lengths", self.lengths, (MEASURES,), above=0.0)

    @classmethod
    def fit(cls, depths: FloatArray, pressures: FloatArray, bed: FloatArray) -> Self:
        """Fit the response to samples.

        Parameters
        ----------
        depths, pressures : (N, P) float64
            Overlaps [m], 0 or less out of contact, and pressures [Pa] of the places of the bed.
        bed : (P, 7) float64
            See `surrogates.compiled.pressure`.

        Raises
        ------
        InputError
            If too few samples have a patch of 25 places.
        """
        patches = [
            _patch(depth, pressure, bed) for depth, pressure in zip(depths, pressures, strict=True)
        ]
        own = [patch for patch in patches if patch is not None]
        if len(own) < _FEWEST_SAMPLES:
            raise InputError(
                f"fields: expected at least {_FEWEST_SAMPLES} samples with {_FEWEST} places in "
                f"contact, found {len(own)}; use more samples or a finer tibial mesh"
            )
        terms = np.array([[*_terms(patch), patch.stiffness] for patch in own])
        return cls(EXPONENT, *_kriging(np.array([patch.measures for patch in own]), terms))

    def pressures(self, depth: FloatArray, bed: FloatArray) -> FloatArray:
        """Return the pressures (P,) [Pa] of overlaps (P,) [m]; `bed` (P, 7) as of `fit`."""
        pressure, inside = np.zeros(len(depth)), np.empty(len(depth), dtype=np.int64)
        inside = inside[: compiled.overlapping(depth, inside)]
        frame, measures, terms = np.empty(6), np.empty(MEASURES), np.empty(TERMS)
        if compiled.measure_overlap(depth, bed, inside, frame, measures):
            compiled.evaluate_terms(
                measures, self.scaling, self.points, self.lengths, self.weights,
                np.empty(MEASURES), np.empty((2, self.points.shape[1])), terms,
            )  # fmt: skip
            compiled.layer_pressures(
                bed, inside, frame, terms, self.exponent, np.empty((2, DEGREE + 1)), pressure
            )
        return pressure

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields as arrays, such as scaling (2, 15) [SI]; see `from_arrays`."""
        return {name: np.array(getattr(self, name)) for name in _NAMES}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Self:
        """Build from the arrays of `to_arrays`, such as scaling (2, 15) [SI].

        Raises `InputError` if an array is missing or malformed.
        """
        missing = [name for name in _NAMES if name not in arrays]
        if missing:
            raise InputError(f"arrays: missing {missing} of a layer's response")
        exponent, *others = (np.asarray(arrays[name]) for name in _NAMES)
        return cls(float(check_array("exponent", exponent, ())), *others)


class _Patch(NamedTuple):
    """Contact of one sample.

    Measures (15,) of the overlap, relative pressures (n,) and polynomials (n, 15) of the places
    that overlap, logarithm of the integral of the pressure over the size of the overlap [Pa].
    """

    measures: FloatArray
    pressure: FloatArray
    polynomials: FloatArray
    stiffness: float


def _patch(depth: FloatArray, pressure: FloatArray, bed: FloatArray) -> _Patch | None:
    inside: IntArray = np.flatnonzero(depth > 0.0)
    frame, measures = np.empty(6), np.empty(MEASURES)
    if (pressure > 0.0).sum() < _FEWEST:
        return None
    if not compiled.measure_overlap(depth, bed, inside, frame, measures):
        return None
    b = bed[inside, 2] - frame[1]
    a = (bed[inside, 0] - frame[0] - frame[4] * b) / (WIDTH * frame[2])
    b = b / (WIDTH * frame[3])
    near = a**2 + b**2 < REACH**2
    first, second = (np.polynomial.legendre.legvander(x[near] / SPAN, DEGREE) for x in (a, b))
    products = [
        first[:, degree - j] * second[:, j]
        for degree in range(DEGREE + 1)
        for j in range(degree + 1)
    ]
    total = float(pressure @ bed[:, 6])
    mean = total / (4.0 * WIDTH**2 * frame[2] * frame[3])
    return _Patch(
        measures, pressure[inside[near]] / mean, np.column_stack(products), np.log(total / frame[5])
    )


def _terms(patch: _Patch) -> FloatArray:
    """Return the terms (15,) of the polynomial of a patch."""
    from scipy.optimize import least_squares  # not needed by a trained surrogate

    pressure, shapes = patch.pressure, patch.polynomials
    degrees = np.repeat(np.arange(DEGREE + 1), np.arange(1, DEGREE + 2))
    hold = _HOLD * np.sqrt(len(shapes)) * (degrees / DEGREE) ** 2
    at = pressure > 0.0
    rows = np.vstack([shapes[at], 0.1 * np.eye(SHAPES)])
    start = np.linalg.lstsq(rows, np.append(pressure[at] ** (1.0 / EXPONENT), np.zeros(SHAPES)))[0]

    def misses(terms: FloatArray) -> FloatArray:
        found = np.maximum(shapes @ terms, 0.0) ** EXPONENT
        return np.append(found - pressure, hold * terms)

    def slopes(terms: FloatArray) -> FloatArray:
        bearing = shapes @ terms
        # The slope of the pressure has no limit at the edge.
        steep = EXPONENT * np.maximum(bearing, 1e-3) ** (EXPONENT - 1.0)
        return np.vstack([np.where(bearing > 1e-3, steep, 0.0)[:, None] * shapes, np.diag(hold)])

    return np.asarray(least_squares(misses, start, slopes, max_nfev=_MOST_EVALUATIONS).x)


def _kriging(measures: FloatArray, terms: FloatArray) -> tuple[FloatArray, ...]:
    """Return scaling, points, lengths and weights, as of `LayerResponse`."""
    low, high = measures.min(axis=0), measures.max(axis=0)
    half = np.maximum((high - low) / 2.0, 1e-9)
    scaling = np.array([(low + high) / 2.0, half])
    z = (measures - scaling[0]) / half
    mean, deviation = terms.mean(axis=0), np.maximum(terms.std(axis=0), 1e-12)
    varying = np.append(True, z.std(axis=0) > 1e-3)
    y, trend = (terms - mean) / deviation, np.column_stack([np.ones(len(z)), z])[:, varying]
    kinds = np.full(MEASURES, CORRELATIONS["matern52"])
    rows = np.linspace(0, len(z) - 1, min(len(z), _SEARCHED)).astype(np.int64)
    few = Likelihood(z[rows], y[rows], trend[rows], kinds, (), _NUGGET)
    vector, _ = maximise(few, few.first(), _ITERATIONS)
    every = Likelihood(z, y, trend, kinds, (), _NUGGET)
    if len(rows) < len(z):
        vector, _ = maximise(every, vector, _REFINED)
    parameters = every.parameters(vector)
    factors, _ = factorise_safely(parameters, z, kinds, trend)
    found = solve(factors, y)[0].T * deviation
    weights = np.zeros((len(varying) + len(z), TERMS))
    weights[np.append(varying, np.full(len(z), True))] = found
    weights[0] += mean
    lengths = parameters.lengths / np.sqrt(5.0)
    return scaling, np.ascontiguousarray((z / lengths).T), lengths, weights
