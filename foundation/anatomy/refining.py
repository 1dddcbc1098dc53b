"""Division of large triangles, so that sums over centroids approach integrals over the surface."""

from __future__ import annotations

from foundation.surfaces.triangle_mesh import TriangleMesh, degenerate_triangles

#: Longest edge of a triangle whose centroid stands for the whole triangle [m].
_LONGEST = 3e-3


def refined(mesh: TriangleMesh) -> TriangleMesh:
    """Return a mesh [m] whose triangles are divided until no edge is longer than 3 mm.

    Plane faces of a CAD model are a few large triangles.
    """
    # Imported here, so that trained surrogates do not need a mesh library.
    from trimesh.remesh import subdivide_to_size

    vertices, faces = subdivide_to_size(mesh.vertices, mesh.faces, _LONGEST, max_iter=20)
    return TriangleMesh(vertices, faces[~degenerate_triangles(vertices, faces)], mesh.name)
