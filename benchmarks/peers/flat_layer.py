"""A flat layer on a rigid base under a paraboloid: meshes of the case with an exact solution."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.calculix_deck import HexahedralMesh
from foundation.base.checks import FloatArray, IntArray

_LATERAL, _DEPTH = 1.25, 1.12  # growth of the spacing


def layer(
    spacing: float, thickness: float, fine: tuple[float, float], wide: float
) -> HexahedralMesh:
    """Return a graded mesh of a flat layer, its bearing surface in the plane y = 0.

    Parameters
    ----------
    spacing : float
        Between nodes near the contact [m].
    thickness : float
        Of the layer [m].
    fine : tuple of float
        Half-lengths with this spacing, along x and z [m].
    wide : float
        Half-length of the layer, at least [m].
    """
    x, z = (_both_ways(spacing, half, wide) for half in fine)
    steps = spacing * _DEPTH ** np.arange(200)
    count = int(np.searchsorted(np.cumsum(steps), thickness)) + 1
    y = -thickness * (np.cumsum(steps[:count]) / steps[:count].sum())[::-1]
    y = np.concatenate([y, [0.0]])
    shown = np.meshgrid(z, x, y, indexing="ij")
    nodes = np.stack([shown[k].ravel() for k in (1, 2, 0)], axis=1)
    number = np.arange(len(nodes)).reshape(shown[0].shape)

    def corner(i: int, j: int, k: int) -> IntArray:
        a, b, c = number.shape
        return number[i : a - 1 + i, j : b - 1 + j, k : c - 1 + k].ravel()

    ring = ((0, 0), (1, 0), (1, 1), (0, 1))
    hexahedra = np.stack([corner(*at, k) for k in (0, 1) for at in ring], axis=1)
    top = hexahedra[np.isin(hexahedra[:, 4], number[:, :, -1]), 4:]
    return HexahedralMesh(nodes, hexahedra, number[:, :, 0].ravel(), top)


def _both_ways(spacing: float, fine: float, wide: float) -> FloatArray:
    places = [*np.arange(0.0, fine + 0.5 * spacing, spacing)]
    step = spacing
    while places[-1] < wide:
        step *= _LATERAL
        places.append(places[-1] + step)
    return np.concatenate([-np.array(places[:0:-1]), places])


def paraboloid(
    radii: tuple[float, float], approach: float, half: tuple[float, float], edge: float
) -> tuple[FloatArray, IntArray]:
    """Return triangles of six nodes of y = x²/(2 R) + z²/(2 S) - approach, seen from below.

    Parameters
    ----------
    radii : tuple of float
        R and S [m].
    approach : float
        Depth of the lowest point below y = 0 [m].
    half : tuple of float
        Half-lengths along x and z [m].
    edge : float
        Longest side of the triangles' legs [m].

    Returns
    -------
    points : (V, 3) float64
        Nodes, exactly on the paraboloid [m].
    triangles : (T, 6) int64
        Corners, then middles of the edges 1-2, 2-3 and 3-1.
    """
    x, z = (np.linspace(-h, h, 2 * int(np.ceil(2.0 * h / edge)) + 1) for h in half)
    across, along = np.meshgrid(z, x, indexing="ij")
    height = along**2 / (2.0 * radii[0]) + across**2 / (2.0 * radii[1]) - approach
    points = np.stack([along.ravel(), height.ravel(), across.ravel()], axis=1)
    number = np.arange(len(points)).reshape(along.shape)

    def node(i: int, j: int) -> IntArray:
        a, b = number.shape
        return number[i : a - 2 + i : 2, j : b - 2 + j : 2].ravel()

    # z before x is counter-clockwise from above, so the cells are gone round the other way.
    halves = (
        ((0, 0), (0, 2), (2, 2), (0, 1), (1, 2), (1, 1)),
        ((0, 0), (2, 2), (2, 0), (1, 1), (2, 1), (1, 0)),
    )
    triangles = [np.stack([node(*at) for at in corners], axis=1) for corners in halves]
    return points, np.concatenate(triangles)
