"""Sliding velocity of the femur over the tibial surface."""

from __future__ import annotations

import numpy as np

from foundation.base.checks import FloatArray


def femoral_twists(poses: FloatArray, rates: FloatArray) -> FloatArray:
    """Return twists (N, 6) [m/s, rad/s] of the femur, `twist_jacobian(pose) @ rates`."""
    adduction, rotation, position = poses[:, 1], poses[:, 2], poses[:, 3:]
    ca, sa, cr, sr = np.cos(adduction), np.sin(adduction), np.cos(rotation), np.sin(rotation)
    # The axes of the angles as in `foundation.base.pose.rotation_axes`.
    flexed, adducted, rotated = rates[:, :3].T
    angular = np.stack(
        [
            -sr * ca * flexed - cr * adducted,
            sa * flexed - rotated,
            cr * ca * flexed - sr * adducted,
        ],
        axis=1,
    )
    return np.concatenate([rates[:, 3:] - np.cross(angular, position), angular], axis=1)


def sliding_speed(twists: FloatArray, points: FloatArray, normals: FloatArray) -> FloatArray:
    """Return the speed [m/s] along a surface at (..., 3), |v - (v.n) n| with v = u + w x x."""
    # Of twists (u; w) (..., 6), points x (..., 3) [m] and unit normals n (..., 3); axes broadcast.
    velocity = twists[..., :3] + np.cross(twists[..., 3:], points)
    # |v x n| is the tangential part without the cancellation of |v|² - (v.n)².
    return np.linalg.norm(np.cross(velocity, normals), axis=-1)
