"""What a compartment that learns heights predicts at given axial loads, with standard errors.

The error of the height at a given load becomes an error of the loads at a given height by the
change of the loads with the height (error propagation of first order). Where a femur is expected to
be lifted by less than the error of the height of first contact, the errors are the loads of the
remaining depth; where the femur is lifted farther, zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array
from surrogates.families.regressor import Regressor
from surrogates.sampling.condyle_coordinates import CondyleCoordinates
from surrogates.sampling.space import SampleSpace


class Level(NamedTuple):
    """Predictions at N axial loads (N,) [N]."""

    axial: FloatArray
    #: Poses held in the box, at height 0 (N, 6) [rad, m].
    held: FloatArray
    #: Inputs of the regressors (N, 6) [1].
    inputs: FloatArray
    #: (F / F_max)^(1/p) (N,) [1].
    root: FloatArray
    #: What the regressors predict (N, 12) [SI].
    outputs: FloatArray
    #: Heights over the reference path (N,) [m].
    height: FloatArray
    #: From the tibial origin to the point of the moments (N, 3) [m].
    lever: FloatArray


@dataclass(frozen=True, eq=False)
class LoadLevels:
    """Heights and loads of a compartment over five coordinates of the pose and the axial load."""

    #: Box of the samples; a pose outside the box is held at the border.
    space: SampleSpace
    #: Inputs of the regressors beside the load.
    coordinates: CondyleCoordinates
    #: F_max [N].
    largest: float
    #: p [1].
    degree: float
    #: Regressors that share the outputs, the height first.
    regressors: tuple[Regressor, ...]

    def inputs(self, poses: ArrayLike, load: ArrayLike) -> FloatArray:
        """Return the regressors' inputs (N, 6) [1]; arguments and exceptions as of `at`."""
        return self._inputs(poses, load)[2]

    def at(self, poses: ArrayLike, load: ArrayLike) -> Level:
        """Return all outputs at poses (N, 6) [rad, m], whose height is not read, and loads (N,)."""
        axial, held, inputs, offset, points = self._inputs(poses, load)
        outputs = np.column_stack([regressor.predict(inputs) for regressor in self.regressors])
        # Without a height, `offset` is that of the condyle's point over its path.
        height = outputs[:, 0] - offset
        points[:, 1] += height
        root = 0.5 * (inputs[:, 5] + 1.0)
        lever = self.coordinates.lever(points)
        return Level(axial, held, inputs, root, outputs, height, lever)

    def _inputs(
        self, poses: ArrayLike, load: ArrayLike
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return loads, held poses, inputs, heights over the path at height 0, and points."""
        held = self.space.held(poses)
        axial = check_array("load", load, (len(held),))
        held[:, 4] = 0.0
        u, offset, points = self.coordinates.variables(held)
        root = (axial / self.largest) ** (1.0 / self.degree)
        return axial, held, np.column_stack([u, 2.0 * root - 1.0]), offset, points

    def poses(self, level: Level, poses: ArrayLike) -> FloatArray:
        """Return poses (N, 6) [rad, m] with the heights of a level instead of their own."""
        placed = check_array("poses", poses, (None, 6))
        along, held = self.space.along_path, level.held
        placed[:, 4] = level.height + along(placed[:, 0])[:, 4] - along(held[:, 0])[:, 4]
        return placed

    def loads(self, level: Level) -> FloatArray:
        """Return the loads (N, 12) [SI] of a level."""
        axial, outputs, lever = level.axial, level.outputs, level.lever
        loads = np.empty((len(axial), 12))
        loads[:, 1] = axial
        loads[:, [0, 2]] = outputs[:, 1:3] * axial[:, None]
        loads[:, 3:6] = outputs[:, 3:6] * axial[:, None] + np.cross(lever, loads[:, :3])
        loads[:, 6] = outputs[:, 6] * level.root
        loads[:, 7:9] = outputs[:, 7:9] * level.root[:, None] ** (self.degree - 1.0)
        loads[:, 9:] = outputs[:, 9:] + lever
        return loads

    def poses_and_loads(self, poses: ArrayLike, load: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the poses (N, 6) [rad, m] at axial loads (N,) [N], and all loads (N, 12) [SI]."""
        level = self.at(poses, load)
        return self.poses(level, poses), self.loads(level)

    def errors(self, level: Level) -> tuple[FloatArray, FloatArray]:
        """Return the standard errors of heights (N,) [m] and, at exact heights, loads (N, 12)."""
        axial, root, lever = level.axial, level.root[:, None], level.lever
        error = np.column_stack([r.standard_error(level.inputs) for r in self.regressors])
        loads = np.zeros((len(axial), 12))
        loads[:, [0, 2]] = error[:, 1:3] * axial[:, None]
        # M = M about the point + lever x F, where F_y is exact.
        across = np.cross(lever, np.eye(3)[[0]]), np.cross(lever, np.eye(3)[[2]])
        moments = (error[:, 3:6] * axial[:, None]) ** 2
        moments += (across[0] * loads[:, [0]]) ** 2 + (across[1] * loads[:, [2]]) ** 2
        loads[:, 3:6] = np.sqrt(moments)
        loads[:, 6:7] = error[:, 6:7] * root
        loads[:, 7:9] = error[:, 7:9] * root ** (self.degree - 1.0)
        loads[:, 9:] = error[:, 9:]
        return error[:, 0], loads

    def by_lever(self, loads: FloatArray) -> FloatArray:
        """Return how loads (N, 12) [SI] change as the condyle's point rises, (N, 12) [SI/m]."""
        change = np.zeros(loads.shape)
        if self.coordinates.about_point:
            change[:, 3], change[:, 5], change[:, 10] = loads[:, 2], -loads[:, 0], 1.0
        return change


#: Fraction of the largest load at which the depth below first contact is measured, and the least
#: fall of the height there [m].
_SMALL_LOAD, _LEAST_FALL = 1e-3, 1e-9


def errors_at_load(
    levels: LoadLevels, poses: ArrayLike, load: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return the standard errors at axial loads (N,) [N]: of heights (N,) [m] and loads (N, 12)."""
    level = levels.at(poses, load)
    height, errors = levels.errors(level)
    by_height = levels.by_lever(levels.loads(level)) * height[:, None]
    return height, np.hypot(errors, by_height)


def errors_at_pose(
    levels: LoadLevels, points: FloatArray, loads: FloatArray, jacobian: FloatArray
) -> FloatArray:
    """Return the standard errors (N, 12) [SI] of the loads at poses (N, 6) [rad, m].

    `loads` (N, 12) and `jacobian` (N, 6, 6) [SI] are what the surrogate predicts there.
    """
    errors = np.zeros(loads.shape)
    touching = loads[:, 1] > 0.0
    if touching.any():
        chosen = points[touching], loads[touching], jacobian[touching]
        errors[touching] = _errors_in_contact(levels, *chosen)
    if not touching.all():
        apart = np.flatnonzero(~touching)
        inputs = levels.inputs(points[apart], np.zeros(len(apart)))
        # A forged file can have scales that no number of its variables survives.
        known = np.isfinite(inputs).all(axis=1)
        errors[apart[~known]] = np.nan
        if known.any():
            errors[apart[known]] = _errors_out_of_contact(levels, points[apart[known]])
    return errors


def _errors_in_contact(
    levels: LoadLevels, points: FloatArray, loads: FloatArray, jacobian: FloatArray
) -> FloatArray:
    axial = np.minimum(loads[:, 1], levels.largest)
    height, beside = levels.errors(levels.at(points, axial))
    by_height = np.empty((len(points), 12))
    by_height[:, :6] = jacobian[:, :, 4]
    # Smaller steps drown in the rounding of sums of large Kriging weights.
    step = 1e-3 * axial
    more, less = (levels.poses_and_loads(points, axial + by)[1] for by in (step, -step))
    by_height[:, 6:] = (more - less)[:, 6:] / (2.0 * step)[:, None] * by_height[:, 1:2]
    # The pose alone determines the point, whatever the error of the learnt height.
    by_height -= levels.by_lever(loads)
    return np.hypot(beside, by_height * height[:, None])


def _errors_out_of_contact(levels: LoadLevels, points: FloatArray) -> FloatArray:
    """Return the loads of the depth by which the height of first contact may be too low."""
    none = np.zeros(len(points))
    touch, small = none, np.full(len(points), _SMALL_LOAD * levels.largest)
    heights = [levels.poses_and_loads(points, load)[0][:, 4] for load in (touch, small)]
    error, _ = levels.errors(levels.at(points, touch))
    depth = np.maximum(error - (points[:, 4] - heights[0]), 0.0)
    fall = np.maximum(heights[0] - heights[1], _LEAST_FALL)
    # The depth grows with the root of the load.
    share = np.minimum(_SMALL_LOAD * (depth / fall) ** levels.degree, 1.0)
    known = np.isfinite(share)
    errors = np.full((len(points), 12), np.nan)
    if known.any():
        loads = levels.poses_and_loads(points[known], share[known] * levels.largest)[1]
        errors[known] = np.abs(loads)
        errors[known, 9:] = 0.0
    return errors
