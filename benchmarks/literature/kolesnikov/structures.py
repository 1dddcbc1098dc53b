"""Rows on the body on five links, figs. 3 and 4.

The figures are missing, but the forces of the three steps determine the self-stresses, which are
differences of two steps. Those of steps 2 and 3 differ by (0, 0, 1, 1, 0), so that links 3 and 4
lie on one line; those of steps 1 and 3, but for this, by (1 + 2/√3, 2/√3, 1, 0, 1). Links 1, 3 and
5 at 120° of each other and link 2 against link 1 are such links; the load is then 10 in the middle
of a square with the links at its corners. The forces of step 1 show that all stiffnesses are equal.
"""

from __future__ import annotations

import numpy as np

from benchmarks.literature.kolesnikov.problems import IN_CIRCLES, all_at_once, numbers, values
from benchmarks.literature.statements import Statement
from benchmarks.measures import max_abs
from dynamics.mechanics.unilateral import solve_structure
from foundation.base.checks import FloatArray

#: Corner of the unit square and direction [degrees] of each link, and the force in the middle.
LINKS = (((1.0, 1.0), 60.0), ((0.0, 1.0), 240.0), ((0.0, 0.0), 180.0), ((1.0, 0.0), 0.0),
         ((1.0, 1.0), 300.0))  # fmt: skip
MIDDLE, FORCE = np.array([0.5, 0.5]), np.array([0.0, -10.0])
#: Forces of figs. 3 and 4 by step.
PRINTED = np.array(
    [
        [3.585, -3.852, 0.832, -0.832, -4.110],
        [12.440, 0.893, 2.887, -2.887, 0.0],
        [12.440, 0.893, 5.774, 0.0, 0.0],
    ]
)


def wrench(point: FloatArray, force: FloatArray) -> FloatArray:
    """Return force and moment about the origin (3,) of a force at a point, (2,) each."""
    return np.array([*force, point[0] * force[1] - point[1] * force[0]])


def square() -> tuple[FloatArray, FloatArray]:
    """Return the coefficients C (3, 5) of the links of the square and its load P (3,), eq. 30."""
    columns = [
        wrench(np.array(at), np.array([np.cos(angle), np.sin(angle)]))
        for at, angle in ((at, np.deg2rad(degrees)) for at, degrees in LINKS)
    ]
    return np.array(columns).T, wrench(MIDDLE, FORCE)


def steps_of(
    matrix: FloatArray, stiffness: FloatArray, load: FloatArray
) -> tuple[FloatArray, list[int]]:
    """Return forces (s, m) of the steps that drop the link of the most negative force, and these.

    Parameters
    ----------
    matrix : (n, m) float64
        C [m, 1].
    stiffness : (m,) float64
        S [N/m].
    load : (n,) float64
        P of C N + P = 0 [N, N m].
    """
    left, steps = list(range(stiffness.size)), []
    dropped: list[int] = []
    while True:
        forces = np.zeros(stiffness.size)
        found = solve_structure(
            matrix[:, left], stiffness[left], -load, two_sided=np.arange(len(left))
        )
        forces[left] = found.forces
        steps.append(forces)
        # Forces of rounding errors are zero.
        if forces.min() >= -1e-9 * max_abs(forces):
            return np.array(steps), dropped
        dropped.append(int(forces.argmin()))
        left.remove(dropped[-1])


def first_algorithm() -> Statement:
    """Return the row on dropping all negative links at once."""
    matrix, load = square()
    forces = steps_of(matrix, np.ones(5), load)[0][0]
    kept = np.flatnonzero(forces > 0.0)
    rank = int(np.linalg.matrix_rank(matrix[:, kept]))
    rest = np.linalg.lstsq(matrix[:, kept], -load, rcond=None)[0]
    missing = max_abs(matrix[:, kept] @ rest + load)
    passed = all_at_once(*IN_CIRCLES, 12)
    # The first state that was left before, and where.
    back = next((i for i, state in enumerate(passed) if state in passed[:i]), 0)
    return Statement(
        "chapter 1",
        "the oldest algorithm, which drops all links with negative reactions at each iteration, "
        "does not ensure the exact solution and can go round in circles",
        f"five links (figs. 3, 4): links {numbers(np.flatnonzero(forces < 0.0))} drop out at once, "
        f"the other {kept.size} cannot balance the load, {missing:.1f} of 10 N remain; "
        "A = [[8, 8, -2], [8, 9, -4], [-2, -4, 5]], B = [-1, -3, 4], links also put back: the "
        f"state of iteration {passed.index(passed[back])} comes back at iteration {back}",
        rank < 3 and missing > 0.1 and back > 0,
    )


def five_links() -> Statement:
    """Return the row on the forces of the body on five links."""
    matrix, load = square()
    steps, dropped = steps_of(matrix, np.ones(5), load)
    sequence = solve_structure(matrix, np.ones(5), -load, order="force")
    agrees = steps.shape == PRINTED.shape and bool(max_abs(steps - PRINTED) < 6e-4)
    return Statement(
        "figs. 3, 4",
        "; ".join(f"step {i}: {values(row)}" for i, row in enumerate(PRINTED, 1))
        + "; link 5 drops out first, then link 4",
        "; ".join(f"step {i}: {values(row)}" for i, row in enumerate(steps, 1))
        + f"; links {numbers(dropped)} drop out",
        agrees
        and dropped == [4, 3] == list(sequence.exclusions)
        and np.allclose(sequence.forces, steps[-1], atol=1e-9),
        "the figures are missing; the printed forces determine the self-stresses, which equal "
        "links at the corners of a square have, at 60°, 240°, 180°, 0° and 300°, with 10 N down "
        "in the middle",
    )
