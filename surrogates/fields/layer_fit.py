"""Fit of the pressure of a continuous layer to samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.core.library import CONSTANTS, CORE, address
from surrogates.core.regressor_data import CORRELATIONS
from surrogates.families.kriging_likelihood import Likelihood, factorise_safely, maximise, solve
from surrogates.fields.layer_response import MEASURES, TERMS, LayerResponse

#: Of the polynomial of the pressure over a patch, as of the library.
DEGREE, SHAPES = int(CONSTANTS["PATCH_DEGREE"]), TERMS - 1
WIDTH, REACH, SPAN = (CONSTANTS[f"PATCH_{name}"] for name in ("WIDTH", "REACH", "SPAN"))
#: Exponent of the pressure: between the root at a sharp edge, which nodes blur, and a thin layer.
EXPONENT = 0.8
#: Penalty of the terms, over the square of their degree; evaluations of a fit.
_HOLD, _MOST_EVALUATIONS = 3e-3, 40
#: Fewest places in contact from which the terms of a sample are found, and fewest such samples.
_FEWEST, _FEWEST_SAMPLES = 25, 40
#: Bounds of the nugget, samples and iterations of the search for lengths, and of its refinement.
_NUGGET, _SEARCHED, _ITERATIONS, _REFINED = (1e-6, 0.3), 400, 80, 8


def fit_layer(depths: FloatArray, pressures: FloatArray, bed: FloatArray) -> LayerResponse:
    """Return the layer that fits overlaps (N, P) [m] and pressures (N, P) [Pa] of a bed (P, 7)."""
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
    return LayerResponse(EXPONENT, *_kriging(np.array([patch.measures for patch in own]), terms))


class _Patch(NamedTuple):
    """Contact of one sample."""

    #: Of the overlap (15,).
    measures: FloatArray
    #: Relative, of the places that overlap (n,).
    pressure: FloatArray
    #: At these places (n, 15).
    polynomials: FloatArray
    #: Logarithm of the integral of the pressure over the size of the overlap [Pa].
    stiffness: float


def _patch(depth: FloatArray, pressure: FloatArray, bed: FloatArray) -> _Patch | None:
    inside: IntArray = np.flatnonzero(depth > 0.0)
    frame, measures = np.empty(6), np.empty(MEASURES)
    if (pressure > 0.0).sum() < _FEWEST:
        return None
    overlap = [address(np.ascontiguousarray(each)) for each in (depth, bed)]
    if not CORE.measure_overlap(len(depth), *overlap, address(frame), address(measures)):
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
