"""Expressions of the pose: hold the pose in the box, locate the condyle.

Paths and compartments are structs of the library, whose fields `surrogates/core/knee.h` describes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from foundation.core.library import FARTHEST, FOLLOWED, Struct
from surrogates.expressions.functions import Expression, clip
from surrogates.expressions.learners import Functions

#: A jump of a path's value, slope or curvature below this share of the coefficients is rounding.
_ROUNDING = 1e-12


def along_path(f: Functions, path: Struct, flexion: Expression) -> Expression:
    """Return the five coordinates [rad, m] of a path at a flexion.

    The first piece plus, beyond each further knot, the change of the cubic there: for a path with
    two continuous derivatives, its third power alone.
    """
    breaks, pieces = path.fields["flexion"], path.fields["pieces"]  # (4, K - 1, 5)
    t = flexion - float(breaks[0])
    rows = f.constant(pieces[0, 0])
    for row in pieces[1:, 0]:
        rows = rows * t + f.constant(row)
    t = flexion - f.constant(breaks[1:-1])
    beyond = f.where(t >= 0.0, t, 0.0)
    powers = [beyond * beyond * beyond, beyond * beyond, beyond, f.where(t >= 0.0, 1.0, 0.0)]
    a, b, c, d = pieces[:, :-1]
    h = np.diff(breaks)[:-1, None]
    moved = [a, 3 * a * h + b, (3 * a * h + 2 * b) * h + c, ((a * h + b) * h + c) * h + d]
    jumps = pieces[:, 1:] - np.array(moved)
    jumps[np.abs(jumps) <= _ROUNDING * np.abs(pieces).max(axis=(1, 2), keepdims=True)] = 0.0
    for jump, power in zip(jumps, powers, strict=True):
        if jump.any():
            rows = rows + f.matmul(jump.T, power)
    return rows


def hold(
    f: Functions, fields: Mapping[str, Any], pose: Expression
) -> tuple[Expression, Expression]:
    """Return scaled variables (5,) [1] of a pose (6,), not held, and the pose held in the box.

    The height over the path is kept, up to `FARTHEST`; the path is followed up to `FOLLOWED`.
    """
    width, middle, half = fields["smoothing"], fields["box_middle"], fields["box_half"]
    first = (pose[0] - float(middle[0])) / float(half[0])
    followed = pose[0] - float(half[0]) * (first - clip(f, first, FOLLOWED, width))
    path = along_path(f, fields["box"], followed)
    offsets = [pose[k + 1] - path[k] for k in range(5)]
    height = clip(f, offsets.pop(3), FARTHEST, FARTHEST * width)
    centre, size = f.constant(middle[:5]), f.constant(half[:5])
    x = (f.join([pose[0], *offsets]) - centre) / size
    inner = centre + size * clip(f, x, 1.0, width)
    on_path = along_path(f, fields["box"], inner[0])
    moves = [inner[1], inner[2], inner[3], height, inner[4]]
    return x, f.join([inner[0], *(on_path[k] + move for k, move in enumerate(moves))])


def condyle_of(
    f: Functions, fields: Mapping[str, Any], held: Expression
) -> tuple[Expression, Expression, Expression]:
    """Return scaled variables u (5,) [1], height over the path [m] and point (3,) [m] of a condyle.

    At a pose (6,) [rad, m] in the box.
    """
    x, y, side = turned(f, held, fields["centre"].tolist())
    point = [held[3] + x, held[4] + y, held[5] + side]
    path = along_path(f, fields["condyle"], held[0])
    raw = f.join([
        held[0], held[1] - path[0], held[2] - path[1], point[0] - path[2], point[2] - path[4],
    ])  # fmt: skip
    u = (raw - f.constant(fields["middle"])) / f.constant(fields["half"])
    return u, point[1] - path[3], f.join(point)


def turned(f: Any, pose: Expression, arm: Any) -> list[Expression]:
    """Return a femoral vector (3,) [any unit] in the tibial frame, at a pose [rad, m].

    Flexion turns the vector in the femur's own plane, then adduction, then rotation.
    """
    cf, sf, ca, sa = f.cos(pose[0]), f.sin(pose[0]), f.cos(pose[1]), f.sin(pose[1])
    cr, sr = f.cos(pose[2]), f.sin(pose[2])
    x, flexed = cf * arm[0] - sf * arm[1], sf * arm[0] + cf * arm[1]
    y, z = ca * flexed + sa * arm[2], ca * arm[2] - sa * flexed
    return [cr * x - sr * z, y, sr * x + cr * z]


def angle_axes(f: Any, pose: Expression) -> list[list[Expression]]:
    """Return the axes of flexion, adduction and rotation in the tibial frame, three numbers each.

    Of `foundation.base.pose.rotation_axes`, at a pose of six numbers [rad, m].
    """
    ca, sa = f.cos(pose[1]), f.sin(pose[1])
    cr, sr = f.cos(pose[2]), f.sin(pose[2])
    return [[-sr * ca, sa, cr * ca], [-cr, 0.0 * cr, -sr], [0.0 * cr, -1.0 + 0.0 * cr, 0.0 * cr]]
