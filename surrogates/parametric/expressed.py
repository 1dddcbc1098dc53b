"""Surrogates over designs as expressions of CasADi and functions of JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from surrogates.expressions.casadi_knee import casadi_knee
from surrogates.expressions.data import (
    BoxData,
    CompartmentData,
    CondyleData,
    DomainData,
    ParameterData,
    PathData,
    PointData,
)
from surrogates.expressions.jax_knee import jax_knee
from surrogates.formulations.expressed import checked_dissipation
from surrogates.parametric.compartment import ParametricCompartment, ParametricPath
from surrogates.parametric.parameters import Parameters


def expression_data(part: ParametricCompartment) -> CompartmentData:
    """Return the numbers of a compartment's expressions over designs."""
    middle = part.at(np.zeros(part.parameters))
    box = BoxData(
        _path_data(part.space.path), *middle.space.centre_and_half, float(part.space.load[1])
    )
    own = part.coordinates
    condyle = CondyleData(
        PointData(own.centre.coefficients, own.centre.exponents), _path_data(own.path),
        own.middle, own.half, 1.0 if own.about_point else 0.0,
    )  # fmt: skip
    domain = DomainData(part.domain.limits, part.domain.lifted, part.domain.regressor)
    return CompartmentData(
        middle.learns_heights, part.largest, part.degree, part.depth, part.smoothing, middle.fall,
        box, condyle, domain, part.regressors,
    )  # fmt: skip


def casadi_function(
    parameters: Parameters,
    by_name: Mapping[str, ParametricCompartment],
    dissipation: float | None = None,
) -> Any:
    """Return `casadi_knee` over designs, with a checked dissipation [s/m] or None."""
    data = [expression_data(part) for part in by_name.values()]
    return casadi_knee(data, checked_dissipation(dissipation), _parameter_data(parameters))


def jax_function(
    parameters: Parameters,
    by_name: Mapping[str, ParametricCompartment],
    dissipation: float | None = None,
) -> Callable[..., Any]:
    """Return `jax_knee` over designs, with a checked dissipation [s/m] or None."""
    data = [expression_data(part) for part in by_name.values()]
    checked = checked_dissipation(dissipation)
    return jax_knee(data, checked, parameters=_parameter_data(parameters))


def _parameter_data(parameters: Parameters) -> ParameterData:
    low, high = parameters.low, parameters.high
    return ParameterData(0.5 * (low + high), 0.5 * (high - low))


def _path_data(path: ParametricPath) -> PathData:
    """Return the cubics of all products side by side."""
    pieces = np.moveaxis(path.pieces.coefficients, 0, 2)  # (4, K - 1, T, 5)
    rows = pieces.reshape(*pieces.shape[:2], -1)
    return PathData(path.flexion, rows, path.pieces.exponents)
