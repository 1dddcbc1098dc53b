"""The box of a compartment's samples, the paths over flexion, and the condyle's variables.

Arguments `box` and `condyle` are those of `surrogates.compiled.compartments`.
"""

from __future__ import annotations

from foundation.base.compiling import inlined, pasted
from surrogates.compiled.coordinates import condyle_point
from surrogates.compiled.smoothing import clipped

#: Largest size of the scaled height where the height is an input.
REACH = 1.2
#: Largest size of the scaled flexion up to which the path of the box is followed.
FOLLOWED = 2.5
#: Largest distance of the height from the path of the box [m]; a femur in contact is much nearer.
FARTHEST = 0.05


@pasted
def piece_at(flexion, breaks):
    """Return the number of the piece of a path at a flexion."""
    piece = 0
    while piece < breaks.size - 2 and flexion >= breaks[piece + 1]:
        piece += 1
    return piece


@inlined
def path_at(flexion, breaks, pieces, values, slopes):
    """Fill values (5,) of a piecewise cubic path and its slopes (5,) at a flexion."""
    piece = piece_at(flexion, breaks)
    t = flexion - breaks[piece]
    for k in range(5):
        a, b, c = pieces[0, piece, k], pieces[1, piece, k], pieces[2, piece, k]
        values[k] = ((a * t + b) * t + c) * t + pieces[3, piece, k]
        slopes[k] = (3.0 * a * t + 2.0 * b) * t + c


@pasted
def path_bend(flexion, breaks, pieces, k):
    """Return the second derivative of coordinate k of a path by flexion."""
    piece = piece_at(flexion, breaks)
    return 6.0 * pieces[0, piece, k] * (flexion - breaks[piece]) + 2.0 * pieces[1, piece, k]


@pasted
def followed(flexion, x, centre, half, width):
    """Return where the path of the box is taken at a flexion of scaled x, and two derivatives."""
    if abs(x) <= FOLLOWED:
        return flexion, 1.0, 0.0
    inner, free, turning = clipped(x, FOLLOWED, width)
    return centre + half * inner, free, turning / half


@inlined
def hold(pose, box, width, x, held, turn, work):
    """Fill `held` (6,), the nearest pose of the box; return whether that is the pose itself.

    Fills x[:5], the scaled variables of the box, not held, and x[5] with -1, or -height/`FARTHEST`
    if that is beyond 1 in size. The height over the path is kept, up to `FARTHEST`; the path is
    followed up to `FOLLOWED`. Unless the pose is inside, `turn` (6, 6) is filled with the
    derivative of `held`. With a smoothing `width` the variables are held by `smoothing.clipped`.
    """
    breaks, pieces, centre, half = box
    value, slope = work[0:5], work[5:10]
    x[0] = (pose[0] - centre[0]) / half[0]
    flexion, follows, _ = followed(pose[0], x[0], centre[0], half[0], width)
    path_at(flexion, breaks, pieces, value, slope)
    lift = (pose[4] - value[3]) / FARTHEST
    near = abs(lift) <= 1.0
    x[5] = -1.0 if near else -lift
    inside = near and abs(x[0]) <= 1.0
    row = 0
    for k in range(5):
        if k != 3:
            row += 1
            x[row] = (pose[k + 1] - value[k] - centre[row]) / half[row]
            inside = inside and abs(x[row]) <= 1.0
    for k in range(6):
        held[k] = pose[k]
    if inside:
        return True
    inner, free, _ = clipped(x[0], 1.0, width)
    held[0] = centre[0] + half[0] * inner
    turn[:, :] = 0.0
    turn[0, 0] = free
    at, along = work[10:15], work[15:20]
    path_at(held[0], breaks, pieces, at, along)
    row = 0
    for k in range(5):
        free = 1.0
        offset = pose[k + 1] - value[k]
        if k != 3:
            row += 1
            inner, free, _ = clipped(x[row], 1.0, width)
            offset = centre[row] + half[row] * inner
        elif abs(lift) > 1.0:  # not NaN
            offset, free, _ = clipped(offset, FARTHEST, width * FARTHEST)
        held[k + 1] = at[k] + offset
        turn[k + 1, 0] = along[k] * turn[0, 0] - slope[k] * follows * free
        turn[k + 1, k + 1] = free
    return False


@inlined
def condyle_variables(held, condyle, u, slopes, point, point_slopes, work):
    """Fill the scaled variables u[:5], their slopes (6, 6) and the condyle's point; return height.

    The last row of `slopes` is that of the height over the condyle's path.
    """
    centre, breaks, pieces, middle, half, _ = condyle
    condyle_point(held, centre, point, point_slopes)
    value, slope = work[0:5], work[5:10]
    path_at(held[0], breaks, pieces, value, slope)
    slopes[:, :] = 0.0
    u[0] = (held[0] - middle[0]) / half[0]
    slopes[0, 0] = 1.0 / half[0]
    for k in range(2):
        u[1 + k] = (held[1 + k] - value[k] - middle[1 + k]) / half[1 + k]
        slopes[1 + k, 0] = -slope[k] / half[1 + k]
        slopes[1 + k, 1 + k] = 1.0 / half[1 + k]
    for k in range(0, 3, 2):
        row = 3 if k == 0 else 4
        u[row] = (point[k] - value[2 + k] - middle[row]) / half[row]
        for j in range(6):
            slopes[row, j] = point_slopes[k, j] / half[row]
        slopes[row, 0] -= slope[2 + k] / half[row]
    for j in range(6):
        slopes[5, j] = point_slopes[1, j]
    slopes[5, 0] -= slope[3]
    return point[1] - value[3]
