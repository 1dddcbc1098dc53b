"""Pose of the femur in the tibia: frames, signs, conversions and virtual work.

This module defines the conventions of the project. Tibial frame of a right knee: x anterior,
y superior (proximal), z lateral; metres and radians. The six coordinates are

    q = (flexion, adduction, internal rotation; anterior, superior, lateral),

the last three being the position of the femoral origin in the tibial frame, with the rotation of
Grood & Suntay (1983, J Biomech Eng 105:136-144), see `rotation_matrix`. A wrench is (force, moment
about the tibial origin), in the tibial frame, acting on the femur.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array, check_number
from foundation.base.errors import InputError

COORDINATES = ("flexion", "adduction", "rotation", "anterior", "superior", "lateral")
#: Unit of each coordinate, in the order of `COORDINATES`.
COORDINATE_UNITS = ("rad", "rad", "rad", "m", "m", "m")
#: Largest size of a coordinate by its unit: a turn, and more than a leg is long.
LARGEST = {"rad": 2.0 * math.pi, "m": 1.5}
#: Largest height from which contact is searched for; steps from higher ones are lost to rounding.
HIGHEST = 1e3
_REMEDIES = {"rad": "convert degrees to radians", "m": "convert millimetres to metres"}
#: Column of each coordinate in tables: its name and unit.
POSE_COLUMNS = tuple(f"{c}_{u}" for c, u in zip(COORDINATES, COORDINATE_UNITS, strict=True))
#: Index of each coordinate in an array of a pose.
FLEXION, ADDUCTION, ROTATION, ANTERIOR, SUPERIOR, LATERAL = range(6)
ANGLES, POSITION = slice(0, 3), slice(3, 6)


@dataclass(frozen=True)
class Pose:
    """Position and orientation of the femur in the tibial frame.

    Parameters
    ----------
    flexion, adduction, rotation : float
        Joint angles of Grood & Suntay [rad]; rotation is internal rotation of the tibia.
    anterior, superior, lateral : float
        Position of the femoral origin in the tibial frame [m].

    Warns
    -----
    UserWarning
        If a coordinate is larger than `LARGEST`, as in degrees or millimetres.
    """

    flexion: float = 0.0
    adduction: float = 0.0
    rotation: float = 0.0
    anterior: float = 0.0
    superior: float = 0.0
    lateral: float = 0.0

    def __post_init__(self) -> None:
        for name, unit in zip(COORDINATES, COORDINATE_UNITS, strict=True):
            number = check_number(f"pose {name}", getattr(self, name))
            if abs(number) > LARGEST[unit]:
                # No error: where an integrator or a search goes astray, loads stay defined.
                warnings.warn(
                    f"pose {name}: expected at most {LARGEST[unit]:.4g} {unit} in size, found "
                    f"{number:.6g} {unit}; {_REMEDIES[unit]}",
                    stacklevel=3,
                )
            object.__setattr__(self, name, number)

    @classmethod
    def from_array(cls, coordinates: ArrayLike) -> Self:
        """Return the pose of coordinates (6,) [rad, m] in the order of `COORDINATES`."""
        return cls(*(float(c) for c in check_array("pose", coordinates, (6,))))

    @property
    def array(self) -> FloatArray:
        """Coordinates as a new array (6,) float64 [rad, m]."""
        return np.array([getattr(self, name) for name in COORDINATES])

    @classmethod
    def from_opensim(
        cls, flex: float, add: float, rot: float, tx: float, ty: float, tz: float
    ) -> Self:
        """Return the pose of OpenSim-JAM's coordinates of the tibia in the femoral frame.

        In OpenSim-JAM x_femur = R x_tibia + (tx, ty, tz) with R = Rz(-flex) Rx(add) Ry(rot)
        (Lenhart et al. 2015, Ann Biomed Eng 43:2675-2685).

        Parameters
        ----------
        flex, add, rot : float
            Flexion, adduction and internal rotation [rad].
        tx, ty, tz : float
            Position of the tibial origin in the femoral frame [m].
        """
        rotation = rotation_matrix(flex, add, rot)
        origin = -rotation @ check_array("OpenSim translation", (tx, ty, tz), (3,))
        return cls(flex, add, rot, *(float(c) for c in origin))

    def to_opensim(self) -> FloatArray:
        """Return OpenSim-JAM's coordinates (flex, add, rot, tx, ty, tz), (6,) [rad, m]."""
        tibial_origin = -self.rotation_matrix.T @ self.translation
        return np.concatenate([self.array[ANGLES], tibial_origin])

    @property
    def rotation_matrix(self) -> FloatArray:
        """Rotation matrix from the femoral to the tibial frame, (3, 3) [1]."""
        return rotation_matrix(self.flexion, self.adduction, self.rotation)

    @property
    def translation(self) -> FloatArray:
        """Femoral origin in the tibial frame, (3,) [m]."""
        return np.array([self.anterior, self.superior, self.lateral])


def pose_array(poses: Pose | Sequence[Pose] | ArrayLike) -> FloatArray:
    """Return coordinates [rad, m], (6,) or (N, 6), of a pose, poses, an array or a table."""
    if isinstance(poses, Pose):
        return poses.array
    table: Any = poses
    if hasattr(table, "columns"):
        missing = [name for name in POSE_COLUMNS if name not in table.columns]
        if missing:
            raise InputError(f"poses: expected the columns {list(POSE_COLUMNS)}, missing {missing}")
        table = table[list(POSE_COLUMNS)]
    elif isinstance(table, Sequence) and table and isinstance(table[0], Pose):
        table = [pose_array(pose) for pose in table]
    array = check_array("poses", table)
    if array.ndim not in (1, 2) or array.shape[-1] != len(COORDINATES):
        raise InputError(
            "poses: expected a Pose, an array (6,) or (N, 6) of coordinates, or a table with their "
            f"columns, found shape {array.shape}"
        )
    return array


def rotation_matrix(flexion: float, adduction: float, rotation: float) -> FloatArray:
    """Return R (tibia <- femur) = Ry(-rotation) Rx(-adduction) Rz(flexion), (3, 3) [1, rad]."""
    # Grood & Suntay (1983).
    # Written out, since products of matrices would take almost as long as an evaluation of contact.
    cf, sf = math.cos(flexion), math.sin(flexion)
    ca, sa = math.cos(adduction), math.sin(adduction)
    cr, sr = math.cos(rotation), math.sin(rotation)
    return np.array(
        [
            [cr * cf + sr * sa * sf, sr * sa * cf - cr * sf, -sr * ca],
            [ca * sf, ca * cf, sa],
            [sr * cf - cr * sa * sf, -sr * sf - cr * sa * cf, cr * ca],
        ]
    )


def rotation_matrices(poses: FloatArray) -> FloatArray:
    """Return the `rotation_matrix` (N, 3, 3) [1] of each of N poses (N, 6) [rad, m]."""
    cf, ca, cr = np.cos(poses[:, ANGLES].T)
    sf, sa, sr = np.sin(poses[:, ANGLES].T)
    rows = [
        [cr * cf + sr * sa * sf, sr * sa * cf - cr * sf, -sr * ca],
        [ca * sf, ca * cf, sa],
        [sr * cf - cr * sa * sf, -sr * sf - cr * sa * cf, cr * ca],
    ]
    return np.ascontiguousarray(np.array(rows).transpose(2, 0, 1))


def rotation_axes(adduction: float, rotation: float) -> FloatArray:
    """Return the tibial axes of the three angles, columns of (3, 3) [1], at angles [rad]."""
    # The angular velocity of the femur is axes @ (rates of flexion, adduction and rotation).
    ca, sa = np.cos(adduction), np.sin(adduction)
    cr, sr = np.cos(rotation), np.sin(rotation)
    flexion_axis = (-sr * ca, sa, cr * ca)
    adduction_axis = (-cr, 0.0, -sr)
    rotation_axis = (0.0, -1.0, 0.0)
    return np.array([flexion_axis, adduction_axis, rotation_axis]).T


def cross_matrix(vector: FloatArray) -> FloatArray:
    """Return the cross-product matrix V (3, 3) of v (3,) [any unit]: V u = v x u."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def twist_jacobian(pose: Pose) -> FloatArray:
    """Return the twist of the femur per unit rate of each pose coordinate.

    Parameters
    ----------
    pose : Pose
        Pose of the femur.

    Returns
    -------
    (6, 6) float64
        Column k holds (velocity of the femoral point at the tibial origin; angular velocity) in
        the tibial frame [m/s, rad/s] for a unit rate of coordinate k.
    """
    axes = rotation_axes(pose.adduction, pose.rotation)
    jacobian = np.zeros((6, 6))
    # A rotation about the femoral origin p moves the point at the tibial origin by axis x (0 - p).
    jacobian[:3, ANGLES] = cross_matrix(pose.translation) @ axes
    jacobian[3:, ANGLES] = axes
    jacobian[:3, POSITION] = np.eye(3)
    return jacobian


def generalised_force(pose: Pose, wrench: ArrayLike) -> FloatArray:
    """Return the generalised forces of a wrench on the femur by virtual work.

    Parameters
    ----------
    pose : Pose
        Pose of the femur.
    wrench : (6,) float64
        (force; moment about the tibial origin) on the femur, tibial frame [N, N m].

    Returns
    -------
    (6,) float64
        Generalised forces of the pose coordinates [N m, N].
    """
    return twist_jacobian(pose).T @ check_array("wrench", wrench, (6,))


def generalised_force_jacobian(
    pose: Pose, wrench: ArrayLike, wrench_jacobian: ArrayLike
) -> FloatArray:
    """Return d(generalised forces)/d(pose), (6, 6) [N m, N; rad, m], from d(wrench)/d(pose)."""
    force_moment = check_array("wrench", wrench, (6,))
    jacobian = twist_jacobian(pose).T @ check_array("wrench_jacobian", wrench_jacobian, (6, 6))
    force, moment = force_moment[:3], force_moment[3:]
    axes = rotation_axes(pose.adduction, pose.rotation)
    # Q_angle = axis . (M - p x F): the geometric part is due to p and to the rotating axes.
    about_femur = moment - cross_matrix(pose.translation) @ force
    jacobian[ANGLES, POSITION] -= axes.T @ cross_matrix(force).T
    # The flexion axis rotates with adduction and rotation, the adduction axis with rotation.
    turned = axes.T @ cross_matrix(about_femur) @ axes
    jacobian[FLEXION, ADDUCTION] += turned[FLEXION, ADDUCTION]
    jacobian[FLEXION, ROTATION] += turned[FLEXION, ROTATION]
    jacobian[ADDUCTION, ROTATION] += turned[ADDUCTION, ROTATION]
    return jacobian
