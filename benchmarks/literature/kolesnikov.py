"""Kolesnikov 2004: unilateral systems, two-joint muscles, impact.

The paper is not at hand; what is printed in it is known from a list of its figures and errors.
"""

from __future__ import annotations

import runpy
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.complementarity import MATRICES
from benchmarks.literature.statements import Paper, Statement, misprint
from dynamics.mechanics.unilateral import (
    Complementarity,
    Structure,
    UnilateralLink,
    simulate_links,
    solve_complementarity,
    solve_structure,
)

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "mechanics"
#: Positive definite; the most negative row is switched twice, and without end.
TWICE = (np.array([[1, -1, 0], [-1, 2, 1], [0, 1, 2]]), np.array([-3, -3, -4]))
WITHOUT_END = (
    np.array([[1, -4, 1, 5], [-4, 20, 2, -16], [1, 2, 15, 13], [5, -16, 13, 30]]),
    np.array([-2, 12, 14, -3]),
)
#: Free minimum with two negative values, of which one is positive in the solution.
TWO_ROWS = (np.array([[1.0, -5.0], [-5.0, 29.0]]), np.array([-1.0, 8.0]))


def example(name: str) -> dict[str, Any]:
    """Return what an example of `examples/mechanics` defines."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def muscles(order: str = "force") -> tuple[Any, Structure]:
    structure = example("two_joint_muscles")["structure"]()
    load = [0.0, 10.0, 0.0, 0.0]
    return structure, solve_structure(structure.balance, structure.stiffness, load, order=order)


def by_rows(matrix: np.ndarray, constant: np.ndarray) -> Complementarity:
    return solve_complementarity(matrix, constant, rule="most_negative")


@cache
def statements() -> list[Statement]:
    """Return what the paper states beside what is found here."""
    return [
        _ends_for_k_matrices(),
        *_muscles(),
        _contraction(),
        _progressive(),
        _two_bodies(),
    ]


def _ends_for_k_matrices() -> Statement:
    rng = np.random.default_rng(1)
    worst = 0
    for _ in range(200):
        solution = by_rows(MATRICES["K-matrix"](rng, 20), rng.normal(size=20))
        worst = max(worst, len(solution.exclusions))
    return Statement(
        "algorithms 1, 2",
        "switching the row of the most negative free term ends after at most n exclusions",
        f"200 K-matrices with n = 20: at most {worst}",
        worst <= 20,
        "true for K-matrices, not for all positive-definite ones: see the errors",
    )


def _muscles() -> list[Statement]:
    structure, found = muscles()
    reactions = np.abs(structure.joint_reactions(found.forces)).ravel()
    printed = np.array([0.889, 6.667, 4.339, 3.128])
    turned = found.displacement[:2]
    scaled = muscles("scaled")[1]
    place = "example, two-joint muscles"
    return [
        Statement(
            place,
            "forces of muscles 2 to 5: 5.349, 0, 0, 0",
            ", ".join(f"{f:.3f}" for f in found.forces[1:]),
            bool(np.abs(found.forces[1:] - [5.349, 0.0, 0.0, 0.0]).max() < 5e-4),
            "moment of 10 clockwise on the shank, stiffness as force per elongation: assumed",
        ),
        Statement(
            place,
            "reactions of the joints: 0.889, 6.667, 4.339, 3.128",
            ", ".join(f"{value:.3f}" for value in reactions),
            bool(np.abs(reactions - printed).max() < 5e-4),
        ),
        Statement(
            place,
            "rotations of the segments: -0.023, -0.039",
            ", ".join(f"{value:.4f}" for value in turned),
            bool(np.abs(turned - [-0.023, -0.039]).max() < 5e-4),
        ),
        Statement(
            place,
            "the example ends after the second step",
            f"{len(found.exclusions)} exclusion, of member {found.exclusions[0] + 1}, and a last "
            "solution",
            len(found.exclusions) == 1,
            'with the most negative force first (`order="force"`); by force over the root of the '
            f"stiffness members {', '.join(str(each + 1) for each in scaled.exclusions)} follow "
            "one another",
        ),
    ]


def _contraction() -> Statement:
    arms, k, c, d = np.array([[0.04, -0.02]]), np.array([1e4, 3e4]), 0.01, 0.002
    found = solve_structure(arms, k, [0.0], contraction=c, pretension=d)
    error = np.abs(found.forces - k * (found.elongations + c + d)).max() / found.forces.max()
    return Statement(
        "eq. 31, 37, 39",
        "active contraction and pretension add to the elongation, F = k (e + c + D0) >= 0",
        f"two antagonists of a joint without load: {found.forces[0]:.1f} and "
        f"{found.forces[1]:.1f} N, the law is met to {error:.0e}",
        bool(error < 1e-9),
        "form of the equations rebuilt; that the activation (eq. 44, 45) scales stiffness and "
        "contraction is assumed",
    )


def _progressive() -> Statement:
    module = example("oblique_impact")
    with redirect_stdout(StringIO()):
        deepest = module["main"]()["deepest rigid"]
    times = 1.0 + deepest / module["DOUBLING_DEPTH"]
    return Statement(
        "oblique impact",
        "stiffness S = S0 (1 + U/Um), in the example by a factor of 6",
        f"{times:.2f} S0 at the deepest point of an impact with the energy for 5 Um",
        abs(times - 6.0) < 0.06,
        "read as the stiffness at the deepest point; the data are those of the example here",
    )


def _two_bodies() -> Statement:
    module = example("two_bodies_at_wall")
    seconds = [float(module["velocities"](ratio)[1]) for ratio in module["RATIOS"]]
    ratios = ", ".join(f"{ratio:g}" for ratio in module["RATIOS"])
    return Statement(
        "Ivanov's two bodies",
        "the velocities after impact depend on the ratio of the stiffnesses",
        f"wall {ratios} times as stiff: second body {', '.join(f'{v:.2f}' for v in seconds)} m/s",
        max(seconds) - min(seconds) > 0.1,
        "two equal masses at 1 m/s",
    )


@cache
def errata() -> list[Statement]:
    """Return the errors of the paper."""
    return [_two_rows(), _force(), _no_row_twice()]


def _two_rows() -> Statement:
    matrix, constant = TWO_ROWS
    free = np.linalg.solve(matrix, -constant)
    solution = solve_complementarity(matrix, constant)
    x, y = solution.x, matrix @ solution.x + constant
    return misprint(
        "eq. 16, 18",
        "the solution for n = 2 follows from the free minimum",
        "rows that are negative at the free minimum can be positive in the solution",
        "A = [[1, -5], [-5, 29]], B = [-1, 8]: free minimum "
        f"({free[0]:.2f}, {free[1]:.2f}), solution ({x[0]:.0f}, {x[1]:.0f}) with Y = "
        f"({y[0]:.0f}, {y[1]:.0f})",
        bool(
            (free < 0.0).all()
            and np.allclose(x, [1.0, 0.0], atol=1e-12)
            and np.allclose(y, [0.0, 3.0], atol=1e-12)
            and np.linalg.eigvalsh(matrix)[0] > 0.0
        ),
    )


def _force() -> Statement:
    found = muscles()[1]
    resultant = float(np.hypot(0.889, 6.667))
    by_moment = 10.0 / 1.5 * float(np.hypot(0.8, 6.0)) / 6.0
    force = float(found.forces[0])
    return misprint(
        "example, two-joint muscles",
        "force of muscle 1: 6.728",
        "6.726",
        f"balance gives {force:.4f}; the printed reactions 0.889 and 6.667 of the same joint have "
        f"the resultant {resultant:.4f}, the moment of 10 over the lever {by_moment:.4f}",
        abs(force - by_moment) < 1e-9 and abs(force - resultant) < 1e-3 < abs(force - 6.728),
    )


def _no_row_twice() -> Statement:
    twice, endless = by_rows(*TWICE), by_rows(*WITHOUT_END)
    cycle = endless.exclusions[:6]
    return misprint(
        "algorithms 1, 2",
        "no row is chosen twice",
        "true for K-matrices; positive-definite matrices repeat rows, or cycle for ever",
        "A = [[1, -1, 0], [-1, 2, 1], [0, 1, 2]], B = [-3, -3, -4]: rows "
        f"{', '.join(str(row + 1) for row in twice.exclusions)}; with a matrix of four rows "
        f"{', '.join(str(row + 1) for row in cycle)} and so on, until the least index takes over",
        bool(
            twice.repeated
            and cycle[:3] == cycle[3:]
            and endless.safeguarded
            and min(np.linalg.eigvalsh(a)[0] for a, _ in (TWICE, WITHOUT_END)) > 0.0
        ),
    )


def picture() -> Figure:
    """Draw two-joint muscles, leg muscles, an oblique impact, and two bodies at a wall."""
    figure = Figure(figsize=(12.0, 4.0), layout="constrained", dpi=110)
    two_joint, leg, oblique, bodies = figure.subplots(1, 4, width_ratios=[1.0, 0.8, 1.2, 1.2])
    structure, found = muscles()
    _draw_members(two_joint, structure, found.forces)
    two_joint.set_title("two-joint muscles,\ntaut ones red")
    module = example("leg_muscles")
    structure = module["leg"]()
    load = structure.generalised_force("foot", module["FOREFOOT"], module["GROUND_REACTION"])
    _draw_members(
        leg, structure, solve_structure(structure.balance, structure.stiffness, -load).forces
    )
    leg.set_title("leg on its\nforefoot")
    _draw_oblique(oblique)
    _draw_bodies(bodies)
    return figure


def _draw_members(axes: Axes, structure: Any, forces: np.ndarray) -> None:
    joints = np.array([segment.joint for segment in structure.segments])
    axes.plot(*joints.T, "o-", color="0.6", markersize=8, linewidth=3)
    for member, force in zip(structure.members, forces, strict=True):
        width = 0.8 + 4.0 * force / forces.max()
        axes.plot(
            *np.array([member.start, member.end]).T,
            color="C3" if force > 0.0 else "0.75",
            linewidth=width,
            linestyle="-" if force > 0.0 else ":",
        )
    axes.set_aspect("equal")
    axes.set_axis_off()


def _draw_oblique(axes: Axes) -> None:
    module = example("oblique_impact")
    down = module["speed_for"](5.0 * module["DOUBLING_DEPTH"])
    for name, tangential, style in (("rigid", np.inf, "--"), ("compliant", 3.0, "-")):
        link = UnilateralLink(
            np.array([0.0, 1.0]),
            module["STIFFNESS"],
            friction=module["FRICTION"],
            tangent=np.array([1.0, 0.0]),
            doubling_depth=module["DOUBLING_DEPTH"],
            tangential_stiffness=tangential * module["STIFFNESS"],
        )
        motion = simulate_links(
            module["MASS"] * np.eye(2),
            [link],
            [0.0, 0.0],
            [module["ALONG"], -down],
            step=2e-5,
            n_steps=600,
        )
        time = 1e3 * motion.time[1:]
        axes.plot(time, -motion.friction[:, 0], f"C0{style}", label=f"friction, {name} tip")
    axes.plot(time, motion.normal[:, 0], "C1", label="normal force")
    axes.set_xlabel("time [ms]")
    axes.set_ylabel("force [N]")
    axes.set_title("oblique impact, S up to 6 S0")
    axes.legend(fontsize=8)


def _draw_bodies(axes: Axes) -> None:
    velocities = example("two_bodies_at_wall")["velocities"]
    ratios = np.logspace(-0.6, 1.0, 11)
    axes.semilogx(ratios, [velocities(ratio) for ratio in ratios], "o-")
    axes.set_xlabel("stiffness of the wall / between the bodies")
    axes.set_ylabel("velocity after impact [m/s]")
    axes.set_title("two bodies at a wall")
    axes.legend(["first body", "next to the wall"], fontsize=8)


def rows() -> list[Statement]:
    """Return all statements."""
    return [*statements(), *errata()]


PAPER = Paper(
    "kolesnikov",
    "Kolesnikov 2004: unilateral systems",
    rows,
    picture,
)
