"""Static analysis of both compartments: height and adduction that balance two axial loads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from foundation.base.pose import Pose
from foundation.statics.height import StaticPose, StaticsError, pose_at_load
from foundation.surface_contact import SurfaceContact

#: Fractions of the reach at which a bracket is searched.
_REACHES = (0.125, 0.25, 0.5, 1.0)


def pose_at_loads(
    model: SurfaceContact, pose: Pose, medial: float, lateral: float, reach: float
) -> tuple[StaticPose, StaticPose]:
    """Return the pose at which both compartments carry axial loads, with the loads of each.

    Height and adduction are found from those of `pose`, which has the four coordinates that are
    held. The height at which the medial condyle carries its load [N], > 0, rises with the
    adduction, the height of the lateral condyle falls: they are equal at one adduction. Raises
    `StaticsError` if the heights are not equal within `reach` [rad] of the start, or a height has
    no answer.
    """
    heights, spent = [pose.superior, pose.superior], 0

    def at(adduction: float) -> StaticPose:
        """Find both heights, and return what the medial one carries."""
        nonlocal spent
        for k, load in enumerate((lateral, medial)):
            turned = replace(pose, adduction=adduction, superior=heights[k])
            found = pose_at_load(model, turned, ("lateral", "medial")[k], load)
            heights[k] = found.pose.superior
            spent += found.evaluations
        return found

    def apart(adduction: float) -> float:
        at(adduction)
        return heights[1] - heights[0]

    low, high = bracket(apart, pose.adduction, reach)
    adduction = low if low == high else brentq(apart, low, high, xtol=1e-10, rtol=1e-14)
    found = at(float(adduction))
    loads = model.compartment_loads(found.pose, "lateral")[0]
    return (
        StaticPose(found.pose, found.loads, spent),
        StaticPose(found.pose, loads, spent),
    )


def bracket(apart: Callable[[float], float], start: float, reach: float) -> tuple[float, float]:
    """Return two adductions between which the heights meet."""
    gap = apart(start)
    if gap == 0.0:
        return start, start
    before = start
    for part in _REACHES:
        after = start - np.copysign(part * reach, gap)
        left = apart(after)
        if left * gap <= 0.0:
            return before, after
        before = after
    raise StaticsError(
        f"loads not balanced within {np.degrees(reach):.3g} deg of adduction: the heights of both "
        f"condyles are still {1e3 * abs(left):.3g} mm apart"
    )
