"""The loads of a knee as a function of CasADi."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surrogates.expressions.data import CompartmentData
from surrogates.expressions.domain import loads_and_criteria, moving_loads
from surrogates.expressions.of_casadi import CasadiFunctions


def casadi_knee(parts: Sequence[CompartmentData], dissipation: float | None = None) -> Any:
    """Return the function "knee" of CasADi.

    Parameters
    ----------
    parts : sequence of CompartmentData
        The C compartments.
    dissipation : float, optional
        Of a moving contact [s/m], which makes the rate an input.

    Returns
    -------
    casadi.Function
        pose (6) [rad, m], with dissipation also rate (6) [rad/s, m/s], to loads (12, C) [SI] and
        domain (12, C) [1].

    Raises
    ------
    InputError
        If CasADi is not installed.
    """
    f = CasadiFunctions()
    ca = f.casadi
    pose, rate = f.kind.sym("pose", 6), f.kind.sym("rate", 6)
    loads, domain = loads_and_criteria(f, parts, pose)
    if dissipation is not None:
        loads = moving_loads(f, parts, loads, pose, rate, dissipation)
    inputs = [pose] if dissipation is None else [pose, rate]
    names = ["pose"] if dissipation is None else ["pose", "rate"]
    outputs = ca.cse([ca.horzcat(*loads), ca.horzcat(*domain)])
    return ca.Function("knee", inputs, outputs, names, ["loads", "domain"])
