"""Division of large triangles, so that sums over centroids approach integrals over the surface."""

from __future__ import annotations

import numpy as np

from foundation.surfaces.triangle_mesh import TriangleMesh, degenerate_triangles

#: Longest edge of a triangle whose centroid stands for the whole triangle [m], and the least part
#: of the mesh's diagonal for this edge, which bounds the number of triangles.
_LONGEST, _PART = 3e-3, 0.02


def refined(mesh: TriangleMesh) -> TriangleMesh:
    """Return a mesh [m] whose triangles are divided until no edge is longer than about 3 mm.

    Plane faces of a CAD model are a few large triangles.
    """
    # Imported here, so that trained surrogates do not need a mesh library.
    from trimesh.remesh import subdivide_to_size

    diagonal = float(np.linalg.norm(np.ptp(mesh.vertices, axis=0)))
    longest = max(_LONGEST, _PART * diagonal)
    vertices, faces = subdivide_to_size(mesh.vertices, mesh.faces, longest, max_iter=20)
    return TriangleMesh(vertices, faces[~degenerate_triangles(vertices, faces)], mesh.name)
