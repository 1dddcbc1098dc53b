"""Signed distances and depths of the condyles of the built-in implant, in closed form.

The distance is that to the spine, the J-curve offset inwards by the coronal radius, minus this
radius; beyond its edges a condyle continues around the coronal circle and the ends.
"""

import numpy as np

from foundation.implant.condyle import sagittal_normal

_STEPS, _TOLERANCE = 60, 1e-14  # [m], below the rounding of any coordinate of a knee
_TANGENT = 0.02  # slope of a ray within about one degree of the surface


def femur_distance(implant, points):
    """Return the signed distance (N,) [m] of points (N, 3) of the femoral frame, < 0 inside."""
    sides = []
    for condyle, sign in ((implant.medial, -1.0), (implant.lateral, 1.0)):
        local = points * (1.0, 1.0, sign) - np.array([0.0, 0.0, 0.5 * implant.spacing])
        sides.append(locate(condyle, local)[0])
    return np.minimum(*sides)


def locate(condyle, points):
    """Return distance (N,), gradient (N, 3) and angles u, v (N,) of points (x, y, across) [m]."""
    nearest = np.full(len(points), np.inf)
    foot, angle = np.zeros((len(points), 2)), np.zeros(len(points))
    for arc, centre in enumerate(condyle.centres):
        first, last = condyle.limits[arc : arc + 2]
        away, middle = points[:, :2] - centre, 0.5 * (first + last)
        # Within half a turn of the arc's middle, so that clipping finds the nearer end.
        u = np.arctan2(away[:, 0], -away[:, 1])
        u = middle + np.remainder(u - middle + np.pi, 2.0 * np.pi) - np.pi
        u = np.clip(u, first, last)
        candidate = centre + (condyle.radii[arc] - condyle.coronal_radius) * sagittal_normal(u)
        squared = ((points[:, :2] - candidate) ** 2).sum(axis=1)
        closer = squared < nearest
        nearest, angle = np.where(closer, squared, nearest), np.where(closer, u, angle)
        foot = np.where(closer[:, None], candidate, foot)
    from_spine = points.copy()
    from_spine[:, :2] -= foot
    length = np.linalg.norm(from_spine, axis=1)
    gradient = from_spine / np.where(length > 0.0, length, 1.0)[:, None]
    outward = (from_spine[:, :2] * sagittal_normal(angle)).sum(axis=1)
    return length - condyle.coronal_radius, gradient, angle, np.arctan2(points[:, 2], outward)


def depth(condyle, points, directions, reach):
    """Return depths (N,) [m] of points (N, 3) along directions, 0 if outside or too deep."""
    travelled, found = np.zeros(len(points)), np.zeros(len(points))
    inside = active = np.flatnonzero(locate(condyle, points)[0] < 0.0)
    for _ in range(_STEPS):
        at = points[active] + travelled[active, None] * directions[active]
        distance, gradient, _, _ = locate(condyle, at)
        slope = (gradient * directions[active]).sum(axis=1)
        # Inside, |distance| is the longest step that cannot pass the surface; Newton's step
        # applies where the ray already runs outwards.
        newton = -distance / np.maximum(slope, _TANGENT)
        step = np.where(slope > _TANGENT, np.minimum(newton, reach), -distance)
        travelled[active] += step
        active = active[np.abs(step) > _TOLERANCE]
    assert len(active) == 0, f"{len(active)} rays are tangent to the condyle"
    _, _, u, v = locate(condyle, points[inside] + travelled[inside, None] * directions[inside])
    own = (u > condyle.limits[0]) & (u < condyle.limits[-1]) & (np.abs(v) <= condyle.half_angle)
    own &= travelled[inside] <= reach
    found[inside[own]] = travelled[inside[own]]
    return found
