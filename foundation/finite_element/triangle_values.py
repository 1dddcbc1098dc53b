"""Nodal values of a layer, interpolated to the triangles of the bearing surface."""

from __future__ import annotations

import numpy as np
from scipy.spatial import Delaunay, KDTree

from foundation.base.checks import FloatArray, IntArray
from foundation.finite_element.condensed_layer import MeshedLayer
from foundation.surfaces.triangle_mesh import TriangleMesh


class TriangleValues:
    """Interpolation, (T, 3) [1], from nodes of a layer to centroids of triangles above."""

    def __init__(self, tibia: TriangleMesh, triangles: IntArray, layer: MeshedLayer) -> None:
        self.triangles = triangles
        plane = layer.mesh.grid.plane[layer.candidates]
        at = layer.chart.coordinates(tibia.centroids[triangles])
        net = Delaunay(plane)
        simplex = net.find_simplex(at)
        self.corners: IntArray = net.simplices[simplex].astype(np.int64)
        transform = net.transform[simplex]
        first = np.einsum("tij,tj->ti", transform[:, :2], at - transform[:, 2])
        # Rounding leaves weights below zero on the edges of the net.
        self.shares = np.maximum(np.column_stack([first, 1.0 - first.sum(axis=1)]), 0.0)
        # Beyond the outermost nodes the nearest one counts.
        beyond = simplex < 0
        if beyond.any():
            nearest = np.asarray(KDTree(plane).query(at[beyond])[1])
            self.corners[beyond] = nearest[:, None]
            self.shares[beyond] = (1.0, 0.0, 0.0)

    def interpolated(self, values: FloatArray) -> FloatArray:
        """Return the values (T,) [Pa or m] at the triangles from those (C,) of the candidates."""
        return (self.shares * values[self.corners]).sum(axis=1)
