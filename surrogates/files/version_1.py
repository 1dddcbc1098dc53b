"""Reader of version 1 of the surrogate's file, converted to the current form with equal results.

Version 1 counted poses at the femoral origin from the spline path of the sample space, moments and
centres of pressure from the tibial origin, and stored Kriging's theta in place of lengths.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, check_array, check_in
from surrogates.compiled.regressor_data import CORRELATIONS
from surrogates.families.regressor import Regressor, linear_in, no_outputs, part_of
from surrogates.families.training import polynomial_exponents
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.sampling.condyle_coordinates import CondyleCoordinates
from surrogates.sampling.space import SampleSpace

_KINDS = {"squar_exp": "squared_exponential", "matern52": "matern52", "matern32": "matern32"}
_TRENDS = {"constant": 0, "linear": 1, "quadratic": 2}
_FORMULATIONS = ("inverted", "direct")


def compartment(
    formulation: str, space: SampleSpace, arrays: Mapping[str, NDArray[Any]]
) -> CompartmentSurrogate:
    """Return one compartment of a version 1 file, from arrays such as theta (d,) [1].

    Parameters
    ----------
    formulation : {"inverted", "direct"}
        Formulation of the compartment.
    space : SampleSpace
        Box of the samples.
    arrays : mapping
        Arrays of the compartment by name, without the compartment's name.

    Raises
    ------
    ValueError, KeyError
        If an array is missing or malformed.
    """
    check_in("formulation", formulation, _FORMULATIONS)
    coordinates = CondyleCoordinates.at_origin(space)
    largest, nothing = float(space.load[1]), no_outputs(5)
    if formulation == "direct":
        depth = check_array("height_range", arrays["height_range"], (2,))
        parts = _regressor(arrays, "loads"), no_outputs(6), no_outputs(6)
        return CompartmentSurrogate(
            "direct", space, coordinates, largest, 1.0, 0.0, depth, (nothing, *parts)
        )
    # Areas and pressures were learnt over the root of the load, not of the load over F_max.
    factors = np.repeat([np.sqrt(largest), 1.0], 3)
    parts = (
        _regressor(arrays, "height"),
        _regressor(arrays, "ratios"),
        _regressor(arrays, "quantities", factors),
    )
    depth = np.array([0.0, 1.0])
    return CompartmentSurrogate(
        "inverted", space, coordinates, largest, 2.0, 0.0, depth, (nothing, *parts)
    )


def _regressor(
    arrays: Mapping[str, NDArray[Any]], part: str, factors: FloatArray | float = 1.0
) -> Regressor:
    own = part_of(arrays, part)
    family = str(own["family"])
    scalings = (
        own["x_offset"], own["x_scale"], own["y_offset"] * factors, own["y_scale"] * factors,
    )  # fmt: skip
    if family == "response_surface":
        return _response_surface(own, scalings, factors)
    check_in("family", family, ("kriging",))
    return _kriging(own, scalings, factors)


def _kriging(
    own: Mapping[str, NDArray[Any]], scalings: Any, factors: FloatArray | float
) -> Regressor:
    correlation = check_in("correlation", str(own["correlation"]), _KINDS)
    degree = _TRENDS[check_in("trend", str(own["trend"]), _TRENDS)]
    theta = np.maximum(check_array("theta", own["theta"], (None,)), 1e-12)
    lengths = 1.0 / np.sqrt(2.0 * theta) if correlation == "squar_exp" else 1.0 / theta
    exponents = polynomial_exponents(len(theta), degree)
    return linear_in(
        "kriging",
        scalings,
        exponents,
        np.concatenate([own["beta"], own["gamma"]]).T,
        points=own["points"],
        lengths=lengths,
        kinds=np.full(len(theta), CORRELATIONS[_KINDS[correlation]]),
        nugget=float(own["nugget"]),
        variance=own["variance"] * np.square(factors),
    )


def _response_surface(
    own: Mapping[str, NDArray[Any]], scalings: Any, factors: FloatArray | float
) -> Regressor:
    d, k = len(own["x_offset"]), len(own["y_offset"])
    spread = np.zeros((k, len(polynomial_exponents(d, 2))))
    # The standard error was that of the residuals times a factor of nearly 1 (the leverage).
    spread[:, 0] = np.log(np.maximum(own["deviation"] * factors, 1e-300))
    coefficients = check_array("coefficients", own["coefficients"], (None, k))
    return linear_in("polynomial", scalings, own["exponents"], coefficients.T, spread=spread)
