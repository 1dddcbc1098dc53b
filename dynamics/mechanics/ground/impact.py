"""Impact of a rigid leg on rigid ground after Newton, with Coulomb friction.

At every point in contact, with normal and tangential velocities vn, vt and impulses Ln, Lt,

    vn+ + e vn- >= 0,  Ln >= 0,  at least one of them 0        (Newton's restitution)
    |Lt| <= mu Ln;  vt+ = 0 or Lt = -mu Ln sign(vt+)           (Coulomb, on impulses)

as in Moreau (1988, in Nonsmooth Mechanics and Applications, CISM 302). A point may stay open,
stick, slide forward or slide back; the first combination of modes that satisfies all conditions is
the result, which need not be unique for several points. Kinetic energy can grow where sliding
reverses (Kane 1984; docs/mechanics.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from dynamics.mechanics.ground.contact import ContactPoint, contact_arms
from dynamics.mechanics.ground.leg import Leg
from dynamics.simulator.equations import SimulationError
from foundation.base.checks import FloatArray, check_number
from foundation.base.errors import InputError

#: Modes of a point, in the order of trial.
_STICK, _FORWARD, _BACK, _OPEN = 0, 1, -1, 2
_MODES = (_STICK, _FORWARD, _BACK, _OPEN)
#: Tolerance of velocities and impulses, relative to the largest in the problem.
_TOLERANCE = 1e-9
#: Largest number of points in contact; the combinations grow as 4^P.
MOST_POINTS = 5


@dataclass(frozen=True, eq=False)
class RigidImpact:
    """Velocity jump of an impact.

    Parameters
    ----------
    velocity : (dof,) float64
        Rates of the coordinates after impact [m/s, rad/s].
    impulse : (P, 2) float64
        Tangential and normal impulse on the points [N s].
    before, after : (P, 2) float64
        Tangential and normal velocities of the points [m/s].
    energy_change : float
        Kinetic energy after less that before [J].
    """

    velocity: FloatArray
    impulse: FloatArray
    before: FloatArray
    after: FloatArray
    energy_change: float


def newton_impact(
    leg: Leg,
    points: Sequence[ContactPoint],
    position: ArrayLike,
    velocity: ArrayLike,
    *,
    restitution: float,
    friction: float,
) -> RigidImpact:
    """Return the impact of points in contact with the ground.

    Parameters
    ----------
    leg : Leg
        The leg.
    points : sequence of ContactPoint
        Points in contact, at most `MOST_POINTS`.
    position, velocity : (dof,) array_like
        Coordinates [m, rad] and rates before impact.
    restitution : float
        Newton's coefficient of restitution e, 0 to 1.
    friction : float
        Coefficient of friction mu, >= 0.

    Returns
    -------
    RigidImpact
        Velocities, impulses and energy change.

    Raises
    ------
    InputError
        If an argument is out of its range.
    SimulationError
        If no combination of sticking, sliding and opening satisfies the law.
    """
    check_law(restitution, friction)
    q, v = leg.state(position, velocity)
    rows = leg.jacobian(q, contact_arms(leg, points)).reshape(-1, leg.freedoms)
    mass = leg.mass_matrix(q)
    return jump(mass, rows, v, v, restitution, friction)


def check_law(restitution: float, friction: float) -> None:
    """Raise an InputError unless restitution e is 0 to 1 and friction mu >= 0."""
    check_number("restitution", restitution, at_least=0.0, at_most=1.0)
    check_number("friction", friction, at_least=0.0)


def jump(
    mass: FloatArray,
    rows: FloatArray,
    velocity: FloatArray,
    free: FloatArray,
    restitution: float,
    friction: float,
) -> RigidImpact:
    """Return the velocity jump for contact rows (2 P, dof) [1, m].

    `velocity` (dof,) [m/s, rad/s] is the velocity before contact and `free` (dof,) that without
    contact: equal in an impact, different by the other forces over a time step of
    `dynamics.mechanics.ground.time_stepping`.
    """
    to_velocity = np.linalg.solve(mass, rows.T)
    before, released = rows @ velocity, rows @ free
    impulse = contact_impulse(rows @ to_velocity, released, before[1::2], restitution, friction)
    after = free + to_velocity @ impulse
    work = 0.5 * impulse @ (released + rows @ after)
    return RigidImpact(
        velocity=after,
        impulse=impulse.reshape(-1, 2),
        before=before.reshape(-1, 2),
        after=(rows @ after).reshape(-1, 2),
        energy_change=float(work),
    )


def contact_impulse(
    compliance: FloatArray,
    free: FloatArray,
    approach: FloatArray,
    restitution: float,
    friction: float,
) -> FloatArray:
    """Return the impulses that satisfy the law of this module, (2 P,) [N s].

    From the velocity per impulse J M^-1 J^T (2 P, 2 P) [1/kg], tangential and normal in turn for
    every point; the velocity without contact (2 P,) [m/s]; the normal velocity before impact (P,)
    [m/s], to which restitution refers; and e and mu [1]. Raises `InputError` for more than
    `MOST_POINTS` points, and `SimulationError` if no combination of modes satisfies the law.
    """
    count = len(approach)
    if count > MOST_POINTS:
        raise InputError(f"points in contact: expected at most {MOST_POINTS}, found {count}")
    rebound = -restitution * approach
    for modes in product(_MODES, repeat=count):
        impulse = _impulse_of(modes, compliance, free, rebound, friction)
        if _satisfies(modes, compliance, free, rebound, friction, impulse):
            return impulse
    raise SimulationError(
        "impact: no combination of sticking, sliding and opening satisfies Newton's and Coulomb's "
        f"laws with restitution {restitution:g} and friction {friction:g} at velocities {free}"
    )


def _impulse_of(
    modes: tuple[int, ...],
    compliance: FloatArray,
    free: FloatArray,
    rebound: FloatArray,
    friction: float,
) -> FloatArray:
    """Return the impulses that satisfy the equalities of the modes."""
    matrix, wanted = np.eye(len(free)), np.zeros(len(free))
    for point, mode in enumerate(modes):
        t, n = 2 * point, 2 * point + 1
        if mode == _OPEN:
            continue
        matrix[n], wanted[n] = compliance[n], rebound[point] - free[n]
        if mode == _STICK:
            matrix[t], wanted[t] = compliance[t], -free[t]
        else:
            matrix[t, n] = mode * friction
    # Points of a flat foot share their tangential velocity: the least impulses are the result.
    least = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
    return least.astype(np.float64, copy=False)


def _satisfies(
    modes: tuple[int, ...],
    compliance: FloatArray,
    free: FloatArray,
    rebound: FloatArray,
    friction: float,
    impulse: FloatArray,
) -> bool:
    """Return whether the impulses satisfy the equalities and inequalities of the modes."""
    after = free + compliance @ impulse
    speed = _TOLERANCE * max(np.abs(free).max(), np.abs(rebound).max(), np.abs(after).max())
    push = _TOLERANCE * np.abs(impulse).max()
    for point, mode in enumerate(modes):
        (vt, vn), (lt, ln) = after[2 * point : 2 * point + 2], impulse[2 * point : 2 * point + 2]
        gain = vn - rebound[point]
        if mode == _OPEN:
            kept = gain >= -speed
        elif mode == _STICK:
            kept = abs(gain) <= speed and abs(vt) <= speed and abs(lt) <= friction * ln + push
        else:
            kept = abs(gain) <= speed and mode * vt >= -speed
        if not kept or ln < -push:
            return False
    return True
