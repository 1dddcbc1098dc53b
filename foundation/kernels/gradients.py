"""First and second derivatives of the indentation by the femoral twist."""

from __future__ import annotations

import numpy as np

from foundation.base.compiling import fused_part, fused_pasted
from foundation.kernels.contact import LEVEL, LUMPED, STEEP, cosine_of, weight_of
from foundation.kernels.search import patch_normal


@fused_part
def indentation_gradient(
    rotation, patch, curved, points, normals, node, depth, met, place, gradient
):  # fmt: skip
    """Write d(indentation)/d(femoral twist) of a node to its row of ``gradient``.

    The femoral surface moves with velocity v + w x X at the point X on the node's line; along the
    line, the indentation changes by -(m . v + (X x m) . w) / (m . n), m being the
    femoral and n the tibial normal.
    """
    r = rotation
    fx, fy, fz = patch_normal(patch, curved, met[node], place[node, 0], place[node, 1])
    mx = r[0, 0] * fx + r[0, 1] * fy + r[0, 2] * fz
    my = r[1, 0] * fx + r[1, 1] * fy + r[1, 2] * fz
    mz = r[2, 0] * fx + r[2, 1] * fy + r[2, 2] * fz
    nx, ny, nz = normals[node, 0], normals[node, 1], normals[node, 2]
    # m needs no unit length here.
    scale = -1.0 / (mx * nx + my * ny + mz * nz)
    x = points[node, 0] - depth[node] * nx
    y = points[node, 1] - depth[node] * ny
    z = points[node, 2] - depth[node] * nz
    gradient[node, 0] = scale * mx
    gradient[node, 1] = scale * my
    gradient[node, 2] = scale * mz
    gradient[node, 3] = scale * (y * mz - z * my)
    gradient[node, 4] = scale * (z * mx - x * mz)
    gradient[node, 5] = scale * (x * my - y * mx)


@fused_part
def pressed_gradient(rotation, patch, curved, points, normals, node, depth, met, place, gradient):
    """Write `indentation_gradient` of a node of `press_nodes`, whose length has a weight."""
    cosine = 1.0
    if depth[node] >= 0.0:
        cosine = cosine_of(
            rotation, patch, curved, normals, node, met[node], place[node, 0], place[node, 1]
        )
    if cosine <= STEEP:
        gradient[node] = 0.0
        return
    weight, slope = weight_of(cosine)
    depth[node] /= weight
    indentation_gradient(
        rotation, patch, curved, points, normals, node, depth, met, place, gradient
    )
    if cosine < LEVEL:
        # The first three components g have the length 1/cosine, so that dc = -c³ g . dg.
        hessian = np.zeros((6, 6))
        add_hessian(
            rotation, patch, curved, points, normals, node, depth, met[node], place[node, 0],
            place[node, 1], gradient, 1.0, hessian,
        )  # fmt: skip
        gx, gy, gz = gradient[node, 0], gradient[node, 1], gradient[node, 2]
        for k in range(6):
            along = gx * hessian[0, k] + gy * hessian[1, k] + gz * hessian[2, k]
            by_cosine = -depth[node] * slope * cosine**3 * along
            gradient[node, k] = weight * gradient[node, k] + by_cosine
    depth[node] *= weight


@fused_part
def find_gradients(rotation, femur, bed, work, begin, end):
    """Write the gradients of the nodes of the active elements ``begin`` to ``end``."""
    patch, curved = femur.patch, femur.curved
    points, normals, elements = bed.points, bed.normals, bed.elements
    depth, met, place, gradient = work.depth, work.met, work.place, work.gradient
    dated, generation = work.gradient_stamp, work.generation[0]
    active, kind_of, centroid_first = work.active, work.kind, bed.centroid_first
    for i in range(begin, end):
        e = active[i]
        if kind_of[i] == LUMPED:
            pressed_gradient(
                rotation, patch, curved, points, normals, centroid_first + e, depth, met,
                place, gradient,
            )  # fmt: skip
            continue
        for j in range(elements.shape[1]):
            node = np.int64(elements[e, j])
            if dated[node] != generation:
                dated[node] = generation
                pressed_gradient(
                    rotation, patch, curved, points, normals, node, depth, met, place, gradient
                )


@fused_part
def add_curvature(rotation, femur, bed, begin, end, work, jacobian):
    """Add the part of the Hessian of the energy due to the rotation of the gradients."""
    patch, curved, points, normals = femur.patch, femur.curved, bed.points, bed.normals
    depth, met, place, force = work.depth, work.met, work.place, work.force
    gradient, elements = work.gradient, bed.elements
    active, kind_of, centroid_first = work.active, work.kind, bed.centroid_first
    for i in range(begin, end):
        element = active[i]
        lumped = kind_of[i] == LUMPED
        for j in range(1 if lumped else elements.shape[1]):
            node = centroid_first + element if lumped else elements[element, j]
            if force[node] == 0.0:
                continue
            u, v = place[node, 0], place[node, 1]
            cosine = cosine_of(rotation, patch, curved, normals, node, met[node], u, v)
            # Of a steep side, the turn of the force with the weight would need third derivatives.
            if cosine >= LEVEL:
                add_hessian(
                    rotation, patch, curved, points, normals, node, depth, met[node], u, v,
                    gradient, -force[node], jacobian,
                )  # fmt: skip
            force[node] = 0.0


@fused_part
def cross(ax, ay, az, bx, by, bz):
    """Return the cross product of two vectors."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@fused_pasted
def turned_term(rotation, patch, facet, term):
    """Return a coefficient of a femoral patch in tibial directions."""
    x, y, z = patch[facet, term, 0], patch[facet, term, 1], patch[facet, term, 2]
    r = rotation
    return (
        r[0, 0] * x + r[0, 1] * y + r[0, 2] * z,
        r[1, 0] * x + r[1, 1] * y + r[1, 2] * z,
        r[2, 0] * x + r[2, 1] * y + r[2, 2] * z,
    )


@fused_part
def add_hessian(
    rotation, patch, curved, points, normals, node, depth, facet, u, v, gradient, scale, out
):  # fmt: skip
    """Add ``scale`` times d(gradient of a node's indentation)/d(femoral twist) to ``out`` (6, 6).

    With the unit femoral normal m at the point x, x' = -d' n stays on the node's line, and the
    normal changes by m' = w x m + S (x' - v - w x x), S being the derivative of the normal
    over the femoral surface (its shape operator).
    """
    ux, uy, uz = turned_term(rotation, patch, facet, 1)
    vx, vy, vz = turned_term(rotation, patch, facet, 2)
    kx = ky = kz = lx = ly = lz = hx = hy = hz = 0.0
    if curved:
        kx, ky, kz = turned_term(rotation, patch, facet, 3)
        lx, ly, lz = turned_term(rotation, patch, facet, 4)
        hx, hy, hz = turned_term(rotation, patch, facet, 5)
    ux, uy, uz = ux + 2 * u * kx + v * lx, uy + 2 * u * ky + v * ly, uz + 2 * u * kz + v * lz
    vx, vy, vz = vx + u * lx + 2 * v * hx, vy + u * ly + 2 * v * hy, vz + u * lz + 2 * v * hz
    mx, my, mz = cross(ux, uy, uz, vx, vy, vz)
    length = np.sqrt(mx * mx + my * my + mz * mz)
    mx, my, mz = mx / length, my / length, mz / length
    nx, ny, nz = normals[node, 0], normals[node, 1], normals[node, 2]
    x = points[node, 0] - depth[node] * nx
    y = points[node, 1] - depth[node] * ny
    z = points[node, 2] - depth[node] * nz
    along = mx * nx + my * ny + mz * nz
    px, py, pz = cross(x, y, z, mx, my, mz)
    guu = ux * ux + uy * uy + uz * uz
    guv = ux * vx + uy * vy + uz * vz
    gvv = vx * vx + vy * vy + vz * vz
    det = guu * gvv - guv * guv
    for column in range(6):
        sx = 1.0 if column == 0 else 0.0
        sy = 1.0 if column == 1 else 0.0
        sz = 1.0 if column == 2 else 0.0
        wx = 1.0 if column == 3 else 0.0
        wy = 1.0 if column == 4 else 0.0
        wz = 1.0 if column == 5 else 0.0
        rate = -gradient[node, column]
        ax, ay, az = rate * nx, rate * ny, rate * nz
        cx, cy, cz = cross(wx, wy, wz, x, y, z)
        cx, cy, cz = ax - sx - cx, ay - sy - cy, az - sz - cz
        su, sv = cx * ux + cy * uy + cz * uz, cx * vx + cy * vy + cz * vz
        du, dv = (gvv * su - guv * sv) / det, (guu * sv - guv * su) / det
        tx, ty, tz = cross(
            2 * du * kx + dv * lx, 2 * du * ky + dv * ly, 2 * du * kz + dv * lz, vx, vy, vz
        )
        cx, cy, cz = cross(
            ux, uy, uz, du * lx + 2 * dv * hx, du * ly + 2 * dv * hy, du * lz + 2 * dv * hz
        )
        tx, ty, tz = tx + cx, ty + cy, tz + cz
        normal = mx * tx + my * ty + mz * tz
        cx, cy, cz = cross(wx, wy, wz, mx, my, mz)
        tx = (tx - normal * mx) / length + cx
        ty = (ty - normal * my) / length + cy
        tz = (tz - normal * mz) / length + cz
        slant = (tx * nx + ty * ny + tz * nz) / (along * along)
        cx, cy, cz = cross(ax, ay, az, mx, my, mz)
        qx, qy, qz = cross(x, y, z, tx, ty, tz)
        out[0, column] += scale * (slant * mx - tx / along)
        out[1, column] += scale * (slant * my - ty / along)
        out[2, column] += scale * (slant * mz - tz / along)
        out[3, column] += scale * (slant * px - (cx + qx) / along)
        out[4, column] += scale * (slant * py - (cy + qy) / along)
        out[5, column] += scale * (slant * pz - (cz + qz) / along)
