"""Coulomb friction between the linear layer and a sphere that is pressed in along the axis.

Only slip along the radius is possible. In each step of the approach the contact forces for given
friction and the friction for given contact forces follow each other until neither changes: both are
convex problems of least squares, and the second one adds little to the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import lsq_linear

from benchmarks.axisymmetric_layer import (
    AxisymmetricLayer,
    ConvergenceError,
    Indentation,
    contact_forces,
)
from foundation.base.checks import FloatArray

_MOST_PASSES = 60


@dataclass(frozen=True, eq=False)
class Rubbing:
    """A contact with its friction, and the radial displacement of the surface [N, m]."""

    contact: Indentation
    friction: FloatArray
    displacement: FloatArray


def press_with_friction(
    model: AxisymmetricLayer,
    compliance: FloatArray,
    approaches: Sequence[float],
    coefficient: float,
) -> Iterator[Rubbing]:
    """Yield the contact at growing approaches [m]; nodes stick or slip from one to the next."""
    earlier = np.zeros_like(model.radius)
    friction = np.zeros_like(model.radius)
    for approach in approaches:
        for _ in range(_MOST_PASSES):
            normal = _normal(model, compliance, approach, friction)
            last, friction = friction, _sticking(compliance, normal, earlier, coefficient)
            if np.abs(friction - last).max() <= 1e-9 * normal.sum():
                break
        else:
            raise ConvergenceError(f"no friction found at an approach of {approach:g} m")
        result = _result(model, compliance, normal, friction)
        earlier = result.displacement
        yield result


def press_slipping(
    model: AxisymmetricLayer, compliance: FloatArray, approach: float, coefficient: float
) -> Rubbing:
    """Return the contact if the friction is μ p, and inward, on the whole of the contact."""
    normal = np.zeros_like(model.radius)
    for _ in range(_MOST_PASSES):
        inward = -coefficient * normal
        inward[0] = 0.0
        last, normal = normal, _normal(model, compliance, approach, inward)
        if np.abs(normal - last).max() <= 1e-9 * normal.sum():
            return _result(model, compliance, normal, inward)
    raise ConvergenceError(f"no contact found at an approach of {approach:g} m")


def _normal(
    model: AxisymmetricLayer, compliance: FloatArray, approach: float, friction: FloatArray
) -> FloatArray:
    n = len(model.radius)
    raised = compliance[n:, :n] @ friction
    return contact_forces(compliance[n:, n:], approach - model.case.height(model.radius) + raised)


def _sticking(
    compliance: FloatArray, normal: FloatArray, earlier: FloatArray, coefficient: float
) -> FloatArray:
    """Return the friction that holds nodes where they were, as far as its bound μ f allows."""
    n = len(normal)
    held = np.flatnonzero(normal > 0.0)
    held = held[held > 0]  # the node on the axis cannot slip
    slip = -compliance[:n, n:] @ normal - earlier
    factor = np.linalg.cholesky(compliance[np.ix_(held, held)])
    bound = coefficient * normal[held]
    least = lsq_linear(
        factor.T, np.linalg.solve(factor, -slip[held]), (-bound, bound), method="bvls"
    )
    friction = np.zeros(n)
    friction[held] = least.x
    return friction


def _result(
    model: AxisymmetricLayer, compliance: FloatArray, normal: FloatArray, friction: FloatArray
) -> Rubbing:
    n = len(normal)
    moved = compliance[:n, :n] @ friction - compliance[:n, n:] @ normal
    pressure = normal / model.shares
    contact = Indentation(model.radius, normal, pressure, float(normal.sum()), np.empty(0))
    return Rubbing(contact, friction, moved)
