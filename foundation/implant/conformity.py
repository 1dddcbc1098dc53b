"""Conformity and first contact of the condyles and dishes of the built-in implant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.pose import rotation_matrix
from foundation.implant.condyle import Condyle
from foundation.implant.dish import Dish


def check_conformity(side: str, condyle: Condyle, dish: Dish) -> None:
    """Raise an InputError if a conformity (radius of condyle over dish) is 1 or more."""
    pairs = (
        ("sagittal", float(condyle.radii.max()), dish.sagittal_radius),
        ("coronal", condyle.coronal_radius, dish.coronal_radius),
    )
    for plane, femoral, tibial in pairs:
        if femoral >= tibial:
            raise InputError(
                f"{{name}}: expected below 1, found {femoral / tibial:g} "
                f"(femoral radius {femoral:g} m, dish radius {tibial:g} m); the condyle would rest "
                "on the rim: increase the dish radius or reduce the femoral radius",
                f"implant {side} {plane} conformity",
            )


def first_touch(
    pairs: Sequence[tuple[Condyle, Dish]], bottom: float, flexion: float
) -> tuple[float, float]:
    """Return x and y [m] of the femoral origin at first contact with flexion [rad] alone."""
    # x has the lowest points above the bottoms of the dishes, mean of the sides; y is the height at
    # which the first side touches.
    turn = rotation_matrix(flexion, 0.0, 0.0)[:2, :2]
    offsets = []
    for condyle, dish in pairs:
        # The lowest point is below the centre of the arc with a downward normal.
        centre = turn @ condyle.centres[int(condyle.arc_of(np.array(-flexion)))]
        offsets.append(dish.bottom_anterior - centre[0])
    anterior = float(np.mean(offsets))
    return anterior, max(_touch_height(*pair, bottom, turn, anterior) for pair in pairs)


def _touch_height(
    condyle: Condyle, dish: Dish, bottom: float, turn: FloatArray, anterior: float
) -> float:
    """Return the height of the femoral origin at which a condyle first touches its dish."""
    # In the middle plane, the point of the J-curve farthest from the dish's centre is on its
    # circle.
    ends = condyle.surface(condyle.limits[[0, -1]], np.zeros(2))[0][:, :2] @ turn.T
    centres = condyle.centres @ turn.T
    dish_centre = np.array([dish.bottom_anterior, bottom + dish.sagittal_radius])

    def excess(height: float) -> float:
        origin = np.array([anterior, height])
        away = centres + origin - dish_centre
        length = np.linalg.norm(away, axis=1)
        # The farthest point of an arc is beyond its centre, if on the arc.
        direction = away @ turn
        angle = np.arctan2(direction[:, 0], -direction[:, 1])
        on_arc = (angle >= condyle.limits[:-1] - 1e-9) & (angle <= condyle.limits[1:] + 1e-9)
        reached = np.linalg.norm(ends + origin - dish_centre, axis=1)
        farthest = np.append(reached, (length + condyle.radii)[on_arc]).max()
        return float(farthest - dish.sagittal_radius)

    lowest = bottom - dish.sagittal_radius
    return float(brentq(excess, lowest, dish_centre[1], xtol=1e-16, rtol=1e-15))
