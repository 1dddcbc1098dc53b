"""Height at which a compartment carries a load (Lin et al. 2010, Med Eng Phys 32:584-594)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from foundation.base.checks import FloatArray, check_number
from foundation.base.errors import PoseError
from foundation.base.flags import worded
from foundation.base.loads import AXIAL_FORCE, STRAIN_LIMIT
from foundation.base.pose import HIGHEST, Pose
from foundation.surface_contact import SurfaceContact

#: A step of Newton's method that is at most this part of the depth below first contact [1] ends the
#: search, as the error after the step is of the order of its square; so does a bracket that is at
#: most as wide [m].
_LAST_STEP, _LEAST_BRACKET = 1e-6, 1e-14
#: Least part of the step of the search for the load, and how far beyond the height that the
#: derivative predicts the search goes, lest the bracket be missed by little [1].
_LEAST_PART, _BEYOND = 0.01, 1.02
#: Strain below which the search for the load may double the depth [1].
_LOW_STRAIN = 0.25 * STRAIN_LIMIT
#: Newton's method, guarded by bisection, ends sooner.
_MOST_STEPS = 100
#: Most steps down to contact.
_MOST_DOWN = 10_000


class StaticsError(PoseError):
    """No height carries the load; the message gives the reason."""


@dataclass(frozen=True, eq=False)
class StaticPose:
    """Pose with its loads (12,) [N, N m, m², Pa, m], and number of evaluations of the original."""

    pose: Pose
    loads: FloatArray
    evaluations: int


def pose_at_load(
    model: SurfaceContact,
    pose: Pose,
    compartment: str,
    load: float,
    *,
    search: float = 10e-3,
    step: float = 1e-3,
) -> StaticPose:
    """Return the pose at which a compartment carries an axial load [N], other coordinates fixed."""
    # Newton's method, guarded by bisection; `search` [m] is the range about the start, `step` [m]
    # that of the search for contact. A step of the search for the load is at most a tenth of it, or
    # the depth so far if the layer is hardly strained.
    target = np.sqrt(check_number("load", load, above=0.0, unit="N"))
    check_number("search", search, above=0.0, at_most=1.0, unit="m")
    check_number("step", step, at_least=search / _MOST_DOWN, unit="m")
    check_number("pose superior", pose.superior, at_least=-HIGHEST, at_most=HIGHEST, unit="m")
    known: dict[float, tuple[FloatArray, FloatArray, FloatArray]] = {}

    def at(height: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        if height not in known:
            moved = replace(pose, superior=height)
            known[height] = model.compartment_loads(moved, compartment)
        return known[height]

    def excess(height: float) -> tuple[float, float]:
        # The root of the load is nearly linear in the height, hence few steps.
        loads, jacobian, _ = at(height)
        root = float(np.sqrt(max(loads[AXIAL_FORCE], 0.0)))
        return root - target, float(jacobian[AXIAL_FORCE, 4]) / (2.0 * root) if root else 0.0

    def depth_at(height: float) -> float:
        return model.indentation(replace(pose, superior=height), compartment)

    def because(height: float) -> str:
        flags = model.compartment_flags(replace(pose, superior=height), compartment)
        return f"; {worded(flags)}" if flags else ""

    try:
        touch = _touch(depth_at, pose.superior, search, step)
    except StaticsError as error:
        raise StaticsError(f"{error}{because(pose.superior)}") from error
    high = low = touch
    while (state := excess(low))[0] < 0.0:
        strain = at(low)[2][1]
        if strain > STRAIN_LIMIT or touch - low > search:
            carried, moved = at(low)[0][AXIAL_FORCE], 1e3 * (touch - low)
            raise StaticsError(
                f"load not reached: {carried:.4g} N of {load:.4g} N, {moved:.2f} mm below first "
                f"contact (strain {strain:.2f}){because(low)}"
            )
        # Root and depth are about in proportion: of a soft layer that is hardly strained, the depth
        # may double.
        longest = max(0.1 * step, touch - low) if strain < _LOW_STRAIN else 0.1 * step
        high, low = low, low - _part(*state, longest)
    root = low if high == low else _root(excess, low, high, touch)
    balanced = replace(pose, superior=float(root))
    loads, _, depth = at(balanced.superior)
    if depth[1] > STRAIN_LIMIT:
        through = f"the layer is pressed through (strain {depth[1]:.2f})"
        raise StaticsError(f"{through}{because(balanced.superior)}")
    if flags := model.compartment_flags(balanced, compartment):
        raise StaticsError(worded(flags))
    return StaticPose(balanced, loads, len(known))


def _touch(depth_at: Callable[[float], float], start: float, search: float, step: float) -> float:
    """Return a height just above first contact: from `start` down to contact, then up."""
    height = start
    while depth_at(height) == 0.0:
        height -= step
        if start - height > search:
            raise StaticsError(f"no contact within {1e3 * search:.0f} mm below the start")
    while (depth := depth_at(height)) > 0.0:
        # A move up by the indentation ends the contact, except for the tilt of the normal.
        height += max(1.05 * depth, 1e-6)
        if height - start > search:
            raise StaticsError(
                f"the bodies still touch {1e3 * search:.0f} mm above the start of the search: they "
                "overlap, or a part of a mesh stands out"
            )
    return height


def _part(value: float, slope: float, step: float) -> float:
    """Return how far to go down where the root of the load is short by -`value` [m]."""
    if slope >= 0.0:
        return step
    return float(np.clip(_BEYOND * value / slope, _LEAST_PART * step, step))


def _root(
    excess: Callable[[float], tuple[float, float]], low: float, high: float, touch: float
) -> float:
    """Return the zero between `low` and `high` [m] of a falling function, with its derivative."""
    height, before = low, np.inf
    for _ in range(_MOST_STEPS):
        value, slope = excess(height)
        low, high = (height, high) if value > 0.0 else (low, height)
        newton = height - value / slope if slope < 0.0 else np.inf
        if value == 0.0 or abs(newton - height) <= _LAST_STEP * (touch - height):
            return newton if low < newton < high else height
        if high - low <= _LEAST_BRACKET:
            break
        good = low < newton < high and abs(value) <= 0.5 * before
        height, before = newton if good else 0.5 * (low + high), abs(value)
    return 0.5 * (low + high)
