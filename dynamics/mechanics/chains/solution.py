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
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

#: Ratio of singular values under which closures count as dependent.
DEPENDENT = 1e-9
#: Gap [m] and its rate [m/s] that a closed structure may have.
CLOSED = 1e-13
#: Gap [m] and its rate [m/s] that a state may have in which forces are evaluated.
LARGEST_GAP = 1e-6
#: Most Newton steps to a closed structure, and longest change of a coordinate in one [rad or m].
STEPS, LONGEST_STEP = 50, 0.5


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
    count, closures = equations.forest.count, equations.closures
    mass, bias, force = equations.terms(at, state[0], state[1])
    gap, speed, jacobian, curved = equations.constraints(at)
    if closures and not _independent(jacobian[:, free]):
        raise SimulationError(
            "closures: expected independent closures, found dependent closures: remove a closure "
            "that repeats others, or avoid the dead point of the structure"
        )
    known = np.where(free, 0.0, state[2])
    right = force - bias - mass @ known
    right[:count] += equations.joints.differences.T @ torques
    wanted = -(jacobian @ known) - curved - 2.0 * decay * speed - decay**2 * gap
    found = _solve(_matrix(equations, mass, jacobian, free), np.concatenate([right, wanted]))
    unknown, multipliers = found[: len(free)], found[len(free) :]
    return Motion(
        np.where(free, unknown, known),
        np.where(free[:count], torques, unknown[:count]),
        multipliers[:closures] + 1j * multipliers[closures:],
    )


def orientation(equations: Equations, at: Geometry, state: FloatArray, free: np.ndarray) -> float:
    """Return the sign of the determinant of the linear system [1].

    Arguments (3, n) [rad or m] and (n,) as of `solve_motion`. Where the sign changes, torques at
    the joints cannot impose the prescribed angles.
    """
    mass, _, _ = equations.terms(at, state[0], state[1])
    jacobian = equations.constraints(at)[2]
    return float(np.linalg.slogdet(_matrix(equations, mass, jacobian, free))[0])


def _matrix(
    equations: Equations, mass: FloatArray, jacobian: FloatArray, free: np.ndarray
) -> FloatArray:
    """Return the matrix of the unknowns: accelerations or forces of the coordinates, and λ."""
    count, size, rows = equations.forest.count, len(free), len(jacobian)
    matrix = np.zeros((size + rows, size + rows))
    matrix[:size, :size] = -np.eye(size)
    matrix[:count, :count] = -equations.joints.differences.T
    matrix[:size, :size][:, free] = mass[:, free]
    matrix[:size, size:] = -jacobian.T
    matrix[size:, :size] = np.where(free, jacobian, 0.0)
    return matrix


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


def largest_gaps(at: Geometry) -> tuple[float, float]:
    """Return the largest gap of a closure [m] and the largest rate of one [m/s]."""
    gaps, rates = np.abs(at.closures.position), np.abs(at.closures.velocity)
    return float(gaps.max(initial=0.0)), float(rates.max(initial=0.0))


def check_closed(gap: float, speed: float) -> None:
    """Raise an InputError if a largest gap [m] or its rate [m/s] is too large."""
    if max(gap, speed) > LARGEST_GAP:
        raise InputError(
            f"angles, rates: expected a state that leaves closures open by at most "
            f"{LARGEST_GAP:g} m and opening by at most {LARGEST_GAP:g} m/s, found {gap:.3g} m and "
            f"{speed:.3g} m/s: take the nearest closed state from Assembly.close"
        )


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
    # Rounding grows with the distance from the origin.
    places = state[0, equations.forest.count :]
    scale = max(1.0, float(np.abs(equations.points.arms).max()), np.abs(places).max(initial=0.0))
    for _ in range(STEPS):
        at = equations.geometry(state[0], state[1])
        gap, _, jacobian, _ = equations.constraints(at)
        if np.abs(gap).max() <= CLOSED * scale:
            break
        change = _weighted(equations, at, state, free, jacobian) @ gap
        state[0, free] -= change / max(1.0, np.abs(change).max() / LONGEST_STEP)
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
            "closures: expected independent closures of free segments, found dependent closures or "
            "closures of fixed segments: remove closures, or start away from the dead point"
        )
    mass = equations.terms(at, state[0], state[1])[0][np.ix_(free, free)]
    spread = scipy.linalg.solve(mass, rows.T, assume_a="pos")
    return np.asarray(np.linalg.solve((rows @ spread).T, spread.T).T, dtype=np.float64)
