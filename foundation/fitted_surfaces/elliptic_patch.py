"""Overlap and Hertz's pressure over the elliptic patch of a fitted contact."""

from __future__ import annotations

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.loads import CENTRE, FORCE
from foundation.base.pose import Pose
from foundation.contact_laws.ellipse import EllipticContact
from foundation.fitted_surfaces.compartment import FittedCompartment
from foundation.fitted_surfaces.kernel_side import FittedState


def patch_state(
    surfaces: FittedCompartment,
    pose: Pose,
    contact: EllipticContact,
    state: FittedState,
    points: FloatArray,
) -> FloatArray:
    """Return overlap [m] and pressure [Pa] (2, N) at points (N, 3) [m] of the tibial surface.

    With the curvatures κ of the gap along its principal axes ξ, the overlap is d - Σ κ ξ²/2, and
    the pressure p₀ √(1 - Σ ξ²/a²) (Johnson 1985, sec. 4.2), both zero where negative.
    """
    at, depth = state.loads[CENTRE], state.depth[0]
    normal, gap = _gap(surfaces, pose, at)
    curvatures, axes = np.linalg.eigh(gap)
    # The normal has no curvature: the other two axes lie in the tangent plane.
    chosen = np.argsort(np.abs(axes.T @ normal))[:2]
    chosen = chosen[np.argsort(curvatures[chosen])]
    away = (points - at) @ axes[:, chosen]
    force = float(np.linalg.norm(state.loads[FORCE]))
    semi_axes = np.array(contact.semi_axes(force))
    overlap = depth - 0.5 * away**2 @ curvatures[chosen]
    inside = 1.0 - (away / semi_axes) ** 2 @ np.ones(2)
    # Points beyond a quarter sphere, as on the far side of a closed solid, are no neighbours.
    near = np.abs((points - at) @ normal) < semi_axes[0]
    pressure = contact.peak_pressure(force) * np.sqrt(np.maximum(inside, 0.0))
    return np.where(near, np.stack([np.maximum(overlap, 0.0), pressure]), 0.0)


def _gap(surfaces: FittedCompartment, pose: Pose, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the common normal (3,) and the curvature (3, 3) of the gap [1/m], tibial frame."""
    (normal,), (plateau,) = surfaces.tibia.normals_and_curvatures(at[None])
    turn = pose.rotation_matrix
    matrix = turn @ surfaces.femur.matrix @ turn.T
    size = float(np.sqrt(normal @ np.linalg.solve(matrix, normal)))
    flat = np.eye(3) - np.outer(normal, normal)
    return normal, flat @ (size * matrix) @ flat + plateau
