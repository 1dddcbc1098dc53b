"""Expressions of the pose: hold the pose in the box, locate the condyle."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.core.library import FARTHEST, FOLLOWED
from surrogates.expressions.data import BoxData, CondyleData, PathData, PointData
from surrogates.expressions.functions import Expression, Functions, clip
from surrogates.expressions.learners import legendre_values

#: Columns of a path's coordinates that are variables; the other one is the height.
_VARIABLES, _HEIGHT = (0, 1, 2, 4), 3
#: A jump of a path's value, slope or curvature below this share of the coefficients is rounding.
_ROUNDING = 1e-12


class Place(NamedTuple):
    """Where a pose is.

    Attributes
    ----------
    x : (5,)
        Scaled variables of the box, not held [1].
    held : (6,)
        Nearest pose of the box [rad, m].
    """

    x: Expression
    held: Expression


class Condyle(NamedTuple):
    """A condyle at a pose.

    Attributes
    ----------
    u : (5 + P,)
        Scaled variables, and scaled parameters of the design [1].
    height : ()
        Height over the path [m].
    point : (3,)
        Point of the condyle [m].
    """

    u: Expression
    height: Expression
    point: Expression


def along_path(
    f: Functions, path: PathData, flexion: Expression, z: Expression | None
) -> Expression:
    """Return the coordinates (m,) of a path at a flexion and scaled parameters z (P,) or None."""
    return of_design(f, path.exponents, _along_all(f, path, flexion), z)


def of_design(
    f: Functions, exponents: NDArray[np.int64], rows: Expression, z: Expression | None
) -> Expression:
    """Return the sum (m,) of rows (T m,) [any unit] times products at scaled parameters z (P,).

    The products are of Legendre polynomials of degrees `exponents` (T, P). Without z there is one
    row, which is returned.
    """
    if z is None:
        return rows
    products = f.products(legendre_values(z, int(exponents.max())), exponents)
    return f.combined(products, rows)


def centre_of(f: Functions, point: PointData, z: Expression | None) -> Expression:
    """Return the three coordinates [m] of a point at scaled parameters z (P,) or None."""
    if z is None:
        return point.points[0].tolist()
    return of_design(f, point.exponents, f.constant(point.points.ravel()), z)


def _along_all(f: Functions, path: PathData, flexion: Expression) -> Expression:
    """Return the coordinates (T m,) of all paths at a flexion.

    The first piece plus, beyond each further knot, the change of the cubic there: for a path with
    two continuous derivatives, its third power alone.
    """
    found = _cubic(f, path.pieces[:, 0], flexion - float(path.breaks[0]))
    jumps = path_jumps(path)
    if not jumps.size:
        return found
    t = flexion - f.constant(path.breaks[1:-1])
    beyond = f.where(t >= 0.0, t, 0.0)
    powers = [beyond * beyond * beyond, beyond * beyond, beyond, f.where(t >= 0.0, 1.0, 0.0)]
    for jump, power in zip(jumps, powers, strict=True):
        if jump.any():
            found = found + f.matmul(jump.T, power)
    return found


def path_jumps(path: PathData) -> FloatArray:
    """Return by how much the cubic's coefficients (4, K - 2, m) [rad, m] change at inner knots."""
    steps = np.diff(path.breaks)[:-1]
    a, b, c, d = path.pieces[:, :-1]
    h = steps[:, None]
    moved = [a, 3 * a * h + b, (3 * a * h + 2 * b) * h + c, ((a * h + b) * h + c) * h + d]
    jumps = path.pieces[:, 1:] - np.array(moved)
    sizes = np.abs(path.pieces).max(axis=(1, 2), keepdims=True)
    return np.where(np.abs(jumps) <= _ROUNDING * sizes, 0.0, jumps)


def _cubic(f: Functions, coefficients: FloatArray, t: Expression) -> Expression:
    found = f.constant(coefficients[0])
    for row in coefficients[1:]:
        found = found * t
        if row.any():
            found = found + f.constant(row)
    return found


def hold(f: Functions, box: BoxData, pose: Expression, width: float, z: Expression | None) -> Place:
    """Return the scaled variables of a pose (6,) [rad, m], and the pose held in the box.

    The height over the path is kept, up to `FARTHEST`; the path is followed up to `FOLLOWED`. `z`
    (P,) are the scaled parameters of a design or None.
    """
    first, wide = (pose[0] - float(box.centre[0])) / float(box.half[0]), float(box.half[0])
    followed = pose[0] - wide * (first - clip(f, first, FOLLOWED, width))
    path = along_path(f, box.path, followed, z)
    offsets = [pose[k + 1] - path[k] for k in range(5)]
    raw = f.join([pose[0], *(offsets[k] for k in _VARIABLES)])
    offsets[_HEIGHT] = clip(f, offsets[_HEIGHT], FARTHEST, FARTHEST * width)
    centre, half = f.constant(box.centre[:5]), f.constant(box.half[:5])
    x = (raw - centre) / half
    inner = centre + half * clip(f, x, 1.0, width)
    at = along_path(f, box.path, inner[0], z)
    order = [1, 2, 3, None, 4]
    held = [at[k] + (offsets[k] if row is None else inner[row]) for k, row in enumerate(order)]
    return Place(x, f.join([inner[0], *held]))


def condyle_of(
    f: Functions, condyle: CondyleData, held: Expression, z: Expression | None
) -> Condyle:
    """Return a condyle at a pose (6,) [rad, m] and scaled parameters z (P,) or None."""
    point = point_of(f, centre_of(f, condyle.centre, z), held)
    path = along_path(f, condyle.path, held[0], z)
    raw = f.join([
        held[0], held[1] - path[0], held[2] - path[1], point[0] - path[2], point[2] - path[4],
    ])  # fmt: skip
    u = (raw - f.constant(condyle.middle)) / f.constant(condyle.half)
    inputs = u if z is None else f.join([u, z])
    return Condyle(inputs, point[1] - path[_HEIGHT], point)


def point_of(f: Functions, centre: Expression, pose: Expression) -> Expression:
    """Return the place (3,) [m] of a femoral point (3,) [m] at a pose (6,) [rad, m]."""
    c0, c1, c2 = (centre[k] for k in range(3))
    cf, sf, ca, sa = f.cos(pose[0]), f.sin(pose[0]), f.cos(pose[1]), f.sin(pose[1])
    cr, sr = f.cos(pose[2]), f.sin(pose[2])
    x, flexed = cf * c0 - sf * c1, sf * c0 + cf * c1
    y, z = ca * flexed + sa * c2, ca * c2 - sa * flexed
    return f.join([pose[3] + cr * x - sr * z, pose[4] + y, pose[5] + sr * x + cr * z])


def rise_of(f: Functions, centre: Expression, pose: Expression, rate: Expression) -> Expression:
    """Return the rate [m/s] of the superior coordinate of a femoral point (3,) [m].

    At a pose (6,) [rad, m] that changes with a rate (6,) [rad/s, m/s].
    """
    c0, c1, c2 = (centre[k] for k in range(3))
    cf, sf, ca, sa = f.cos(pose[0]), f.sin(pose[0]), f.cos(pose[1]), f.sin(pose[1])
    x, flexed = cf * c0 - sf * c1, sf * c0 + cf * c1
    return rate[4] + ca * x * rate[0] + (ca * c2 - sa * flexed) * rate[1]
