"""Quantities, units and signs of walking, and the names that tables of motion give to them.

The lab frame has x forward, y up, z to the right; lengths are in metres, angles in radians, forces
in newtons, moments in newton metres. Pelvic tilt, hip flexion and ankle dorsiflexion rotate pelvis,
thigh and foot by positive angles about z, knee flexion rotates the shank by a negative angle; all
are zero in upright standing with the foot perpendicular to the shank. The ground force and the free
torque act on the foot. A left leg is mirrored at the sagittal plane and treated as a right leg.

Loads of the tibia are stated in the tibial frame of a right knee: x anterior, y superior, z
lateral. Moments of muscles and joints are positive in extension of hip and knee and in
plantarflexion of the ankle.

A minus before the name of a column inverts its sign. A column whose name ends in `_deg` or `_rad`,
`_m` or `_mm` has that unit.
"""

from __future__ import annotations

from collections.abc import Collection
from types import MappingProxyType

from foundation.base.pose import COORDINATE_UNITS, COORDINATES

OTHER_SIDE = {"right": "left", "left": "right"}
#: Coordinates of a stride, with their units.
TRIAL_COORDINATES = (
    "pelvis_x", "pelvis_y", "pelvis_z",
    "pelvis_tilt", "hip_flexion", "knee_flexion", "ankle_dorsiflexion",
)  # fmt: skip
TRIAL_UNITS = ("m", "m", "m", "rad", "rad", "rad", "rad")
#: Quantities of the ground force [N, m, N m], and their columns in tables of one leg.
GROUND_QUANTITIES = ("force", "point", "torque")
GROUND_COLUMNS = tuple(f"{name}_{axis}" for name in GROUND_QUANTITIES for axis in "xyz")
#: Columns of OpenSim's tables by side and quantity; the axes x, y and z complete the names of
#: force, point and torque.
OPENSIM_COLUMNS = {
    side: {
        "pelvis_x": "pelvis_tx",
        "pelvis_y": "pelvis_ty",
        "pelvis_tilt": "pelvis_tilt",
        "hip_flexion": f"hip_flexion_{side[0]}",
        "knee_flexion": f"-knee_angle_{side[0]}",
        "ankle_dorsiflexion": f"ankle_angle_{side[0]}",
        "force": f"{plate}ground_force_v",
        "point": f"{plate}ground_force_p",
        "torque": f"{plate}ground_torque_",
    }
    for side, plate in (("right", ""), ("left", "1_"))
}
#: Names of each coordinate in OpenSim's models, without the side.
STEMS = {
    "pelvis_x": ("pelvis_tx",),
    "pelvis_y": ("pelvis_ty",),
    "pelvis_z": ("pelvis_tz",),
    "pelvis_tilt": ("pelvis_tilt",),
    "hip_flexion": ("hip_flexion", "hip_flex"),
    "knee_flexion": ("knee_angle", "knee_flex", "knee_flexion"),
    "ankle_dorsiflexion": ("ankle_angle", "ankle_flex", "ankle_dorsiflexion"),
}
#: Names of the rotation of the pelvis about the vertical axis.
HEADINGS = ("pelvis_rotation", "pelvis_rot")
#: Coordinates of the pose of the tibia in the femur (`Pose.from_opensim`); the angles are those of
#: `foundation.base.pose.COORDINATES`. Their columns in OpenSim-JAM's models.
OPENSIM_COORDINATES = (*COORDINATES[:3], "tx", "ty", "tz")
KNEE_COORDINATES = (
    "knee_flex_r", "knee_add_r", "knee_rot_r", "knee_tx_r", "knee_ty_r", "knee_tz_r",
)  # fmt: skip
#: Known columns of a knee's pose: those of OpenSim-JAM's models, and those of the tables of a run.
KNOWN_COLUMNS = (
    MappingProxyType(dict(zip(OPENSIM_COORDINATES, KNEE_COORDINATES, strict=True))),
    MappingProxyType(
        {name: f"{name}_{unit}" for name, unit in zip(COORDINATES, COORDINATE_UNITS, strict=True)}
    ),
)
ANGLE_UNITS = ("deg", "rad")
#: Number of each unit of length in a metre.
PER_METRE = {"m": 1.0, "mm": 1e3, "inch": 1.0 / 0.0254}
LENGTH_UNITS = tuple(PER_METRE)
#: Names of the time column.
TIME_COLUMNS = ("time", "time_s")


def unit_in_name(column: str, units: Collection[str] = ANGLE_UNITS) -> str | None:
    """Return the unit, one of `units`, with which the name of a column ends, or None."""
    suffix = column.rpartition("_")[2]
    return suffix if suffix in units else None
