"""The loads of a knee as a function of CasADi."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foundation.base.checks import FloatArray
from surrogates.core.packing import PackedCompartment
from surrogates.expressions.compartment import loads_and_criteria
from surrogates.expressions.of_casadi import CasadiFunctions, casadi


def casadi_knee(
    parts: Sequence[PackedCompartment],
    ranges: tuple[FloatArray, FloatArray] | None = None,
) -> Any:
    """Return the function "knee" of CasADi.

    As of `surrogates.formulations.contact_surrogate.ContactSurrogate.casadi`; with least and
    largest values `ranges` (P,) [any unit] of the parameters of designs, the design is the last
    input.
    """
    ca = casadi()
    # Over designs there are too many numbers for one expression of each.
    f = CasadiFunctions(ca.SX if ranges is None else ca.MX)
    inputs, z = {"pose": f.kind.sym("pose", 6)}, f.kind(0, 1)
    if ranges is not None:
        low, high = ranges
        inputs["design"] = f.kind.sym("design", len(low))
        z = (inputs["design"] - f.constant(0.5 * (low + high))) / f.constant(0.5 * (high - low))
    loads, domain = loads_and_criteria(f, parts, inputs["pose"], z)
    outputs = ca.cse([ca.horzcat(*loads), ca.horzcat(*domain)])
    return ca.Function("knee", [*inputs.values()], outputs, [*inputs], ["loads", "domain"])
