"""Articular surfaces: reading, checks, topology, vertex normals, smooth patches, compartments."""

from foundation.surfaces.mesh import MeshError, MeshWarning, TriangleMesh, load_mesh

__all__ = [
    "MeshError",
    "MeshWarning",
    "TriangleMesh",
    "load_mesh",
]
