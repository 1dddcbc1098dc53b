"""Area, edge and peak pressure of a contact patch on a grid of nodes.

The squared pressure rises linearly from the edge of a smooth contact (Hertz 1882, J reine angew
Math 92:156-171): the square is extrapolated over the edge, and fitted at the peak.
"""

from __future__ import annotations

import numpy as np

from foundation.base.compiling import fused_kernel, fused_part

#: Least part of the largest squared pressure by which a node outside lies below the edge.
BELOW = 1e-9


@fused_kernel
def measure_patch(
    neighbours, quads, quads_at, points, active, squares, mean_part, bent, level, weight, ring
):  # fmt: skip
    """Return contact area [m²], length of the edge [m], peak pressure [Pa] and sharpness [1].

    The sharpness of the peak and ``mean_part`` are as of `fitted_peak`, ``bent`` as of
    `extrapolate`.

    ``neighbours`` (C, 2, 2) of each node along and against both grid lines, ``quads_at`` (C, 4)
    around each node, -1 for none; ``squares`` (A,) are the squared pressures of the nodes
    ``active`` (A,) [Pa²]. ``level`` and ``weight`` (C,) are zero before and after the call;
    ``ring`` (4 C,) is scratch memory.
    """
    highest, top = 0.0, np.int64(0)
    for i in range(len(active)):
        if squares[i] > highest:
            highest, top = squares[i], active[i]
    floor = -BELOW * highest
    for i in range(len(active)):
        level[active[i]] = max(squares[i], -floor)
    count = extrapolate(neighbours, active, floor, bent, level, weight, ring)
    area = edge = 0.0
    for i in range(len(active)):
        node = active[i]
        for k in range(4):
            quad = quads_at[node, k]
            # The first corner inside stands for the quadrilateral.
            if quad >= 0 and first_inside(quads, quad, level) == node:
                part, length = cut_quad(quads, quad, points, level)
                area += part
                edge += length
    peak, sharpness = fitted_peak(neighbours, top, level, mean_part)
    for i in range(len(active)):
        level[active[i]] = 0.0
    for i in range(count):
        level[ring[i]] = 0.0
    return area, edge, peak, sharpness


@fused_part
def extrapolate(neighbours, active, floor, bent, level, weight, ring):
    """Write the mean of extrapolations to the nodes next to the patch; return their number.

    Each is listed in ``ring``. The extrapolation is the straight line through two nodes, or if
    ``bent`` that to the root of the parabola through three: the squared pressure of a layer that is
    thin beside a spacing rises slowly from the edge.
    """
    count = 0
    for i in range(len(active)):
        for axis in range(2):
            for side in range(2):
                outer = neighbours[active[i], axis, side]
                if outer < 0 or level[outer] > 0.0:
                    continue
                if weight[outer] == 0.0:
                    ring[count] = outer
                    count += 1
                weight[outer] += 1.0
    # Levels are written when all are listed, since a level tells who is inside.
    for i in range(count):
        outer = ring[i]
        total = 0.0
        for axis in range(2):
            for side in range(2):
                node = neighbours[outer, axis, side]
                if node < 0 or level[node] <= 0.0:
                    continue
                inner = neighbours[node, axis, side]
                own = level[node]
                # Without a second node inside, the edge lies half way to the node outside.
                before = level[inner] if inner >= 0 and level[inner] > 0.0 else 3.0 * own
                drop = before - own
                if bent and inner >= 0 and level[inner] > 0.0:
                    third = neighbours[inner, axis, side]
                    if third >= 0 and level[third] > 0.0:
                        drop = bent_drop(own, before, level[third])
                total += min(own - drop, floor)
        level[outer] = total / weight[outer]
        weight[outer] = 0.0
    return count


@fused_part
def bent_drop(own, before, third):
    """Return the drop per spacing of the line from a node to the root of a parabola beyond.

    Through the values at three nodes, the last before the root; the parabola rises from its root.
    """
    bend = 0.5 * (third - 2.0 * before + own)
    slope = before - own - bend
    half = 0.5 * (slope + np.sqrt(max(slope * slope - 4.0 * bend * own, 0.0)))
    return max(half, 0.0)


@fused_part
def first_inside(quads, quad, level):
    """Return the first corner of a quadrilateral inside the patch."""
    for k in range(4):
        if level[quads[quad, k]] > 0.0:
            return quads[quad, k]
    return quads[quad, 0]


@fused_part
def cut_quad(quads, quad, points, level):
    """Return the area of a quadrilateral inside the patch [m²], and the length of the edge [m]."""
    a, b, c, d = quads[quad, 0], quads[quad, 1], quads[quad, 2], quads[quad, 3]
    va, vb, vc, vd = level[a], level[b], level[c], level[d]
    # A corner diagonal to the patch has no level of its own.
    va = va if va != 0.0 else min(vb + vd - vc, 0.0)
    vb = vb if vb != 0.0 else min(va + vc - vd, 0.0)
    vc = vc if vc != 0.0 else min(vb + vd - va, 0.0)
    vd = vd if vd != 0.0 else min(va + vc - vb, 0.0)
    area, edge = cut_triangle(points, a, b, c, va, vb, vc)
    more, length = cut_triangle(points, a, c, d, va, vc, vd)
    return area + more, edge + length


@fused_part
def cut_triangle(points, a, b, c, va, vb, vc):
    """Return area [m²] of a triangle where a field is positive, and length of the edge [m]."""
    inside = (1 if va > 0.0 else 0) + (1 if vb > 0.0 else 0) + (1 if vc > 0.0 else 0)
    if inside == 0:
        return 0.0, 0.0
    # The corner on its own side of the edge comes first.
    odd = inside == 1
    if (vb > 0.0) == odd and (va > 0.0) != odd and (vc > 0.0) != odd:
        a, b, c, va, vb, vc = b, c, a, vb, vc, va
    elif (vc > 0.0) == odd and (va > 0.0) != odd and (vb > 0.0) != odd:
        a, b, c, va, vb, vc = c, a, b, vc, va, vb
    ux, uy, uz = (
        points[b, 0] - points[a, 0],
        points[b, 1] - points[a, 1],
        points[b, 2] - points[a, 2],
    )
    wx, wy, wz = (
        points[c, 0] - points[a, 0],
        points[c, 1] - points[a, 1],
        points[c, 2] - points[a, 2],
    )
    nx, ny, nz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    whole = 0.5 * np.sqrt(nx * nx + ny * ny + nz * nz)
    if inside == 3:
        return whole, 0.0
    s, t = va / (va - vb), va / (va - vc)
    x, y, z = t * wx - s * ux, t * wy - s * uy, t * wz - s * uz
    corner = s * t * whole
    return (corner if odd else whole - corner), np.sqrt(x * x + y * y + z * z)


@fused_part
def fitted_peak(neighbours, top, level, mean_part):
    """Return the peak pressure from the squares at a node of the highest level and eight others.

    And its sharpness: 1/a² of a patch that is a spacings wide on either side of its peak [1], 1
    where a neighbour is out of contact or the squares have no maximum near.

    Where a nodal force is a mean of the pressure over the shape function of the node, its square
    lies 1/6 of the second differences below the pressure at the node; the maximum of the fitted
    quadratic is raised by ``mean_part`` of this.
    """
    best = np.sqrt(level[top])
    m = np.zeros(6)
    for i in range(-1, 2):
        for j in range(-1, 2):
            node = top
            if i != 0:
                node = neighbours[node, 0, 0 if i > 0 else 1]
            if node >= 0 and j != 0:
                node = neighbours[node, 1, 0 if j > 0 else 1]
            if node < 0 or level[node] <= 0.0:
                return best, 1.0
            value = level[node]
            m[0] += value
            m[1] += i * value
            m[2] += j * value
            m[3] += i * i * value
            m[4] += j * j * value
            m[5] += i * j * value
    # Least squares over the nine nodes in closed form.
    x, y, xy = m[1] / 6.0, m[2] / 6.0, m[5] / 4.0
    xx = 0.5 * m[3] - m[0] / 3.0
    yy = 0.5 * m[4] - m[0] / 3.0
    constant = m[0] / 9.0 - 2.0 / 3.0 * (xx + yy)
    det = 4.0 * xx * yy - xy * xy
    if not (xx < 0.0 and det > 0.0):
        return best, 1.0
    u, v = (xy * y - 2.0 * yy * x) / det, (xy * x - 2.0 * xx * y) / det
    if max(abs(u), abs(v)) > 1.0:
        return best, 1.0
    highest = constant + 0.5 * (x * u + y * v)
    return np.sqrt(highest - mean_part * (xx + yy) / 6.0), max(-xx, -yy) / highest
