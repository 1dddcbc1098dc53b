"""One stride of one leg: sagittal motion and ground force on a common time base.

Frame, units and signs are those of `dynamics.walking.columns`. Coordinates are those of OpenSim's
gait models in the sagittal plane; other rotations of a three-dimensional motion are omitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dynamics.walking.columns import (
    GROUND_QUANTITIES,
    OPENSIM_COLUMNS,
    TRIAL_COORDINATES,
    TRIAL_UNITS,
)
from dynamics.walking.motion_tables import MotionTable
from dynamics.walking.smoothing import smoothed
from dynamics.walking.strikes import find_stride
from foundation.base.checks import (
    FloatArray,
    check_array,
    check_count,
    check_fields,
    check_in,
    check_number,
)
from foundation.base.errors import InputError

#: Mirroring of vectors at the sagittal plane.
_MIRROR = np.array([1.0, 1.0, -1.0])


@dataclass(frozen=True, eq=False)
class GaitTrial:
    """A stride of a right leg, or of a mirrored left leg.

    Parameters
    ----------
    time : (N,) float64
        Increasing instants [s].
    coordinates, rates, accelerations : (N, 7) float64
        Coordinates in the order of `TRIAL_COORDINATES` and time derivatives [m, rad, s].
    force : (N, 3) float64
        Ground force on the foot, lab frame [N].
    centre_of_pressure : (N, 3) float64
        Point of application of the force, lab frame [m]; undefined without force.
    torque : (N, 3) float64
        Free torque of the ground on the foot, lab frame [N m].
    side : {"right", "left"}
        Measured leg.

    Raises
    ------
    InputError
        If the shapes do not match, a value is not finite, or the time does not increase.
    """

    time: FloatArray
    coordinates: FloatArray
    rates: FloatArray
    accelerations: FloatArray
    force: FloatArray
    centre_of_pressure: FloatArray
    torque: FloatArray
    side: str = "right"

    def __post_init__(self) -> None:
        check_in("side", self.side, OPENSIM_COLUMNS)
        time = check_array("time", self.time, (None,))
        if len(time) < 2 or (np.diff(time) <= 0.0).any():
            raise InputError(f"time: expected at least two increasing instants, found {time}")
        moving, spatial = (len(time), len(TRIAL_COORDINATES)), (len(time), 3)
        shapes = dict.fromkeys(("coordinates", "rates", "accelerations"), moving)
        shapes |= dict.fromkeys(("force", "centre_of_pressure", "torque"), spatial)
        check_fields(self, time=(None,), **shapes)

    def coordinate(self, name: str) -> FloatArray:
        """Return one of `TRIAL_COORDINATES`, (N,) [m] or [rad]."""
        check_in("coordinate", name, TRIAL_COORDINATES)
        return self.coordinates[:, TRIAL_COORDINATES.index(name)].copy()

    @property
    def percent(self) -> FloatArray:
        """Share of the stride [%], (N,), 0 to 100."""
        return 100.0 * (self.time - self.time[0]) / (self.time[-1] - self.time[0])


def gait_trial(
    motion: MotionTable,
    ground: MotionTable,
    side: str = "right",
    *,
    columns: Mapping[str, str] | None = None,
    stride: tuple[float, float] | None = None,
    pelvis_z: float = 0.0,
    motion_cutoff: float | None = 6.0,
    force_cutoff: float | None = 20.0,
    samples: int = 201,
) -> GaitTrial:
    """Return a stride of a measured motion with its ground forces.

    Parameters
    ----------
    motion : MotionTable
        Position of the pelvis [m] and joint angles.
    ground : MotionTable
        Force [N], point of application [m] and torque [N m] in the lab frame.
    side : {"right", "left"}
        Measured leg.
    columns : mapping, optional
        Names of columns that differ from `OPENSIM_COLUMNS`; additionally `pelvis_z`, the column of
        the lateral position of the pelvis.
    stride : (start, end), optional
        Instants of heel strike [s]; by default `dynamics.walking.strikes.find_stride`.
    pelvis_z : float
        Lateral position of the pelvis, to the right [m], without such a column.
    motion_cutoff, force_cutoff : float or None
        Cut-off frequencies of the filters [Hz]; None for no filter.
    samples : int
        Number of equally spaced instants, >= 5.

    Raises
    ------
    InputError
        If a side, quantity or column is unknown, the tables do not contain a stride, a cut-off is
        not below 0.4 of the rate of its table, or rows are missing.
    """
    names = OPENSIM_COLUMNS[check_in("side", side, OPENSIM_COLUMNS)] | dict(columns or {})
    for quantity in names:
        check_in("columns", quantity, (*OPENSIM_COLUMNS[side], "pelvis_z"))
    count = check_count("samples", samples, at_least=5)
    force, point, torque = (
        np.column_stack([ground.signed(names[quantity] + axis) for axis in "xyz"])
        for quantity in GROUND_QUANTITIES
    )
    if stride is None:
        vertical = f"{ground.source}, column {names['force']}y"
        stride = find_stride(ground.time, force[:, 1], name=vertical)
    start, end = stride
    instants = _instants(start, end, count, motion, ground)
    sign = _MIRROR if side == "left" else np.ones(3)

    moved = _motion(motion, names, pelvis_z)
    moved[:, :3] *= sign
    spline = smoothed(motion, moved, "motion_cutoff", motion_cutoff)
    # The wrench about the lab origin is filtered: the point of application is undefined without
    # force.
    about_origin = torque + np.cross(point, force)
    loads = np.hstack([force, about_origin])
    wrench = smoothed(ground, loads, "force_cutoff", force_cutoff)(instants)
    centre = np.column_stack([np.interp(instants, ground.time, p) for p in point.T])
    rest = wrench[:, 3:] - np.cross(centre, wrench[:, :3])
    return GaitTrial(
        instants,
        spline(instants),
        spline(instants, 1),
        spline(instants, 2),
        sign * wrench[:, :3],
        sign * centre,
        # A mirrored moment keeps only its component normal to the mirror.
        -sign * rest if side == "left" else rest,
        side,
    )


def _motion(motion: MotionTable, names: Mapping[str, str], pelvis_z: float) -> FloatArray:
    """Return the coordinates (N, 7) at the instants of the table."""
    rows = np.full((len(motion.time), 7), check_number("pelvis_z", pelvis_z, unit="m"))
    for k, (name, unit) in enumerate(zip(TRIAL_COORDINATES, TRIAL_UNITS, strict=True)):
        if name in names:
            rows[:, k] = motion.signed(names[name], angle=unit == "rad")
    return rows


def _instants(
    start: float, end: float, count: int, motion: MotionTable, ground: MotionTable
) -> FloatArray:
    begin = check_number("stride start", start, unit="s")
    finish = check_number("stride end", end, above=begin, unit="s")
    first = max(motion.time[0], ground.time[0])
    last = min(motion.time[-1], ground.time[-1])
    if first >= last:
        raise InputError(
            f"{motion.source} and {ground.source}: expected tables over the same time, found "
            f"{motion.time[0]:g} to {motion.time[-1]:g} s and {ground.time[0]:g} to "
            f"{ground.time[-1]:g} s"
        )
    if begin < first - 1e-9 or finish > last + 1e-9:
        raise InputError(
            f"stride: expected instants between {first:g} and {last:g} s, covered by both tables, "
            f"found {begin:g} to {finish:g} s"
        )
    return np.linspace(max(begin, first), min(finish, last), count)
