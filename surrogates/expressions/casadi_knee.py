"""The loads of a knee as a function of CasADi."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surrogates.expressions.data import CompartmentData, ParameterData
from surrogates.expressions.domain import loads_and_criteria, moving_loads
from surrogates.expressions.of_casadi import CasadiFunctions, casadi


def casadi_knee(
    parts: Sequence[CompartmentData],
    dissipation: float | None = None,
    parameters: ParameterData | None = None,
) -> Any:
    """Return the function "knee" of CasADi.

    Parameters
    ----------
    parts : sequence of CompartmentData
        The C compartments.
    dissipation : float, optional
        Of a moving contact [s/m], which makes the rate an input.
    parameters : ParameterData, optional
        The P parameters of designs, which makes the design the last input.

    Returns
    -------
    casadi.Function
        pose (6) [rad, m], with dissipation also rate (6) [rad/s, m/s], with parameters also design
        (P) [units of the names], to loads (12, C) [SI] and domain (12, C) [1].

    Raises
    ------
    InputError
        If CasADi is not installed.
    """
    ca = casadi()
    # Over designs there are too many numbers for one expression of each.
    f = CasadiFunctions(ca.SX if parameters is None else ca.MX)
    pose, rate = f.kind.sym("pose", 6), f.kind.sym("rate", 6)
    inputs = {"pose": pose} if dissipation is None else {"pose": pose, "rate": rate}
    z = None
    if parameters is not None:
        inputs["design"] = f.kind.sym("design", len(parameters.middle))
        z = parameters.scaled(f, inputs["design"])
    loads, domain = loads_and_criteria(f, parts, pose, z)
    if dissipation is not None:
        loads = moving_loads(f, parts, loads, pose, rate, dissipation, z)
    outputs = ca.cse([ca.horzcat(*loads), ca.horzcat(*domain)])
    return ca.Function("knee", [*inputs.values()], outputs, [*inputs], ["loads", "domain"])
