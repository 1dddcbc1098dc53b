"""A start on the ground: some points bear the weight and rest, as in lasting contact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.mechanics.ground.contact import ContactPoint, PenaltyGround, contact_arms
from dynamics.mechanics.ground.leg import Leg
from foundation.base.checks import FloatArray, check_in
from foundation.base.errors import InputError


def standing_start(
    leg: Leg,
    points: Sequence[ContactPoint],
    ground: PenaltyGround,
    position: ArrayLike,
    velocity: ArrayLike,
    standing: str | Sequence[str],
) -> tuple[FloatArray, FloatArray]:
    """Return position and rates with some points at rest on the ground, under the weight of all.

    The height of the hip becomes that at which the points bear the weight in statics. The rates
    become those after impulses that stop the points, v - M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁺ J v: of all rates with
    the points at rest the nearest in kinetic energy.

    Parameters
    ----------
    leg : Leg
        Legs with a free hip.
    points : sequence of ContactPoint
        Contact points, P of them.
    ground : PenaltyGround
        The ground.
    position, velocity : (dof,) array_like
        Wanted coordinates [m, rad] and rates.
    standing : str or sequence of str
        Names of the points at rest, such as "stance ball".

    Returns
    -------
    position, velocity : (dof,) float64
        Start for `simulate_strike` [m, rad; m/s, rad/s].

    Raises
    ------
    InputError
        If the hip is pinned, no point is named, a point is unknown, one of the points at rest is
        not in the ground, or another point is.
    """
    q, v = leg.state(position, velocity)
    if not leg.base:
        raise InputError("leg: expected a free hip, found a pinned one; leave out `anchor`")
    names = [each.name for each in points]
    wanted = [standing] if isinstance(standing, str) else list(standing)
    if not wanted:
        raise InputError("standing: expected at least one point, found none")
    rests = np.isin(names, [check_in("standing", each, names) for each in wanted])
    arms = contact_arms(leg, points)
    depth = ground.compliance * leg.weight / rests.sum()
    q[1] -= leg.positions(q, arms)[rests, 1].mean() + depth
    _check_heights(names, leg.positions(q, arms)[:, 1], rests)
    rows = leg.jacobian(q, arms)[rests].reshape(-1, leg.freedoms)
    to_velocity = np.linalg.solve(leg.mass_matrix(q), rows.T)
    # The points of one rigid foot have dependent rows: the shortest solution is that of all.
    impulse = np.linalg.lstsq(rows @ to_velocity, rows @ v)[0]
    return q, v - to_velocity @ impulse


def _check_heights(names: Sequence[str], heights: FloatArray, rests: NDArray[np.bool_]) -> None:
    """Raise `InputError` unless exactly the points at rest are in the ground."""
    for name, height, stands in zip(names, heights, rests, strict=True):
        if stands != (height < 0.0):
            where = "in the ground" if stands else "above the ground"
            raise InputError(
                f"position: expected {name} {where}, found {name} at a height of "
                f"{1e3 * height:.3g} mm; change the angles or the points in `standing`"
            )
