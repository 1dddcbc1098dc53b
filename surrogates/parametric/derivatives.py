"""Exact derivatives of the loads of a compartment by the parameters of the design, at a pose.

The learnt height over load and design, h(u, z, s) = y, gives the root s at the height y of the
pose; u and y depend on the parameters z through the reference path and the condyle's coordinates.
With subscripts for derivatives,

    s_z = (y_z - h_u u_z - h_z) / h_s,

and the loads follow by the chain rule. Beyond the largest load, the change of the tangent on which
the height continues is left out, as in the derivative by the pose.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array
from foundation.base.errors import InputError
from foundation.base.pose import rotation_matrices
from surrogates.compiled.box import FARTHEST, REACH
from surrogates.compiled.compartments import LEAST_SLOPE, MOST_LOAD
from surrogates.families.numpy_evaluation import values_and_slopes
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.parametric.compartment import (
    FIRST,
    ParametricCompartment,
    ParametricPath,
    with_parameters,
)
from surrogates.sampling.space import HEIGHT, OFFSET_COORDINATES

#: Coordinates of a path that are variables of a condyle.
_ANGLES, _FORWARD, _LATERAL = slice(0, 2), 2, 4


class _Varied(NamedTuple):
    """Values (N, ...) and their derivatives (N, ..., P) by the scaled parameters [any unit]."""

    value: FloatArray
    slope: FloatArray


class _Condyle(NamedTuple):
    """Inputs u (N, 5) [1], height over the path (N,) and point (N, 3) [m] of a condyle."""

    u: _Varied
    height: _Varied
    point: _Varied


def loads_and_slopes(
    part: ParametricCompartment, poses: ArrayLike, z: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return loads (N, 12) [SI] and d(loads)/dz (N, 12, P) [SI] at poses (N, 6) of a design.

    The poses are in [rad, m]; z (P,) are the scaled parameters of the design [1]. Raises
    `InputError` if the poses are malformed, the regressors are Fourier series, or the surrogate is
    smoothed.
    """
    if part.smoothing > 0.0:
        raise InputError(
            "smoothing: expected a surrogate without smoothing for its slopes by the parameters, "
            f"found a width of {part.smoothing:g}; use casadi() or jax()"
        )
    points = check_array("poses", poses, (None, 6))
    own = part.at(z)
    loads = own.evaluate_batch(points)[0]
    slopes = np.zeros((len(points), 12, len(z)))
    moved = loads[:, 1] > 0.0 if own.learns_heights else np.full(len(points), True)
    if moved.any():
        condyle = _condyle(part, own, points[moved], z)
        change = _inverted if own.learns_heights else _direct
        slopes[moved] = change(part, condyle, loads[moved], z)
    return loads, slopes


def _along(path: ParametricPath, flexion: FloatArray, z: FloatArray) -> _Varied:
    """Return the coordinates (N, 5) of a path at flexions (N,) [rad]."""
    piece = np.clip(np.searchsorted(path.flexion, flexion, "right") - 1, 0, len(path.flexion) - 2)
    powers = (flexion - path.flexion[piece])[:, None] ** np.arange(3, -1, -1)  # (N, 4)
    value = np.einsum("np,pnk->nk", powers, path.pieces.at(z)[:, piece])
    slope = np.einsum("np,jpnk->nkj", powers, path.pieces.slopes(z)[:, :, piece])
    return _Varied(value, slope)


def _held(
    part: ParametricCompartment, own: CompartmentSurrogate, poses: FloatArray, z: FloatArray
) -> _Varied:
    """Return the nearest poses of the box (N, 6) [rad, m]: in the box, the poses themselves."""
    held = own.space.held(poses)
    here = _along(part.space.path, own.space.along_path(poses[:, 0])[:, 0], z)
    there = _along(part.space.path, held[:, 0], z)
    free = np.ones((len(poses), 5))
    columns = OFFSET_COORDINATES - 1
    offsets = poses[:, 1:] - here.value
    free[:, columns] = np.abs(offsets[:, columns]) <= own.space.offsets
    height = offsets[:, HEIGHT]
    free[:, HEIGHT] = np.abs(height) <= FARTHEST
    held[:, 1 + HEIGHT] += np.clip(height, -FARTHEST, FARTHEST) - height
    slope = np.zeros((*poses.shape, len(z)))
    slope[:, 1:] = there.slope - free[:, :, None] * here.slope
    return _Varied(held, slope)


def _condyle(
    part: ParametricCompartment, own: CompartmentSurrogate, poses: FloatArray, z: FloatArray
) -> _Condyle:
    """Return inputs, height and point of the condyle at poses (N, 6) [rad, m]."""
    held = _held(part, own, poses, z)
    u, height, points = own.coordinates.variables(held.value)
    arm = points - held.value[:, 3:]
    # R = Ry(-rotation) Rx(-adduction) Rz(flexion): turns about the y axis and the turned x axis.
    rotation = held.value[:, 2]
    about = np.column_stack([np.cos(rotation), np.zeros(len(rotation)), np.sin(rotation)])
    by_adduction = -np.cross(about, arm)
    by_rotation = -np.cross([0.0, 1.0, 0.0], arm)
    moved = held.slope[:, 3:] + rotation_matrices(held.value) @ part.coordinates.centre.slopes(z).T
    moved += by_adduction[:, :, None] * held.slope[:, None, 1]
    moved += by_rotation[:, :, None] * held.slope[:, None, 2]
    path = _along(part.coordinates.path, held.value[:, 0], z).slope
    slope = np.zeros((*u.shape, len(z)))
    slope[:, 1:3] = held.slope[:, 1:3] - path[:, _ANGLES]
    slope[:, 3] = moved[:, 0] - path[:, _FORWARD]
    slope[:, 4] = moved[:, 2] - path[:, _LATERAL]
    slope /= part.coordinates.half[:, None]
    return _Condyle(
        _Varied(u, slope), _Varied(height, moved[:, 1] - path[:, HEIGHT]), _Varied(points, moved)
    )


def _outputs(part: ParametricCompartment, inputs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the outputs (N, 12) of all regressors and their derivatives (N, 12, 6 + P)."""
    found = [values_and_slopes(each, inputs) for each in part.regressors if each.outputs]
    values, slopes = zip(*found, strict=True)
    return np.concatenate(values, axis=1), np.concatenate(slopes, axis=1)


def _inverted(
    part: ParametricCompartment, condyle: _Condyle, loads: FloatArray, z: FloatArray
) -> FloatArray:
    """Return d(loads)/dz (N, 12, P) where the height over the load is learnt."""
    degree, largest = part.degree, part.largest
    root = (loads[:, 1] / largest) ** (1.0 / degree)
    last = np.minimum(2.0 * root - 1.0, 1.0)
    u = condyle.u
    inputs = with_parameters(np.column_stack([u.value, last]), z)
    out, slopes = _outputs(part, inputs)
    fixed = np.einsum("nki,nij->nkj", slopes[:, :, :FIRST], u.slope) + slopes[:, :, FIRST:-1]
    # Where the learnt height does not fall, the chord from first contact, as in the kernels.
    inputs[:, -1] = -1.0
    rise = out[:, 0] - _outputs(part, inputs)[0][:, 0]
    chord = rise / np.maximum(last + 1.0, np.finfo(float).tiny)
    fall = np.where(slopes[:, 0, -1] < 0.0, slopes[:, 0, -1], np.minimum(chord, LEAST_SLOPE))
    by_root = 0.5 * (condyle.height.slope - fixed[:, 0]) / fall[:, None]
    by_root[loads[:, 1] >= (1.0 - 1e-12) * MOST_LOAD * largest] = 0.0
    inside = (root <= 1.0)[:, None, None]
    change = fixed + np.where(inside, slopes[:, :, -1:] * 2.0 * by_root[:, None], 0.0)
    found = np.empty((len(loads), 12, len(z)))
    steep = largest * degree * root ** (degree - 1.0)
    found[:, 1] = steep[:, None] * by_root
    for row, ratio in ((0, 1), (2, 2), (3, 3), (4, 4), (5, 5)):
        found[:, row] = out[:, ratio, None] * found[:, 1] + loads[:, 1:2] * change[:, ratio]
    if part.coordinates.about_point:
        point = condyle.point
        found[:, 3:6] += np.cross(point.slope, loads[:, :3, None], axis=1)
        found[:, 3:6] += np.cross(point.value[:, :, None], found[:, :3], axis=1)
    found[:, 6] = change[:, 6] * root[:, None] + out[:, 6, None] * by_root
    stress = root ** (degree - 1.0)
    by_stress = (degree - 1.0) * root ** (degree - 2.0)
    for row in (7, 8):
        found[:, row] = change[:, row] * stress[:, None]
        found[:, row] += out[:, row, None] * by_stress[:, None] * by_root
    return _with_centres(part, condyle, found, change)


def _direct(
    part: ParametricCompartment, condyle: _Condyle, loads: FloatArray, z: FloatArray
) -> FloatArray:
    """Return d(loads)/dz (N, 12, P) where the loads over the height are learnt."""
    del loads
    u, height = condyle.u, condyle.height
    last = (height.value - part.depth[0]) / part.depth[1]
    inputs = np.column_stack([u.value, np.clip(last, -REACH, REACH)])
    _, slopes = _outputs(part, with_parameters(inputs, z))
    change = np.einsum("nki,nij->nkj", slopes[:, :, :FIRST], u.slope) + slopes[:, :, FIRST:-1]
    along = (np.abs(last) <= REACH)[:, None] * height.slope / part.depth[1]
    change += slopes[:, :, -1:] * along[:, None]
    return _with_centres(part, condyle, change.copy(), change)


def _with_centres(
    part: ParametricCompartment, condyle: _Condyle, found: FloatArray, change: FloatArray
) -> FloatArray:
    """Return slopes (N, 12, P) with those of the centre of pressure, from slopes of the outputs."""
    lever = condyle.point.slope if part.coordinates.about_point else 0.0
    found[:, 9:] = change[:, 9:] + lever
    return found
