"""Members that nothing joins, and the forces of links between them (eq. 1 and 2)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag, expm

from benchmarks.literature.statements import Statement, misprint
from benchmarks.measures import max_abs
from dynamics.mechanics.chains import GROUND, Assembly, Chain, ChainSegment, FreeBase
from dynamics.mechanics.chains import ViscoelasticLink as Link
from foundation.base.checks import FloatArray

#: Members whose frames start at the centre of mass, so that their bases are the centres.
CENTRE = np.zeros(2)
MASSES, INERTIAS = (2.0, 3.0, 5.0), (0.03, 0.05, 0.08)
STIFFNESS, TURNING = 300.0, 20.0  # of a link [N/m, N m/rad]


def floating(count: int, links: tuple[Link, ...] = ()) -> Assembly:
    """Return members without gravity; coordinates are their angles, then x and y of each."""
    return Assembly(
        tuple(
            Chain(f"{k}", (ChainSegment("bar", 0.4, MASSES[k], INERTIAS[k], CENTRE),), FreeBase())
            for k in range(count)
        ),
        links,
        gravity=(0.0, 0.0),
    )


def by_member(count: int) -> np.ndarray:
    """Return the places of x, y and θ of the first member, of the second and so on."""
    return np.array([[count + 2 * k, count + 2 * k + 1, k] for k in range(count)]).ravel()


def members() -> Statement:
    holder = Link("pull", GROUND, np.array([1.0, 2.0]), ("1", "bar"), np.array([0.3, 0.0]),
                  stiffness=40.0, kind="bushing")  # fmt: skip
    system = floating(3, (holder,))
    state = np.array([0.2, -0.4, 1.1, 0.0, 0.1, 0.5, 0.2, 1.0, 0.3])
    mass = system.terms(0.0, state, np.zeros(9))[0]
    order = by_member(3)
    printed = block_diag(*(np.diag([m, m, j]) for m, j in zip(MASSES, INERTIAS, strict=True)))
    at = system.evaluate(0.0, state, np.zeros(9))
    force = at.link_forces[0]
    arm = 0.3 * np.array([np.cos(state[1]), np.sin(state[1])])
    couple = arm[0] * force[1] - arm[1] * force[0]
    off = max(
        max_abs(force - MASSES[1] * at.base_accelerations[1]),
        float(abs(couple - INERTIAS[1] * at.accelerations[1])),
    )
    matrix = max_abs(mass[np.ix_(order, order)] - printed)
    return Statement(
        "equations of a member, eq. 1",
        "plane motion: force = m q'' along x and y, couple = J θ'' about the centre of mass; n "
        "loose members have 3n equations with the blocks diag(m, m, J)",
        f"n = 3: {len(mass)} equations, largest difference of the mass matrix {matrix:.0e} kg; a "
        f"member pulled by {np.linalg.norm(force):.0f} N at an end: F - m q'' and the couple are "
        f"off by {off:.0e} N, N m",
        len(mass) == 9 and matrix < 1e-12 and off < 1e-9,
    )


def pulled(offset: float) -> float:
    """Return the force along x on a member that is off another one [N]."""
    link = Link("cuff", ("0", "bar"), CENTRE, ("1", "bar"), CENTRE, STIFFNESS, kind="bushing")
    state = np.array([0.0, 0.0, offset, 0.0, 0.0, 0.0])
    return float(-floating(2, (link,)).evaluate(0.0, state, np.zeros(6)).link_forces[0, 0])


def link() -> Statement:
    offset = 0.01
    rest, once, twice = (pulled(x) for x in (0.0, offset, 2.0 * offset))
    printed = [STIFFNESS + x for x in (0.0, offset, 2.0 * offset)]
    linear = rest == 0.0 and abs(twice - 2.0 * once) < 1e-12
    proven = linear and abs(once + STIFFNESS * offset) < 1e-12 and printed[0] != 0.0
    return misprint(
        "fig. 2, force of a link",
        "matrix of stiffness plus column of coordinates, plus damping times rates, as the force on "
        "member i; on member j the negative",
        "-K Δq - R Δq' on member i, Δq its coordinates less those of member j, the opposite on j",
        f"k = {STIFFNESS:g} N/m: no elongation gives {rest:.0f} N, 10 and 20 mm give {once:.0f} "
        f"and {twice:.0f} N, by the sum {printed[0]:.0f}, {printed[1]:.2f} and {printed[2]:.2f} in "
        "mixed units",
        proven,
        "eq. 2 takes the product, and the sign on the other side of the equation, so that the "
        "force draws back; that the coordinates of a link are differences is nowhere printed",
    )


def coupling_matrices() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return stiffness (6, 6) of two linked members: of `Assembly`, printed, right [N/m, N m/rad].

    The force of the link is linear in the coordinates, so that unit steps give its matrix.
    """
    link = Link("link", ("0", "bar"), CENTRE, ("1", "bar"), CENTRE, STIFFNESS, kind="bushing",
                rotational_stiffness=TURNING)  # fmt: skip
    system, order = floating(2, (link,)), by_member(2)
    columns = [-system.terms(0.0, unit, np.zeros(6))[2] for unit in np.eye(6)]
    ours = np.array(columns).T[np.ix_(order, order)]
    one = np.diag([STIFFNESS, STIFFNESS, TURNING])
    return ours, block_diag(one, -one), np.block([[one, -one], [-one, one]])


def momentum_after(stiffness: FloatArray, time: float = 0.1) -> float:
    """Return the momentum along x that two members gain from rest 1 and 1.1 m off the origin."""
    mass = np.diag([MASSES[0], MASSES[0], INERTIAS[0], MASSES[1], MASSES[1], INERTIAS[1]])
    matrix = np.block(
        [[np.zeros((6, 6)), np.eye(6)], [-np.linalg.solve(mass, stiffness), np.zeros((6, 6))]]
    )
    state = np.array([1.0, 0.0, 0.0, 1.1, 0.0, 0.0, *np.zeros(6)])
    rates = (expm(time * matrix) @ state)[6:]
    return float(MASSES[0] * rates[0] + MASSES[1] * rates[3])


def coupling() -> Statement:
    ours, printed, right = coupling_matrices()
    off, close = max_abs(ours - printed), max_abs(ours - right)
    gains = momentum_after(printed), momentum_after(right)
    return misprint(
        "eq. 2",
        "stiffness and damping of links as blocks K, -K (R, -R) on the diagonal, each on the "
        "coordinates of its own member",
        "[K, -K; -K, K] and [R, -R; -R, R] over both members",
        f"matrix of the forces off by {off:.0f} N/m, right {close:.0e} N/m; two members 1 and 1.1 "
        f"m off the origin gain {gains[0]:+.1f} kg m/s in 0.1 s, right {gains[1]:+.0e} kg m/s",
        off > 1.0 and close < 1e-9 and abs(gains[0]) > 1.0 and abs(gains[1]) < 1e-9,
        "the diagonal alone draws member i to the origin and drives member j away from the origin",
    )


STATEMENTS = (
    members,
    link,
    coupling,
)
