"""External loads whose centre of pressure is not under the body on which they act."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dynamics.motion.plates import FARTHEST
from dynamics.musculoskeletal.external_loads import AppliedForce
from dynamics.musculoskeletal.ground_balance import GroundBalance
from dynamics.musculoskeletal.leg_sides import counterpart
from foundation.base.checks import FloatArray

#: A plate carries a foot above this part of the weight [1].
BEARS = 0.2
#: A centre of pressure is nearer to another body by more than this distance [m], and farther from
#: its own than toes are from a heel [m].
_NEARER, _OFF_FOOT = 0.1, 0.25


def misplaced(
    forces: Sequence[AppliedForce], balance: GroundBalance, feet: Mapping[str, FloatArray]
) -> Iterator[str]:
    """Yield a flag for each force that is not under its body, by centres of mass (N, 3) [m]."""
    for force in forces:
        plate = force.at(balance.time)
        up, known = balance.up, force.body in feet
        bears = np.maximum(plate.force @ up - BEARS * balance.weight, 0.0)
        if not force.in_ground or not known or not bears.any():
            continue
        away = {
            body: float(np.average(np.linalg.norm(plate.point - place, axis=1), weights=bears))
            for body, place in feet.items()
        }
        own, nearest = away[force.body], min(away, key=away.__getitem__)
        other = counterpart(force.body)
        across = _across(plate.point - feet[force.body], up)
        beside = float(np.average(across, weights=bears))
        said = f"{plate.name}: expected a centre of pressure under {force.body}, found a mean "
        if away.get(other, np.inf) <= min(own - _NEARER, FARTHEST):
            yield (
                f"{said}distance of {own:.2f} m, and {away[other]:.2f} m from {other}; "
                "the forces, or applied_to_body of the external loads, look exchanged"
            )
        elif own > _OFF_FOOT and away[nearest] <= min(own - _NEARER, FARTHEST):
            yield (
                f"{said}distance of {own:.2f} m, and {away[nearest]:.2f} m from {nearest}; "
                "check applied_to_body of the external loads"
            )
        elif beside > FARTHEST:
            yield f"{said}distance of {beside:.2f} m; check time, unit and axes of the points"


def _across(vectors: FloatArray, up: FloatArray) -> FloatArray:
    """Return the horizontal lengths (N,) of vectors (N, 3) [m]."""
    return np.linalg.norm(vectors - (vectors @ up)[:, None] * up, axis=1)
