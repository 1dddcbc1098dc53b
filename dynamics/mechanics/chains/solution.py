"""Solution of the equations of motion for what is unknown, and closing of structures.

At one instant the accelerations of free coordinates, the torques that drive prescribed segments,
the forces at prescribed bases and the forces λ of the closures are unknown. They follow together
from one linear system,

    M q'' - Tᵀ τ - P f - Gᵀ λ = Q - b,      G q'' = -G' q' - 2 α c' - α² c,

with the forces f at the coordinates P of the prescribed bases. The gaps c of the closures are zero
in exact arithmetic; α lets those that the integrator makes decay (Baumgarte 1972, Comput. Methods
Appl. Mech. Eng. 1, 1-16).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from dynamics.mechanics.chains.equations import Equations, Geometry
from dynamics.simulator.equations import SimulationError
from foundation.checks import FloatArray
from foundation.errors import InputError

#: Ratio of singular values under which closures count as dependent.
DEPENDENT = 1e-9
#: Gap [m] and its rate [m/s] that a closed structure may have.
CLOSED = 1e-13
#: Most Newton steps to a closed structure.
STEPS = 50


class Motion(NamedTuple):
    """Solution at one instant, of n coordinates, N segments and C closures.

    Parameters
    ----------
    accelerations : (n,) float64
        q'' [rad/s² or m/s²].
    torques : (N,) float64
        τ, drives of free chains included [N m or N].
    closure_forces : (C,) complex128
        λ, on the second points [N].
    """

    accelerations: FloatArray
    torques: FloatArray
    closure_forces: np.ndarray


def solve_motion(
    equations: Equations,
    at: Geometry,
    state: FloatArray,
    free: np.ndarray,
    torques: FloatArray,
    decay: float,
) -> Motion:
    """Solve the equations of motion.

    Parameters
    ----------
    equations : Equations
        Equations of N segments in n coordinates.
    at : Geometry
        The geometry in the state.
    state : (3, n) float64
        Coordinates, rates, and prescribed accelerations [rad or m; s]; free ones are not read.
    free : (n,) bool
        Whether a coordinate is free.
    torques : (N,) float64
        Drives at the joints of free segments [N m or N]; zero at those of prescribed ones.
    decay : float
        α, rate at which gaps decay [1/s].

    Returns
    -------
    Motion
        Accelerations, torques and forces of the closures.

    Raises
    ------
    SimulationError
        If the closures depend on each other in this state, or the torques at the joints cannot
        impose the prescribed angles.
    """
    count = equations.forest.count
    mass, bias, force = equations.terms(at, state[0], state[1])
    transmission = np.eye(len(free))
    transmission[:count, :count] = equations.joints.differences.T
    known = np.where(free, 0.0, state[2])
    right = force - bias - mass @ known + transmission[:, :count] @ torques
    matrix = np.where(free, mass, -transmission)
    closures = equations.closures
    if closures:
        gap, speed, jacobian, curved = equations.constraints(at)
        if not _independent(jacobian[:, free]):
            raise SimulationError(
                "closures: expected independent ones, found that they depend on each other: remove "
                "one that repeats others, or avoid the dead point of the structure"
            )
        rows = np.where(free, jacobian, 0.0)
        matrix = np.block([[matrix, -jacobian.T], [rows, np.zeros((2 * closures,) * 2)]])
        wanted = -(jacobian @ known) - curved - 2.0 * decay * speed - decay**2 * gap
        right = np.concatenate([right, wanted])
    found = _solve(matrix, right)
    multipliers = found[len(free) :]
    unknown = found[: len(free)]
    return Motion(
        np.where(free, unknown, known),
        np.where(free[:count], torques, unknown[:count]),
        multipliers[:closures] + 1j * multipliers[closures:],
    )


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Return the solution of the system, or raise a SimulationError if it is singular."""
    try:
        return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError as error:
        raise SimulationError(
            "chains: expected joint torques that impose the prescribed angles, found a singular "
            "system: use a relative Attachment"
        ) from error


def _independent(jacobian: FloatArray) -> bool:
    """Return whether the rows of a Jacobian (2 C, F) [m or 1] are independent."""
    if jacobian.shape[0] > jacobian.shape[1]:
        return False
    values = np.linalg.svd(jacobian, compute_uv=False)
    return bool(values[-1] > DEPENDENT * values[0])


def close_structure(equations: Equations, state: FloatArray, free: np.ndarray) -> FloatArray:
    """Return the nearest state (2, n) [rad or m; s] in which the closures are closed.

    Near by the kinetic energy of the difference: the mass matrix weighs the changes of the free
    coordinates and rates.

    Parameters
    ----------
    equations : Equations
        Equations in n coordinates.
    state : (2, n) float64
        Coordinates and rates [rad or m; s].
    free : (n,) bool
        Whether a coordinate is free.

    Raises
    ------
    InputError
        If the closures depend on each other, or no closed state is found.
    """
    state = np.array(state)
    if not equations.closures:
        return state
    scale = max(1.0, float(np.abs(equations.points.arms).max()))
    for _ in range(STEPS):
        at = equations.geometry(state[0], state[1])
        gap, _, jacobian, _ = equations.constraints(at)
        if np.abs(gap).max() <= CLOSED * scale:
            break
        state[0, free] -= _weighted(equations, at, state, free, jacobian) @ gap
    else:
        raise InputError(
            f"closures: expected a closed structure near the stated one, found gaps of "
            f"{np.abs(gap).max():.3g} m after {STEPS} Newton steps: start closer"
        )
    for _ in range(2):  # the second step takes the rounding of the first
        at = equations.geometry(state[0], state[1])
        _, speed, jacobian, _ = equations.constraints(at)
        state[1, free] -= _weighted(equations, at, state, free, jacobian) @ speed
    return state


def _weighted(
    equations: Equations,
    at: Geometry,
    state: FloatArray,
    free: np.ndarray,
    jacobian: FloatArray,
) -> FloatArray:
    """Return M⁻¹ Gᵀ (G M⁻¹ Gᵀ)⁻¹ of the free coordinates, (F, 2 C)."""
    rows = jacobian[:, free]
    if not _independent(rows):
        raise InputError(
            "closures: expected independent ones, found that they depend on each other or close "
            "nothing that is free: remove closures, or start away from the dead point"
        )
    mass = equations.terms(at, state[0], state[1])[0][np.ix_(free, free)]
    spread = scipy.linalg.solve(mass, rows.T, assume_a="pos")
    return np.asarray(np.linalg.solve((rows @ spread).T, spread.T).T, dtype=np.float64)
