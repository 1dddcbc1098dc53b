"""Laws of rigid contact: what an impact leaves open, and the signs of eq. 1 and 2."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from benchmarks.heel_strike import rigid
from benchmarks.literature.kaplan.simulations import one_leg
from benchmarks.literature.statements import Statement, misprint
from benchmarks.measures import max_abs
from dynamics.mechanics.ground import PenaltyGround
from foundation.base.checks import FloatArray

#: Weight of 75 kg [N].
WEIGHT = 75.0 * 9.81


@cache
def rigid_steps() -> tuple[FloatArray, FloatArray]:
    """Return largest force [N] and largest change of a rate in one step (3,), the step halved."""
    found = [rigid("locked", 0.0, 0.02, steps) for steps in (100, 200, 400)]
    peaks = [each.reaction[:, 1].max() for each in found]
    jumps = [max_abs(np.diff(each.velocity, axis=0)) for each in found]
    return np.array(peaks), np.array(jumps)


def jumps() -> Statement:
    peaks, changes = rigid_steps()
    growth = peaks[1:] / peaks[:-1]
    held = max_abs(changes[1:] / changes[:-1] - 1.0)
    soft = one_leg("printed", "locked").reaction[:, 1].max()
    return Statement(
        "introduction, after eq. 2",
        "rigid impact takes no time, so that velocities jump by finite amounts, and the impulse is "
        "known but not the force",
        f"heel strike with steps of 0.2, 0.1 and 0.05 ms: the force of a step grows to "
        f"{', '.join(f'{each / 1e3:.0f}' for each in peaks)} kN, the jump of a rate stays at "
        f"{', '.join(f'{each:.2f}' for each in changes)} rad/s; penalty contact has a force of "
        f"{soft / 1e3:.1f} kN",
        max_abs(growth - 2.0) < 0.2 and held < 0.1 and soft < peaks[0],
    )


def normal_cone(lower: float, upper: float, at: float) -> tuple[float, float]:
    """Return the least and the greatest element of ∂ψ of an interval; NaN where ∂ψ is empty."""
    if not lower <= at <= upper:
        return math.nan, math.nan
    return (-math.inf if at == lower else 0.0), (math.inf if at == upper else 0.0)


def outside(value: float, cone: tuple[float, float]) -> float:
    """Return how far a value is outside of a cone; infinite if the cone is empty."""
    if math.isnan(cone[0]):
        return math.inf
    return max(cone[0] - value, value - cone[1], 0.0)


def standing_force(compliance: float) -> tuple[float, float]:
    """Return gap [m] and force [N] of a weight at rest on the ground."""
    gap = -WEIGHT * compliance
    force = PenaltyGround(compliance, 0.0).normal_force(np.array([gap]), np.zeros(1))
    return gap, float(force[0])


def signs() -> Statement:
    pairs = [standing_force(each) for each in (1e-5, 1e-7, 1e-9)]
    force = pairs[-1][1]
    cone = normal_cone(0.0, math.inf, 0.0)
    printed, right = outside(force, cone), outside(-force, cone)
    empty = outside(0.0, normal_cone(-math.inf, 0.0, force))
    filled = outside(0.0, normal_cone(-math.inf, 0.0, -force))
    depths = ", ".join(f"{-1e3 * gap:.1g}" for gap, _ in pairs)
    return misprint(
        "eq. 1",
        "F_n in ∂ψ of R⁺ at d_n, d_n in ∂ψ of R⁻ at f_n",
        "-F_n in ∂ψ of R⁺ at d_n, d_n in ∂ψ of R⁻ at -F_n",
        f"75 kg at rest by eq. 3 on ever harder ground: {depths} mm deep, F_n = {force:+.0f} N, "
        f"which is {printed:.0f} N outside of ∂ψ of R⁺ at 0; -F_n is {right:.0f} N outside",
        printed > 1.0 and right == 0.0 and math.isinf(empty) and filled == 0.0,
        "with the signs of eq. 1 a force that presses is negative, with those of eq. 3 and 4 "
        "positive; f_n and F_n are one",
    )


def sliding() -> list[tuple[float, float, float]]:
    """Return velocity [m/s], force and limit [N] of two ways of sliding, under 100 N."""
    law = PenaltyGround().friction
    limit = law.coefficient * 100.0
    speeds = (1.0, -1.0)
    forces = (law.evaluate([0.0], [v], np.array(100.0))[0][0] for v in speeds)
    return [(v, float(force), limit) for v, force in zip(speeds, forces, strict=True)]


def friction_signs() -> Statement:
    rows = sliding()
    cones = [normal_cone(-limit, limit, force) for _, force, limit in rows]
    printed = [outside(abs(v), cone) for (v, _, _), cone in zip(rows, cones, strict=True)]
    signed = [outside(v, cone) for (v, _, _), cone in zip(rows, cones, strict=True)]
    right = [outside(-v, cone) for (v, _, _), cone in zip(rows, cones, strict=True)]
    (forward, force, _), (back, other, _) = rows
    return misprint(
        "eq. 2",
        "v_s in ∂ψ of C at F_t, F_t in ∂ψ* of C at v_s, with v_s the magnitude of the slip",
        "-v_s in ∂ψ of C at F_t, F_t in ∂ψ* of C at -v_s, with v_s the velocity of the point",
        f"sliding at {forward:+.0f} and {back:+.0f} m/s under 100 N: F_t = {force:+.0f} and "
        f"{other:+.0f} N; the magnitude is {printed[0]:.0f} and {printed[1]:.0f} m/s outside of "
        f"∂ψ, the velocity {signed[0]:.0f} and {signed[1]:.0f}, the negative velocity "
        f"{right[0]:.0f} and {right[1]:.0f}",
        max(printed) > 0.5 and max(signed) > 0.5 and max(right) == 0.0,
        "eq. 4 has the right sign; C and C̄ are one, the interval of forces up to μ F_n",
    )


STATEMENTS = (
    jumps,
    signs,
    friction_signs,
)
