"""Surfaces closed to a shell, and layers of tetrahedra below them."""

import numpy as np

from foundation.surfaces.triangle_mesh import area_vectors


def unit_normals(mesh):
    """Return the unit normal at each vertex, (V, 3): its own, or the mean of the triangles'."""
    if mesh.vertex_normals is not None:
        return mesh.vertex_normals
    sums = np.zeros_like(mesh.vertices)
    facets = area_vectors(mesh.vertices, mesh.faces)
    for corner in range(3):
        np.add.at(sums, mesh.faces[:, corner], facets)
    lengths = np.linalg.norm(sums, axis=1)[:, None]
    return sums / np.where(lengths > 0.0, lengths, 1.0)


def shell(mesh, depth):
    """Return the surface of a shell: the mesh, its copy at a depth [m], and skirts between them.

    The first triangles are those of the mesh. A closed mesh is returned as it is.
    """
    ends = np.concatenate([mesh.faces[:, [k, (k + 1) % 3]] for k in range(3)])
    count = len(mesh.vertices)
    forth, back = ends[:, 0] * count + ends[:, 1], ends[:, 1] * count + ends[:, 0]
    a, b = ends[~np.isin(forth, back)].T
    if len(a) == 0:
        return mesh.vertices, mesh.faces
    skirt = np.concatenate([np.stack([b, a, a + count], 1), np.stack([b, a + count, b + count], 1)])
    inner = mesh.vertices - depth * unit_normals(mesh)
    faces = np.concatenate([mesh.faces, mesh.faces[:, ::-1] + count, skirt])
    return np.concatenate([mesh.vertices, inner]), faces


def layers(mesh, depth):
    """Return two layers of tetrahedra, (T, 4), under a surface, the upper one of a given depth.

    The vertices of the surface and of the underside lie on the boundary, those between them at
    the depth [m] along minus the vertex normals. Every prism is cut along the diagonals to its
    vertex of highest number, which neighbours agree on.
    """
    normals, count = unit_normals(mesh), len(mesh.vertices)
    # The underside is farther than the surface, so that the surface decides the distance.
    sheets = [mesh.vertices - part * depth * normals for part in (0.0, 1.0, 2.5)]
    points = np.concatenate(sheets)
    a, b, c = np.sort(mesh.faces, axis=1).T
    prism = (
        (a, b, c, c + count),
        (a, b, b + count, c + count),
        (a, *(k + count for k in (a, b, c))),
    )
    cells = np.concatenate([np.stack(corners, axis=1) for corners in prism])
    cells = np.concatenate([cells, cells + count])
    sides = points[cells[:, 1:]] - points[cells[:, :1]]
    turned = np.linalg.det(sides) < 0.0
    cells[turned] = cells[turned][:, [1, 0, 2, 3]]
    return points, cells
