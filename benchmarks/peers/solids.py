"""What other engines need of a surface: a closed shell, a tetrahedral layer, and files of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from foundation.base.checks import FloatArray, IntArray
from foundation.surfaces.smooth_surface import smooth_surface
from foundation.surfaces.triangle_mesh import TriangleMesh, area_vectors

#: Depths of the shells that OpenSim's meshes are closed to [m].
SHELLS = (1e-3, 2e-3, 3e-3)


def unit_normals(mesh: TriangleMesh) -> FloatArray:
    """Return the unit normal at each vertex, (V, 3): its own, or the mean of the triangles'."""
    if mesh.vertex_normals is not None:
        return mesh.vertex_normals
    return facet_normals(mesh.vertices, mesh.faces)


def facet_normals(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Return the mean unit normal of the triangles at each vertex, (V, 3); 0 without triangles."""
    sums = np.zeros_like(vertices)
    facets = area_vectors(vertices, faces)
    for corner in range(3):
        np.add.at(sums, faces[:, corner], facets)
    lengths = np.linalg.norm(sums, axis=1)[:, None]
    return sums / np.where(lengths > 0.0, lengths, 1.0)


def curved_facets(mesh: TriangleMesh) -> tuple[FloatArray, IntArray]:
    """Return the patches of `foundation.surfaces.smooth_surface` as triangles of six nodes.

    Returns
    -------
    points : (V + edges, 3) float64
        Vertices, then middles of the edges [m].
    triangles : (F, 6) int64
        Corners 1, 2, 3, then the middles of the edges 1-2, 2-3 and 3-1.
    """
    ends = np.stack([mesh.faces, np.roll(mesh.faces, -1, axis=1)], axis=2).reshape(-1, 2)
    first, at = np.unique(np.sort(ends, axis=1), axis=0, return_index=True, return_inverse=True)[1:]
    middles = smooth_surface(mesh).middles.reshape(-1, 3)[first]
    numbers = len(mesh.vertices) + at.reshape(-1, 3)
    return np.concatenate([mesh.vertices, middles]), np.concatenate([mesh.faces, numbers], axis=1)


def shell(mesh: TriangleMesh, depth: float) -> tuple[FloatArray, IntArray]:
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


def layers(mesh: TriangleMesh, depth: float) -> tuple[FloatArray, IntArray]:
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


def write_obj(path: Path, vertices: FloatArray, faces: IntArray) -> None:
    """Write triangles as Wavefront OBJ."""
    with path.open("w", encoding="ascii") as file:
        np.savetxt(file, vertices, fmt="v %.17g %.17g %.17g")
        np.savetxt(file, faces + 1, fmt="f %d %d %d")


def write_vtk(path: Path, points: FloatArray, cells: IntArray) -> None:
    """Write tetrahedra as legacy VTK text."""
    with path.open("w", encoding="ascii") as file:
        file.write("# vtk DataFile Version 3.0\nlayers\nASCII\nDATASET UNSTRUCTURED_GRID\n")
        file.write(f"POINTS {len(points)} double\n")
        np.savetxt(file, points, fmt="%.17g")
        file.write(f"CELLS {len(cells)} {5 * len(cells)}\n")
        np.savetxt(file, np.insert(cells, 0, 4, axis=1), fmt="%d")
        file.write(f"CELL_TYPES {len(cells)}\n")
        np.savetxt(file, np.full(len(cells), 10), fmt="%d")
