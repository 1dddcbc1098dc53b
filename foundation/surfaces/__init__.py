"""Articular surfaces: reading, checks, topology, vertex normals, smooth patches, compartments."""
