"""Forces of the joints and the equations in state form (eq. 9 to 11, A, B and H)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from benchmarks.literature.popovic import three_segments as three
from benchmarks.literature.popovic.constraints import rods
from benchmarks.literature.statements import Statement, misprint
from benchmarks.measures import max_abs
from dynamics.mechanics.chains import (
    GROUND,
    Assembly,
    Chain,
    Joint,
    ViscoelasticLink,
    simulate_chains,
)
from foundation.base.checks import FloatArray


class Forces(NamedTuple):
    """Forces on the members of a moving chain, in the order of q (9,) [N, N m].

    Parameters
    ----------
    joints : (9,) float64
        Of the pins, about the centres of mass.
    others : (9,) float64
        Weights and couples.
    inertial : (9,) float64
        M q''.
    """

    joints: FloatArray
    others: FloatArray
    inertial: FloatArray


@cache
def forces() -> Forces:
    """Return the forces on three segments with springs and dampers in their pins."""
    joints = (Joint(), Joint(30.0, 0.4, 0.1), Joint(12.0, 0.3))
    system = three.assembly(joints=joints)
    at = system.evaluate(0.0, three.ANGLES, three.RATES)
    beyond = np.vstack([at.joint_forces[1:], np.zeros(2)])
    axes = np.column_stack([np.cos(three.ANGLES), np.sin(three.ANGLES)])
    turning = _cross(-three.BEFORE[:, None] * axes, at.joint_forces)
    turning -= _cross(three.BEHIND[:, None] * axes, beyond)
    couples = at.joint_moments - np.append(at.joint_moments[1:], 0.0)
    weights = three.MASSES[:, None] * np.asarray(system.gravity)
    acceleration = three.rate_matrix(three.ANGLES) @ at.accelerations
    acceleration += three.turning_rate(three.ANGLES, three.RATES)
    return Forces(
        np.concatenate([*(at.joint_forces - beyond).T, turning]),
        np.concatenate([*weights.T, couples]),
        three.masses() @ acceleration,
    )


def _cross(arms: FloatArray, vectors: FloatArray) -> FloatArray:
    return arms[:, 0] * vectors[:, 1] - arms[:, 1] * vectors[:, 0]


def work() -> Statement:
    joints = forces().joints
    matrix = three.rate_matrix(three.ANGLES)
    power = float(joints @ matrix @ three.RATES)
    largest = max_abs(joints * (matrix @ three.RATES))
    # A displacement that opens the pins: one member moves alone.
    opened = max_abs(joints[:6])
    columns, rows = matrix.shape[1], len(joints)
    return misprint(
        "eq. 9",
        "the forces of the pins times Δq are zero, hence times C₁' q'",
        "Gᵀ C₁' δθ = 0, that is Gᵀ C₁' θ' = 0",
        f"n = {three.COUNT}: C₁' has {columns} columns, q' has {rows} rows; with θ' the power of "
        f"the pins is {power:.0e} W, the largest part of the sum {largest:.0f} W; a member that "
        f"moves alone does up to {opened:.0f} J per metre",
        columns != rows and abs(power) < 1e-9 * largest and opened > 1.0,
        "G must be transposed, and Δq belongs to displacements that keep the pins closed",
    )


def eliminated_forces() -> Statement:
    joints, others, inertial = forces()
    matrix = three.rate_matrix(three.ANGLES)
    member = max_abs(inertial - joints - others)
    left = max_abs(matrix.T @ joints)
    balance = max_abs(matrix.T @ (inertial - others))
    return Statement(
        "after eq. 9, eq. 10",
        "C₁'ᵀ G of the pins is zero, so that weight -m g and couple T of each member remain",
        f"moving chain with springs and dampers in its pins: forces of the pins up to "
        f"{max_abs(joints[:6]):.0f} N, each member balanced within {member:.0e} N, C₁'ᵀ G "
        f"{left:.0e} N m; C₁'ᵀ (M q'' - weights and couples) {balance:.0e} N m",
        max(member, left, balance) < 1e-9,
        "forces of the ground and of links join the weights where they act",
    )


def small_motion() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return A and B (3, 3) of small motions [1/s², 1/s], and a motion of `simulate_chains`.

    Three segments without gravity, straight at rest by springs and dampers in their pins. The
    motion (6,) [rad, rad/s] starts at `_DEFLECTED` and lasts `_TIME`.
    """
    system = Assembly(
        (Chain("limb", three.segments(), joints=(Joint(20.0, 0.5),) * three.COUNT),),
        gravity=(0.0, 0.0),
    )
    step = 1e-4  # near the state of rest the accelerations are odd: errors of order step²
    columns = [system.accelerations(0.0, step * each[:3], step * each[3:]) for each in np.eye(6)]
    slope = np.array(columns).T / step
    found = simulate_chains(system, [0.0, _TIME], _DEFLECTED, np.zeros(3))
    return -slope[:, :3], -slope[:, 3:], np.concatenate([found.angles[-1], found.rates[-1]])


_DEFLECTED, _TIME = np.array([1e-4, -2e-4, 1e-4]), 0.3


def state_form() -> Statement:
    a, b, end = small_motion()
    none, one = np.zeros((3, 3)), np.eye(3)
    printed, right = -np.block([[none, one], [a, b]]), np.block([[none, one], [-a, -b]])
    start = np.concatenate([_DEFLECTED, np.zeros(3)])
    off, close = (
        float(np.abs(expm(_TIME * each) @ start - end)[:3].max()) for each in (printed, right)
    )
    growth, decay = (float(np.linalg.eigvals(each).real.max()) for each in (printed, right))
    return misprint(
        "eq. 11",
        "(θ', ω) = -[O, I; A, B] (θ, ω) + H with ω = θ'",
        "(θ', ω') = [O, I; -A, -B] (θ, ω) + (0, H)",
        "the first row states θ' = -ω, and ω is in the place of ω'; small motion of a damped chain "
        f"with springs: the printed matrix has an eigenvalue of {growth:+.0f}/s, the right one at "
        f"most {decay:+.1f}/s; {1e3 * max_abs(_DEFLECTED):.1f} mrad end {1e3 * off:.0e} mrad "
        f"off the simulated motion after {_TIME:g} s, right {1e3 * close:.0e} mrad",
        growth > 1.0 and decay < 0.0 and off > 1e-4 and close < 1e-8,
        "the minus before the matrix also turns its identity",
    )


def generalised() -> dict[str, tuple[float, float]]:
    """Return the errors of C₁'ᵀ M C₁ and C₁'ᵀ R C₁ as printed, and with C₁' in both places.

    Against mass matrix [kg m²] and damping [N m s/rad] of `Assembly`, for the three segments with a
    damped link to the ground at the centre of the last one.
    """
    end = three.COUNT - 1
    point = np.array([three.BEFORE[end], 0.0])
    link = ViscoelasticLink("dashpot", GROUND, np.zeros(2), ("limb", f"segment {end}"), point,
                            0.0, 50.0, kind="bushing", rotational_damping=0.7)  # fmt: skip
    system = three.assembly((link,))
    mass, _, still = system.terms(0.0, three.ANGLES, np.zeros(3))
    columns = [system.terms(0.0, three.ANGLES, unit)[2] - still for unit in np.eye(3)]
    damping = np.zeros((9, 9))
    damping[end, end] = damping[3 + end, 3 + end] = 50.0
    damping[6 + end, 6 + end] = 0.7
    places, rates = three.place_matrix(three.ANGLES), three.rate_matrix(three.ANGLES)
    found = {}
    for name, inner, ours in (
        ("mass", three.masses(), mass),
        ("damping", damping, -np.array(columns).T),
    ):
        off, close = (max_abs(rates.T @ inner @ outer - ours) for outer in (places, rates))
        found[name] = float(off), float(close)
    return found


def stiffness_matrices() -> Statement:
    found = generalised()
    (mass, mass_right), (damping, damping_right) = found["mass"], found["damping"]
    return misprint(
        "A and B",
        "A = (C₁'ᵀ M C₁)⁻¹ (C₁'ᵀ K C₁), B = (C₁'ᵀ M C₁)⁻¹ (C₁'ᵀ R C₁)",
        "C₁' in place of C₁ next to M and R",
        f"against the mass matrix of the chain C₁'ᵀ M C₁ is off by {mass:.2f} kg m², C₁'ᵀ M C₁' by "
        f"{mass_right:.0e}; against the damping C₁'ᵀ R C₁ by {damping:.1f} N m s, C₁'ᵀ R C₁' by "
        f"{damping_right:.0e}",
        min(mass, damping) > 0.1 and max(mass_right, damping_right) < 1e-12,
        "C₁ holds the cosines and sines of the positions, which are correct next to K",
    )


def two_chains(gap: float) -> Assembly:
    """Return two chains of two rods, with bases a gap apart [m], linked at the second rods."""
    chains = (Chain("limb", rods(2)), Chain("orthosis", rods(2), np.array([gap, 0.0])))
    point = np.array([0.2, 0.0])
    link = ViscoelasticLink("cuff", ("limb", "rod 1"), point, ("orthosis", "rod 1"), point,
                            stiffness=300.0, kind="bushing")  # fmt: skip
    return Assembly(chains, (link,))


START, START_RATES = np.array([-1.4, -1.9, -1.2, -1.8]), np.array([2.0, -3.0, 1.0, 2.0])


def gained_energy(accelerations: Callable[[FloatArray, FloatArray], Any]) -> float:
    """Return the energy that a state equation gains in half a second [J]; undamped, it is zero."""
    system = two_chains(0.1)

    def rate(time: float, state: FloatArray) -> FloatArray:
        return np.concatenate([state[4:], accelerations(state[:4], state[4:])])

    start = np.concatenate([START, START_RATES])
    end = solve_ivp(rate, (0.0, 0.5), start, "DOP853", rtol=1e-10, atol=1e-11).y[:, -1]
    first, last = (system.evaluate(0.0, each[:4], each[4:]) for each in (start, end))
    return float(last.kinetic + last.potential - first.kinetic - first.potential)


@cache
def energies() -> tuple[float, float, float]:
    """Return the energy gained [J]: by all terms, without K C₂, without squares of the rates."""
    system, shifted = two_chains(0.1), two_chains(0.0)

    def lacking(angles: FloatArray, rates: FloatArray) -> FloatArray:
        mass, _, force = system.terms(0.0, angles, rates)
        return np.asarray(np.linalg.solve(mass, force), dtype=np.float64)

    return (
        gained_energy(lambda angles, rates: system.accelerations(0.0, angles, rates)),
        gained_energy(lambda angles, rates: shifted.accelerations(0.0, angles, rates)),
        gained_energy(lacking),
    )


def constants() -> Statement:
    conserved, gained, _ = energies()
    matrix = three.rate_matrix(three.ANGLES)
    rows = len(matrix.T @ forces().others)
    return misprint(
        "H",
        "2n × 1, (C₁'ᵀ M C₁)⁻¹ C₁'ᵀ G, without the constants C₂ of the positions",
        "n × 1, with G - K C₂, and C₁' next to M",
        f"n = {three.COUNT}: the formula has {rows} rows, not {2 * rows}; two linked chains with "
        f"bases 0.1 m apart, undamped, change their energy by {gained:+.2f} J in 0.5 s without "
        f"K C₂, right {conserved:+.0e} J",
        rows == three.COUNT and abs(gained) > 0.1 and abs(conserved) < 1e-7,
        "the force K q = K (C₁ θ + C₂) of a link contains the distance of the bases in C₂",
    )


def squares() -> Statement:
    conserved, _, gained = energies()
    return misprint(
        "eq. 11, A, B and H together",
        "no term with squares of the rates",
        "-(C₁'ᵀ M C₁')⁻¹ C₁'ᵀ M C₁'' (θ'²) on the side of ω'",
        f"two linked chains, undamped, change their energy by {gained:+.2f} J in 0.5 s without the "
        f"centripetal accelerations, right {conserved:+.0e} J",
        abs(gained) > 0.1 and abs(conserved) < 1e-7,
    )


STATEMENTS = (
    work,
    eliminated_forces,
    state_form,
    stiffness_matrices,
    constants,
    squares,
)
