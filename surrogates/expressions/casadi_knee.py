"""The loads of a knee as a function of CasADi."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surrogates.core.packing import PackedCompartment
from surrogates.expressions.compartment import loads_and_criteria
from surrogates.expressions.of_casadi import CasadiFunctions, casadi


def casadi_knee(parts: Sequence[PackedCompartment]) -> Any:
    """Return the function "knee" of CasADi, as of `ContactSurrogate.casadi`."""
    ca = casadi()
    pose = ca.SX.sym("pose", 6)
    loads, domain = loads_and_criteria(CasadiFunctions(), parts, pose)
    outputs = ca.cse([ca.horzcat(*loads), ca.horzcat(*domain)])
    return ca.Function("knee", [pose], outputs, ["pose"], ["loads", "domain"])
