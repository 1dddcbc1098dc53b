"""Tension-only ligament bundles: potential, generalised forces and their exact derivative.

docs/theory.md states the equations. With the direction u of a bundle, the axes w_k of the angles
and r = R a, the velocity of the femoral end for a unit rate of coordinate k is v_k = w_k x r for an
angle, and g_k = u . v_k. The term u . (w_i x (w_k x r)) of d²l/dq_i dq_k exists only where the
angle i moves the axis w_k.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.compiling import kernel, part, pasted

#: Codes of the laws in `LigamentArguments.kind`.
LINEAR, QUADRATIC, TOE = 0, 1, 2
#: Numbers in the scratch array of `add_ligaments` and `measure_ligaments`.
LIGAMENT_WORK = 39
# Offsets in the scratch array: R by rows; the axes w_k; v_k of the angles; r; g, ending with u; and
# an intermediate vector.
_FRAME, _AXES, _VELOCITIES, _ARM, _GRADIENT, _DIRECTION, _TURNED = 0, 9, 18, 27, 30, 33, 36


class LigamentArguments(NamedTuple):
    """Bundles as arguments of the kernels; every array has one row per bundle.

    `femoral` and `tibial`, (B, 3) [m]; `rest_length` (B,) [m]; `stiffness` (B,) [N/m, N/m² or N by
    kind]; `transition` (B,), strain at which the toe of the law ends; `kind` (B,) int64.
    """

    femoral: FloatArray
    tibial: FloatArray
    rest_length: FloatArray
    stiffness: FloatArray
    transition: FloatArray
    kind: NDArray[np.int64]


@kernel
def add_ligaments(
    pose: FloatArray,
    ligaments: LigamentArguments,
    wanted: bool,
    force: FloatArray,
    jacobian: FloatArray,
    work: FloatArray,
) -> float:
    """Add the generalised forces of the bundles and their derivative; return the energy [J].

    At a pose (6,) [rad, m], to a force (6,) [N m, N] conjugate to the coordinates and, if wanted,
    to d(force)/d(coordinates) (6, 6), symmetric; `work` (>= LIGAMENT_WORK,) is scratch memory.
    """
    _set_frame(pose, work)
    energy = 0.0
    for bundle in range(ligaments.rest_length.size):
        length = _set_line(pose, ligaments, bundle, work)
        stored, tension, slope = _law(ligaments, bundle, length)
        if tension == 0.0:
            continue
        energy += stored
        for k in range(3):
            _set_cross(_AXES + 3 * k, _ARM, _VELOCITIES + 3 * k, work)
            work[_GRADIENT + k] = _dot(_DIRECTION, _VELOCITIES + 3 * k, work)
        for k in range(6):
            force[k] -= tension * work[_GRADIENT + k]
        if wanted:
            _add_stiffness(tension, tension / length, slope, jacobian, work)
    return energy


@kernel
def measure_ligaments(
    pose: FloatArray,
    ligaments: LigamentArguments,
    lengths: FloatArray,
    tensions: FloatArray,
    work: FloatArray,
) -> None:
    """Write the length [m] and the tension [N] of every bundle, (B,) each."""
    _set_frame(pose, work)
    for bundle in range(ligaments.rest_length.size):
        lengths[bundle] = _set_line(pose, ligaments, bundle, work)
        tensions[bundle] = _law(ligaments, bundle, lengths[bundle])[1]


@part
def _law(ligaments: LigamentArguments, bundle: int, length: float) -> tuple[float, float, float]:
    """Return energy [J], tension [N] and d(tension)/d(length) [N/m]; zeros when slack."""
    rest, stiffness = ligaments.rest_length[bundle], ligaments.stiffness[bundle]
    stretch = length - rest
    # Written so that a length of NaN does not count as slack.
    if stretch <= 0.0:
        return 0.0, 0.0, 0.0
    if ligaments.kind[bundle] == LINEAR:
        return 0.5 * stiffness * stretch * stretch, stiffness * stretch, stiffness
    if ligaments.kind[bundle] == QUADRATIC:
        tension = stiffness * stretch * stretch
        return tension * stretch / 3.0, tension, 2.0 * stiffness * stretch
    strain, transition = stretch / rest, ligaments.transition[bundle]
    if strain < transition:
        tension = 0.5 * stiffness * strain * strain / transition
        return tension * stretch / 3.0, tension, stiffness * strain / (transition * rest)
    energy = transition * transition / 6.0 + 0.5 * strain * (strain - transition)
    return stiffness * rest * energy, stiffness * (strain - 0.5 * transition), stiffness / rest


@part
def _set_frame(pose: FloatArray, work: FloatArray) -> None:
    """Set R = Ry(-rotation) Rx(-adduction) Rz(flexion) and the axes of the angles, one a row."""
    cf, sf = math.cos(pose[0]), math.sin(pose[0])
    ca, sa = math.cos(pose[1]), math.sin(pose[1])
    cr, sr = math.cos(pose[2]), math.sin(pose[2])
    _set_row(_FRAME, cr * cf + sr * sa * sf, sr * sa * cf - cr * sf, -sr * ca, work)
    _set_row(_FRAME + 3, ca * sf, ca * cf, sa, work)
    _set_row(_FRAME + 6, sr * cf - cr * sa * sf, -sr * sf - cr * sa * cf, cr * ca, work)
    _set_row(_AXES, -sr * ca, sa, cr * ca, work)
    _set_row(_AXES + 3, -cr, 0.0, -sr, work)
    _set_row(_AXES + 6, 0.0, -1.0, 0.0, work)


@pasted
def _set_row(start: int, x: float, y: float, z: float, work: FloatArray) -> None:
    work[start], work[start + 1], work[start + 2] = x, y, z


@part
def _set_line(
    pose: FloatArray, ligaments: LigamentArguments, bundle: int, work: FloatArray
) -> float:
    """Set r and the direction u of a bundle; return its length (u is 0 at length 0)."""
    square = 0.0
    for i in range(3):
        arm = 0.0
        for j in range(3):
            arm += work[_FRAME + 3 * i + j] * ligaments.femoral[bundle, j]
        work[_ARM + i] = arm
        along = arm + pose[3 + i] - ligaments.tibial[bundle, i]
        work[_DIRECTION + i] = along
        square += along * along
    length = math.sqrt(square)
    if length != 0.0:
        for i in range(3):
            work[_DIRECTION + i] /= length
    return length


@pasted
def _set_cross(axis: int, vector: int, result: int, work: FloatArray) -> None:
    """Set work[result:] = work[axis:] x work[vector:]."""
    a, b, c = work[axis], work[axis + 1], work[axis + 2]
    x, y, z = work[vector], work[vector + 1], work[vector + 2]
    _set_row(result, b * z - c * y, c * x - a * z, a * y - b * x, work)


@pasted
def _dot(first: int, second: int, work: FloatArray) -> float:
    return (
        work[first] * work[second]
        + work[first + 1] * work[second + 1]
        + work[first + 2] * work[second + 2]
    )


@part
def _add_stiffness(
    tension: float, pull: float, slope: float, jacobian: FloatArray, work: FloatArray
) -> None:
    """Add a bundle's d(force)/d(coordinates); `pull` is its tension by its length [N/m]."""
    for i in range(6):
        for k in range(i + 1):
            both = work[_GRADIENT + i] * work[_GRADIENT + k]
            term = (slope - pull) * both
            if i < 3:
                # The axis k of an angle is carried by the angle i >= k.
                _set_cross(_AXES + 3 * i, _VELOCITIES + 3 * k, _TURNED, work)
                term += tension * _dot(_DIRECTION, _TURNED, work)
                term += pull * _dot(_VELOCITIES + 3 * i, _VELOCITIES + 3 * k, work)
            elif k < 3:
                term += pull * work[_VELOCITIES + 3 * k + i - 3]
            elif i == k:
                term += pull
            jacobian[i, k] -= term
            if i != k:
                jacobian[k, i] -= term
