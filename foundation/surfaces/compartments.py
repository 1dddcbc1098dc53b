"""Medial and lateral compartment of a tibial surface."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foundation.checks import FloatArray, check_number
from foundation.surfaces.mesh_topology import label_pieces
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh

MEDIAL, LATERAL = 0, 1

#: The two largest pieces are the plateaus if each has this part of the whole area.
_PLATEAU_AREA = 0.2
#: Strips across the tibia, each of which has its height.
_STRIPS = 60
#: Rows along the tibia, to tell its top from what lies beneath.
_ROWS = 24
#: The ridge lies in this middle part of the width.
_MIDDLE = (0.25, 0.75)
#: A ridge rises at least this much over the valleys beside it, as a part of the width.
_RIDGE_RISE = 0.005


def find_compartments(mesh: TriangleMesh, split_z: float | None = None) -> NDArray[np.int8]:
    """Return the compartment of each tibial triangle: 0 medial, 1 lateral.

    Two large separate pieces side by side are the two plateaus. One piece is split at the ridge
    between them by a plane z = const (`find_split`).

    Parameters
    ----------
    mesh : TriangleMesh
        Tibial surface of a right knee [m], z lateral.
    split_z : float, optional
        Where to split instead [m]; triangles whose centroid lies beyond it are lateral.

    Returns
    -------
    (F,) int8
        Compartment per triangle.

    Raises
    ------
    MeshError
        If no ridge is found, or one compartment would have no triangle.
    InputError
        If `split_z` is not a finite number.
    """
    across = mesh.centroids[:, 2]
    if split_z is not None:
        threshold = check_number("split_z", split_z, unit="m")
        return _labelled(mesh, across > threshold, f"split_z = {threshold:g} m")
    by_piece = _plateau_pieces(mesh)
    if by_piece is not None:
        return by_piece
    threshold = find_split(mesh)
    return _labelled(mesh, across > threshold, f"the ridge at z = {threshold:g} m")


def find_split(mesh: TriangleMesh) -> float:
    """Return where the ridge between the plateaus of a one-piece tibial surface runs, z [m].

    The typical height of each sagittal strip makes a profile over z with two valleys; the split is
    midway between the places where the ridge has risen half way from the higher valley, which
    does not depend on how its top is shaped.

    Raises
    ------
    MeshError
        If the profile has no ridge.
    """
    z, height = _profile(mesh)
    first, last = (round(part * _STRIPS) for part in _MIDDLE)
    top = first + int(np.argmax(height[first:last]))
    valley = max(height[:top].min(), height[top + 1 :].min())
    if height[top] - valley < _RIDGE_RISE * (z[-1] - z[0]):
        raise MeshError(
            f"{mesh.name}: no ridge between a medial and a lateral plateau was found (it rises "
            f"{1e3 * (height[top] - valley):.2f} mm); give split_z, the z at which they part"
        )
    half = 0.5 * (height[top] + valley)
    below = np.flatnonzero(height < half)
    left, right = below[below < top][-1], below[below > top][0]
    return 0.5 * (
        _crossing(z, height, int(left), 1, half) + _crossing(z, height, int(right), -1, half)
    )


def _crossing(z: FloatArray, y: FloatArray, low: int, step: int, level: float) -> float:
    """Return where the profile passes a level between strip `low` and the next one uphill."""
    high = low + step
    return float(z[low] + (level - y[low]) / (y[high] - y[low]) * (z[high] - z[low]))


def _profile(mesh: TriangleMesh) -> tuple[FloatArray, FloatArray]:
    """Return strip middles z and typical heights of the surface, (_STRIPS,) each [m]."""
    up = mesh.normals[:, 1] > 0.3
    if not up.any():
        raise MeshError(
            f"{mesh.name}: no triangle faces up (+y), expected a tibial surface; check its axes "
            "and winding"
        )
    points = mesh.centroids[up]
    strip, limits = _bins(points[:, 2], _STRIPS)
    row, _ = _bins(points[:, 0], _ROWS)
    # A closed insert may have pockets in its underside: of each cell only the top counts.
    top = np.full((_STRIPS, _ROWS), -np.inf)
    np.maximum.at(top, (strip, row), points[:, 1])
    height = np.full(_STRIPS, np.nan)
    for k, column in enumerate(top):
        # The median: a posterior notch or a screw hole must not hide the ridge it cuts.
        height[k] = np.median(column[np.isfinite(column)]) if np.isfinite(column).any() else np.nan
    z = 0.5 * (limits[1:] + limits[:-1])
    filled = np.isfinite(height)
    return z, np.interp(z, z[filled], height[filled])


def _bins(values: FloatArray, count: int) -> tuple[NDArray[np.int64], FloatArray]:
    """Return the bin of each value, (N,), and the limits of the bins, (count + 1,)."""
    limits = np.linspace(values.min(), values.max(), count + 1)
    found = np.searchsorted(limits, values, side="right") - 1
    return np.clip(found, 0, count - 1), limits


def _plateau_pieces(mesh: TriangleMesh) -> NDArray[np.int8] | None:
    """Label by connected pieces, or return None where these are not the two plateaus."""
    pieces, areas = label_pieces(mesh)
    if len(areas) < 2 or areas[1] < _PLATEAU_AREA * areas.sum():
        return None
    weight = mesh.areas * mesh.centroids[:, 2]
    centre = np.bincount(pieces, weights=weight) / areas
    large = np.flatnonzero(areas >= _PLATEAU_AREA * areas.sum())
    corners = mesh.vertices[mesh.faces]
    ranges = sorted(
        (float(corners[pieces == p, :, 2].min()), float(corners[pieces == p, :, 2].max()))
        for p in large
    )
    beside = len(large) == 2 and ranges[0][1] <= ranges[1][0]
    if not beside:
        return None
    # Fragments go with the plateau they are nearer to.
    middle = 0.5 * (centre[0] + centre[1])
    return _labelled(mesh, (centre > middle)[pieces], "the separate pieces")


def _labelled(mesh: TriangleMesh, lateral: NDArray[np.bool_], how: str) -> NDArray[np.int8]:
    for name, members in (("medial", ~lateral), ("lateral", lateral)):
        if not members.any():
            z = mesh.centroids[:, 2]
            raise MeshError(
                f"{mesh.name}: no triangle is {name} by {how}; its z runs from {z.min():.4g} to "
                f"{z.max():.4g} m: give a split_z between the plateaus, or check axes and unit"
            )
    return np.where(lateral, LATERAL, MEDIAL).astype(np.int8)
