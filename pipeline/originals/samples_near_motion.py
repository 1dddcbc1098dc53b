"""Samples near a motion inside the box of a sample space."""

from __future__ import annotations

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.config.schema import MotionConfig
from surrogates.sampling.space import OFFSET_COORDINATES, VARIABLES, SampleSpace

#: Columns of a pose that a motion gives: flexion and the coordinates of the offsets.
_COLUMNS = np.array([0, *OFFSET_COORDINATES])


def motion_poses(motion: MotionConfig) -> FloatArray:
    """Return a motion (K, 5): flexion, adduction, rotation [rad], anterior, lateral [m]."""
    angles = np.radians([motion.flexion_deg, motion.adduction_deg, motion.rotation_deg])
    lengths = 1e-3 * np.array([motion.anterior_mm, motion.lateral_mm])
    return np.vstack([angles, lengths]).T


def dimensions(motion: MotionConfig | None) -> int:
    """Return the number of dimensions of the design that `draw` takes."""
    # The place along a motion stands for the flexion, which has a margin of its own besides.
    return 6 if motion is None else 7


def draw(
    space: SampleSpace, motion: MotionConfig | None, unit: FloatArray, spread: float
) -> tuple[FloatArray, FloatArray]:
    """Map a design `unit` (N, 6) or (N, 7) [1] to poses (N, 6) [rad, m] and axial loads (N,) [N].

    The height of a pose is that of the path, as the start of a search. Most samples lie near the
    motion; without one the samples fill the box. The root of the load of degree `spread` is
    uniformly distributed. Raises `InputError` if a pose of the motion is outside the box.
    """
    if motion is None:
        return space.draw(unit, spread)
    poses, part = _inside(space, motion_poses(motion)), motion.part
    near = unit[:, 0] < part
    cube = unit[:, :6].copy()
    # The first dimension chooses between motion and box, and the place in either one.
    cube[~near, 0] = (cube[~near, 0] - part) / (1.0 - part) if part < 1.0 else 0.0
    found, load = space.draw(cube, spread)
    place = unit[near, 0] / part * (len(poses) - 1)
    knots = np.arange(len(poses))
    along = np.column_stack([np.interp(place, knots, column) for column in poses.T])
    margin = np.array([*[np.radians(motion.margin_deg)] * 3, *[1e-3 * motion.margin_mm] * 2])
    along += margin * _triangular(unit[near][:, [6, 1, 2, 3, 4]])
    found[np.ix_(near, _COLUMNS)] = along
    # The height of `held` is that of the path once more.
    found[:, 4] = space.path.poses(found[:, 0])[:, 4]
    return space.held(found), load


def _triangular(unit: FloatArray) -> FloatArray:
    """Return numbers of a triangular distribution on [-1, 1] from even ones on [0, 1]."""
    # Evenly drawn offsets in five coordinates would nearly all be far from the motion.
    low = 2.0 * np.minimum(unit, 1.0 - unit)
    return np.sign(unit - 0.5) * (1.0 - np.sqrt(low))


def _inside(space: SampleSpace, poses: FloatArray) -> FloatArray:
    """Return the poses (K, 5) of a motion, each of which must lie in the box."""
    full = space.path.poses(poses[:, 0])
    full[:, OFFSET_COORDINATES] = poses[:, 1:]
    scaled, _ = space.scaled(full, np.zeros(len(full)))
    beyond = np.abs(scaled[:, :5]) > 1.0
    if beyond.any():
        row, column = np.argwhere(beyond)[0]
        raise InputError(
            f"space.motion: expected poses in the box of [space], found pose {row + 1} of "
            f"{len(poses)} with {VARIABLES[column]} at {abs(scaled[row, column]):.3g} times the "
            "half width from the path; widen the box, or move the path"
        )
    return poses
