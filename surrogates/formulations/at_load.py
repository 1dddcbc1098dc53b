"""Loads and heights that a surrogate of formulation "inverted" predicts at given axial loads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array
from foundation.base.errors import InputError

if TYPE_CHECKING:
    from surrogates.formulations.compartment import CompartmentSurrogate


class Level(NamedTuple):
    """Predictions of an inverted surrogate at N axial loads.

    Attributes
    ----------
    axial : (N,) float64
        Axial loads [N].
    held : (N, 6) float64
        Poses held in the box, at height 0 [rad, m].
    inputs : (N, 6) float64
        Inputs of the regressors [1].
    root : (N,) float64
        (F / F_max)^(1/p) [1].
    outputs : (N, 12) float64
        What the regressors predict [SI].
    height : (N,) float64
        Heights over the reference path [m].
    lever : (N, 3) float64
        From the tibial origin to the point of the moments [m].
    """

    axial: FloatArray
    held: FloatArray
    inputs: FloatArray
    root: FloatArray
    outputs: FloatArray
    height: FloatArray
    lever: FloatArray


def level_at(part: CompartmentSurrogate, poses: ArrayLike, load: ArrayLike) -> Level:
    """Predict all outputs at poses (N, 6) [rad, m], whose height is not read, and loads (N,) [N].

    Raises
    ------
    InputError
        If the formulation is not "inverted" or the arguments are malformed.
    """
    axial, held, inputs, offset, points = _inputs(part, poses, load)
    outputs = np.column_stack([own.predict(inputs) for own in part.regressors[1:]])
    # Without a height, `offset` is that of the condyle's point over its path.
    height = outputs[:, 0] - offset
    points[:, 1] += height
    root = 0.5 * (inputs[:, 5] + 1.0)
    lever = part.coordinates.lever(points)
    return Level(axial, held, inputs, root, outputs, height, lever)


def inputs_at(part: CompartmentSurrogate, poses: ArrayLike, load: ArrayLike) -> FloatArray:
    """Return the regressors' inputs (N, 6) [1]; arguments and exceptions as of `level_at`."""
    return _inputs(part, poses, load)[2]


def _inputs(
    part: CompartmentSurrogate, poses: ArrayLike, load: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return loads, held poses, inputs, heights over the path at height 0, and points."""
    if part.formulation != "inverted":
        raise InputError(
            f"formulation: expected 'inverted' to give heights at loads, found {part.formulation!r}"
        )
    held = part.space.held(poses)
    axial = check_array("load", load, (len(held),))
    held[:, 4] = 0.0
    u, offset, points = part.coordinates.variables(held)
    root = (axial / part.largest) ** (1.0 / part.degree)
    return axial, held, np.column_stack([u, 2.0 * root - 1.0]), offset, points


def poses_of(part: CompartmentSurrogate, level: Level, poses: ArrayLike) -> FloatArray:
    """Return poses (N, 6) [rad, m] with the heights of a level instead of their own."""
    found = check_array("poses", poses, (None, 6))
    path, held = part.space.path, level.held
    found[:, 4] = level.height + path.poses(found[:, 0])[:, 4] - path.poses(held[:, 0])[:, 4]
    return found


def loads_of(level: Level, degree: float) -> FloatArray:
    """Return the loads (N, 12) [SI] of a level, for a degree p [1]."""
    axial, outputs, lever = level.axial, level.outputs, level.lever
    loads = np.empty((len(axial), 12))
    loads[:, 1] = axial
    loads[:, [0, 2]] = outputs[:, 1:3] * axial[:, None]
    loads[:, 3:6] = outputs[:, 3:6] * axial[:, None] + np.cross(lever, loads[:, :3])
    loads[:, 6] = outputs[:, 6] * level.root
    loads[:, 7:9] = outputs[:, 7:9] * level.root[:, None] ** (degree - 1.0)
    loads[:, 9:] = outputs[:, 9:] + lever
    return loads
