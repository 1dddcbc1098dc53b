"""Popović: limb and orthosis as planar chains, their links and their driving torques.

The equations below have a base at the origin, n segments of lengths l with their centres of mass at
their middles, and the plane as complex numbers.
"""

from __future__ import annotations

import runpy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.integrate import cumulative_simpson, solve_ivp

from benchmarks.literature.statements import Paper, Statement, misprint
from dynamics.mechanics.chains import (
    Assembly,
    Chain,
    ChainSegment,
    ChainsResult,
    FreeBase,
    ViscoelasticLink,
)
from foundation.checks import FloatArray

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "mechanics"
LENGTHS = np.array([0.42, 0.43, 0.2])
ANGLES, RATES = np.array([-1.4, -1.9, -0.3]), np.array([2.0, -3.0, 1.5])
ACCELERATIONS = np.array([5.0, 8.0, -20.0])
#: Step of differences over time [s].
STEP = 1e-4
ROD = ChainSegment("rod", 0.4, 2.0, 2.0 * 0.4**2 / 12.0, np.array([0.2, 0.0]))


def example(name: str) -> dict[str, Any]:
    """Return the names of an example of examples/mechanics."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def interrupted(count: int) -> tuple[int, int]:
    """Return the free coordinates of a chain on a fixed base, and of one cut at every joint."""
    rods = tuple(replace(ROD, name=f"rod {i}") for i in range(count))
    whole = Assembly((Chain("whole", rods),))
    parts = Assembly(tuple(Chain(f"part {i}", (ROD,), FreeBase()) for i in range(count)))
    return len(whole.coordinate_names), len(parts.coordinate_names)


def driven_again() -> float:
    """Return how far accelerations are off if the torques found drive the leg of the example."""
    leg = example("limb_in_orthosis")["assembly"]().chains[0]
    found = Assembly((leg,)).evaluate(0.3, [], [])
    free = replace(leg, angles=None, drive=lambda time, angles, rates: found.torques)
    moved = Assembly((free,)).evaluate(0.3, found.angles, found.rates)
    return float(np.abs(moved.accelerations - found.accelerations).max())


def balance(found: ChainsResult) -> float:
    """Return the largest difference of momentum and impulse of bases and weight [N s]."""
    system = example("limb_in_orthosis")["assembly"]()
    mass = sum(segment.mass for chain in system.chains for segment in chain.segments)
    force = found.base_forces.sum(axis=1) + mass * np.asarray(system.gravity)
    impulse = cumulative_simpson(force, x=found.time, axis=0)
    return float(np.abs(found.momentum[1:] - found.momentum[0] - impulse).max())


@cache
def statements() -> list[Statement]:
    """Return what the paper claims and what is found."""
    whole, parts = interrupted(5)
    body = example("three_chains")
    segments, chains = len(body["assembly"]().columns), len(body["assembly"]().chains)
    moved = body["simulate"]()
    found = example("limb_in_orthosis")["simulate"]()
    off = driven_again()
    forces = np.linalg.norm(found.joint_forces, axis=-1).max(axis=0)
    unbalanced = balance(found)
    return [
        Statement(
            "chains",
            "a chain of n segments has n coordinates, interrupted ones up to 3n",
            f"n = 5: {whole}, cut at every joint {parts}",
            (whole, parts) == (5, 15),
        ),
        Statement(
            "fig. 4",
            "three chains of 16 segments are within reach",
            f"{chains} chains, {segments} segments; largest driving torque "
            f"{np.abs(moved.torques).max():.0f} N m in the example `three_chains.py`",
            (chains, segments) == (3, 16) and bool(np.isfinite(moved.joint_forces).all()),
            "lengths, masses and motion are assumed",
        ),
        Statement(
            "problem",
            "prescribed angles of the limb yield its driving torques",
            f"as drives of the free limb they yield its accelerations within {off:.0e} rad/s²",
            off < 1e-9,
        ),
        Statement(
            "problem",
            "the largest stresses in both skeletons can be answered",
            f"largest forces at the joints: leg {forces[:2].max():.1f} N, orthosis "
            f"{forces[2:].max():.1f} N (`limb_in_orthosis.py`); momentum and impulse agree within "
            f"{unbalanced:.0e} N s",
            unbalanced < 1e-2,
            "forces and moments at the joints; stresses need cross-sections",
        ),
    ]


def centres(angles: FloatArray) -> np.ndarray:
    """Return the centres of mass of the segments, (n,)."""
    spans = LENGTHS * np.exp(1j * angles)
    return np.cumsum(spans) - 0.5 * spans


def moved(time: float) -> FloatArray:
    """Return the angles of the segments at a time."""
    return ANGLES + RATES * time + 0.5 * ACCELERATIONS * time**2


def constraint_velocities() -> tuple[float, float]:
    """Return the errors of X' = C⁻¹ S φ' and of X' = S φ' [m/s].

    C X = S-terms joins each centre of mass to the one before: x_i - x_(i-1) is half of both spans.
    """
    matrix = np.eye(3) - np.eye(3, k=-1)
    spans = 1j * LENGTHS * np.exp(1j * ANGLES)
    arms = np.diag(0.5 * spans) + np.diag(0.5 * spans[:-1], k=-1)
    exact = (centres(moved(STEP)) - centres(moved(-STEP))) / (2.0 * STEP)
    complete, lacking = np.linalg.solve(matrix, arms @ RATES), arms @ RATES
    return float(np.abs(complete - exact).max()), float(np.abs(lacking - exact).max())


def constraint_size() -> tuple[int, int, int]:
    """Return rows, rank of C over x and y, and coordinates that remain, of the three segments."""
    joints = np.eye(3) - np.eye(3, k=-1)
    matrix = np.kron(np.eye(2), joints)
    left = len(Assembly((three_rods(),)).coordinate_names)
    return len(matrix), int(np.linalg.matrix_rank(matrix)), left


def three_rods() -> Chain:
    """Return a chain of three rods."""
    return Chain("rods", tuple(replace(ROD, name=f"rod {i}") for i in range(3)))


def acceleration_errors() -> tuple[float, float, float]:
    """Return errors of the acceleration of the last joint [m/s²].

    With the right terms, with the least wrong of the other signs, and with ω in the place of ω'.
    """

    def tip(time: float) -> complex:
        return complex((LENGTHS * np.exp(1j * moved(time))).sum())

    exact = (tip(STEP) - 2.0 * tip(0.0) + tip(-STEP)) / STEP**2
    turned = LENGTHS * np.exp(1j * ANGLES)

    def error(turning: FloatArray, signs: tuple[int, int, int, int]) -> float:
        spun, pulled = (turned * turning).sum(), (turned * RATES**2).sum()
        x = signs[0] * spun.imag + signs[1] * pulled.real
        y = signs[2] * spun.real + signs[3] * pulled.imag
        return float(abs(x + 1j * y - exact))

    right = (-1, -1, 1, -1)
    patterns = [(a, b, c, d) for a in (1, -1) for b in (1, -1) for c in (1, -1) for d in (1, -1)]
    wrong = min(error(ACCELERATIONS, each) for each in patterns if each != right)
    return error(ACCELERATIONS, right), wrong, min(error(RATES, each) for each in patterns)


def two_bars(gap: float, **options: Any) -> Assembly:
    """Return two chains of two rods, with bases a gap apart [m], linked at the second rods."""
    rods = tuple(replace(ROD, name=f"rod {i}") for i in range(2))
    chains = (Chain("limb", rods), Chain("orthosis", rods, np.array([gap, 0.0])))
    link = ViscoelasticLink(
        "cuff", ("limb", "rod 1"), np.array([0.2, 0.0]), ("orthosis", "rod 1"),
        np.array([0.2, 0.0]), stiffness=300.0, kind="bushing",
    )  # fmt: skip
    return Assembly(chains, (link,), **options)


START, START_RATES = np.array([-1.4, -1.9, -1.2, -1.8]), np.array([2.0, -3.0, 1.0, 2.0])


def gained_energy(derivative: Any) -> float:
    """Return the energy that a state equation gains in half a second [J]; undamped, it is zero."""
    system = two_bars(0.1)

    def rate(time: float, state: FloatArray) -> FloatArray:
        return np.concatenate([state[4:], derivative(state[:4], state[4:])])

    start = np.concatenate([START, START_RATES])
    end = solve_ivp(rate, (0.0, 0.5), start, "DOP853", rtol=1e-10, atol=1e-11).y[:, -1]
    energies = []
    for state in (start, end):
        at = system.evaluate(0.0, state[:4], state[4:])
        energies.append(at.kinetic + at.potential)
    return float(energies[1] - energies[0])


def energies() -> tuple[float, float, float]:
    """Return the energy gained by the state equation [J]: complete, lacking R'φ', lacking K C₂."""
    system, shifted = two_bars(0.1), two_bars(0.0)

    def lacking(angles: FloatArray, rates: FloatArray) -> FloatArray:
        mass, _, force = system.terms(0.0, angles, rates)
        return np.asarray(np.linalg.solve(mass, force), dtype=np.float64)

    return (
        gained_energy(lambda angles, rates: system.accelerations(0.0, angles, rates)),
        gained_energy(lacking),
        gained_energy(lambda angles, rates: shifted.accelerations(0.0, angles, rates)),
    )


def momenta() -> tuple[float, float]:
    """Return the momentum that two floating bars gain in half a second [kg m/s].

    With the force of their link on both, and with the force on the second bar alone.
    """
    chains = (Chain("limb", (ROD,), FreeBase()), Chain("orthosis", (ROD,), FreeBase()))
    link = ViscoelasticLink(
        "cuff", ("limb", "rod"), np.array([0.1, 0.0]), ("orthosis", "rod"), np.array([0.1, 0.0]),
        stiffness=300.0, kind="bushing",
    )  # fmt: skip
    joined = Assembly(chains, (link,), gravity=(0.0, 0.0))
    loose = Assembly(chains, gravity=(0.0, 0.0))
    start = np.array([0.1, 0.3, 0.0, 0.0, 0.0, 0.1, *np.zeros(6)])
    first = np.array([True, False, True, True, False, False])

    def gain(coupled: bool) -> float:
        def rate(time: float, state: FloatArray) -> FloatArray:
            found = joined.accelerations(time, state[:6], state[6:])
            if not coupled:
                alone = loose.accelerations(time, state[:6], state[6:])
                found = np.where(first, alone, found)
            return np.concatenate([state[6:], found])

        end = solve_ivp(rate, (0.0, 0.5), start, "DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
        return float(np.linalg.norm(joined.evaluate(0.0, end[:6], end[6:]).momentum))

    return gain(True), gain(False)


@cache
def errata() -> list[Statement]:
    """Return the errors of the paper."""
    return [*errata_of_kinematics(), *errata_of_dynamics()]


def errata_of_kinematics() -> list[Statement]:
    """Return the errors of positions, velocities and accelerations."""
    complete, lacking = constraint_velocities()
    rows, rank, left = constraint_size()
    right, signs, rates = acceleration_errors()
    return [
        misprint(
            "eq. 6, 7",
            "velocities without C⁻¹, X' = S φ'",
            "X' = C⁻¹ S φ'",
            f"against differences of positions off by {lacking:.2f} m/s; right {complete:.0e}",
            lacking > 0.1 and complete < 1e-6,
        ),
        misprint(
            "C",
            "a size that does not match the dependent coordinates",
            "2n × 2n, an equation in x and one in y for each of n joints",
            f"n = 3: {rows} rows of rank {rank}, and 3n - 2n = {left} coordinates remain",
            rows == rank == 6 and left == 3,
        ),
        misprint(
            "eq. 11",
            "other signs, and ω where ω' belongs",
            "x'' = -Σ l (ω' sin φ + ω² cos φ), y'' = Σ l (ω' cos φ - ω² sin φ)",
            f"against second differences: any other signs are off by {signs:.1f} m/s² or more, ω "
            f"for ω' by {rates:.1f} m/s² or more; right {right:.0e}",
            right < 1e-3 and min(signs, rates) > 0.1,
        ),
    ]


def errata_of_dynamics() -> list[Statement]:
    """Return the errors of forces and of the state equation."""
    coupled, uncoupled = momenta()
    conserved, centripetal, constants = energies()
    return [
        misprint(
            "eq. 2",
            "the force of a link enters the equations of one chain alone",
            "it acts on both chains, in opposite directions",
            f"two floating bars gain {uncoupled:.2f} kg m/s in 0.5 s; right {coupled:.0e}",
            uncoupled > 0.1 and coupled < 1e-9,
        ),
        misprint(
            "H",
            "without K C₂, the constants of the positions of both chains",
            "with K C₂, so that the link knows how far the bases are apart",
            f"bases 0.1 m apart: {constants:+.2f} J in 0.5 s without damping; right "
            f"{conserved:+.0e} J",
            abs(constants) > 0.1 and abs(conserved) < 1e-7,
        ),
        misprint(
            "state equation",
            "M φ'' = Q, without R' φ'",
            "M φ'' + Re(Rᴴ m R' φ') = Q",
            f"without damping {centripetal:+.2f} J in 0.5 s; right {conserved:+.0e} J",
            abs(centripetal) > 0.1 and abs(conserved) < 1e-7,
        ),
    ]


def picture() -> Figure:
    """Draw the three examples: positions, forces at the joints, torques at the stance ankle."""
    body = example("three_chains")
    found, system = body["simulate"](), body["assembly"]()
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13.0, 4.2), layout="constrained")
    for shift, row in enumerate((0, 25, 50, 75)):
        draw(left, system, found, row, 0.55 * shift)
    left.set(aspect="equal", xlabel="x [m], shifted by 0.55 m each 0.25 s", ylabel="y [m]",
             ylim=(-0.1, 2.2), title="three chains of 16 segments")  # fmt: skip
    limb = example("limb_in_orthosis")["simulate"]()
    for k, name in enumerate(limb.columns):
        middle.plot(limb.time, np.linalg.norm(limb.joint_forces[:, k], axis=-1), label=name)
    middle.set(xlabel="time [s]", ylabel="force at the proximal joint [N]", ylim=(0.0, None),
               title="leg in an orthosis")  # fmt: skip
    walks = example("two_legs_on_a_pelvis")["simulate"]()
    for walk, label in zip(walks, ("with swing leg", "without"), strict=True):
        right.plot(walk.time, walk.torques[:, 0], label=label)
    right.set(xlabel="time [s]", ylabel="torque at the stance ankle [N m]", title="two legs")
    for axes in (left, middle, right):
        axes.legend(frameon=False, fontsize="small")
    return figure


def draw(axes: Axes, system: Assembly, found: ChainsResult, row: int, shift: float) -> None:
    """Draw the segments of all chains at one instant."""
    start = 0
    for chain, colour in zip(system.chains, ("black", "tab:red", "tab:blue"), strict=True):
        part = slice(start, start + len(chain.segments))
        start = part.stop
        joints = found.joints[row, part]
        angle = found.angles[row, part.stop - 1]
        tip = joints[-1] + chain.lengths[-1] * np.array([np.cos(angle), np.sin(angle)])
        x, y = np.vstack([joints, tip]).T
        label = chain.name if row == 0 else None
        axes.plot(x + shift, y, "o-", color=colour, markersize=3, linewidth=1.5, label=label)


def rows() -> list[Statement]:
    """Return all statements."""
    return [*statements(), *errata()]


PAPER = Paper("popovic", "Popović: a limb in an orthosis", rows, picture)
