"""Medial and lateral compartments of a tibial surface."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_number
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS, check_names
from foundation.surfaces.mesh_topology import label_pieces
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh

MEDIAL, LATERAL = 0, 1

#: Two pieces are the plateaus if each has at least this fraction of the whole area.
_PLATEAU_AREA = 0.2
#: Number of sagittal strips across the tibia.
_STRIPS = 60
#: Number of rows along the tibia, to separate the top from lower surfaces.
_ROWS = 24
#: Range of the width in which the ridge is sought.
_MIDDLE = (0.25, 0.75)
#: Least rise of a ridge over the neighbouring valleys, as a fraction of the width.
_RIDGE_RISE = 0.005


def find_compartments(mesh: TriangleMesh, split_z: float | None = None) -> NDArray[np.int8]:
    """Return the compartment (F,) of each triangle [m] of a right tibia: 0 medial, 1 lateral."""
    # Two large pieces side by side are the plateaus; one is split at the ridge, z = const [m].
    # `MeshError` if there is no ridge or a compartment would have no triangle.
    across = mesh.centroids[:, 2]
    if split_z is not None:
        threshold = check_number("split_z", split_z, unit="m")
        return _labelled(mesh, across > threshold, f"{{name}} = {1e3 * threshold:g} mm")
    by_piece = _plateau_pieces(mesh)
    if by_piece is not None:
        return by_piece
    threshold = find_split(mesh)
    return _labelled(mesh, across > threshold, f"the ridge at z = {1e3 * threshold:g} mm")


def find_split(mesh: TriangleMesh) -> float:
    """Return z [m] of the ridge between the plateaus of a one-piece tibia, or raise `MeshError`."""
    # Median heights of sagittal strips have two valleys over z; the split is midway between the
    # points where the ridge has risen half way, whatever the shape of its top.
    z, height = _profile(mesh)
    first, last = (round(fraction * _STRIPS) for fraction in _MIDDLE)
    top = first + int(np.argmax(height[first:last]))
    valley = max(height[:top].min(), height[top + 1 :].min())
    if not height[top] - valley > _RIDGE_RISE * (z[-1] - z[0]):  # both 0 of a single triangle
        raise MeshError(
            f"{mesh.name}: no ridge found between the plateaus (highest rise "
            f"{1e3 * (height[top] - valley):.2f} mm); set {{name}}, the z between the plateaus",
            "split_z",
        )
    half = 0.5 * (height[top] + valley)
    below = np.flatnonzero(height < half)
    left, right = below[below < top][-1], below[below > top][0]
    return 0.5 * (
        _crossing(z, height, int(left), 1, half) + _crossing(z, height, int(right), -1, half)
    )


def _crossing(z: FloatArray, y: FloatArray, low: int, step: int, level: float) -> float:
    """Return z where the profile passes a level between strip `low` and the next strip uphill."""
    high = low + step
    return float(z[low] + (level - y[low]) / (y[high] - y[low]) * (z[high] - z[low]))


def _profile(mesh: TriangleMesh) -> tuple[FloatArray, FloatArray]:
    """Return strip middles z and median heights of the surface, (_STRIPS,) each [m]."""
    up = mesh.normals[:, 1] > 0.3
    if not up.any():
        raise MeshError(
            f"{mesh.name}: no triangle faces up (+y), expected a tibial surface; check the axes "
            "and the winding"
        )
    points = mesh.centroids[up]
    strip, limits = _bins(points[:, 2], _STRIPS)
    row, _ = _bins(points[:, 0], _ROWS)
    # A closed insert may have pockets in its underside: only the top of each cell counts.
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
    bins = np.searchsorted(limits, values, side="right") - 1
    return np.clip(bins, 0, count - 1), limits


def _plateau_pieces(mesh: TriangleMesh) -> NDArray[np.int8] | None:
    """Return labels by connected pieces, or None if the pieces are not the two plateaus."""
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
    # A fragment belongs to the nearer plateau.
    middle = 0.5 * (centre[0] + centre[1])
    return _labelled(mesh, (centre > middle)[pieces], "the separate pieces")


def _labelled(mesh: TriangleMesh, lateral: NDArray[np.bool_], split: str) -> NDArray[np.int8]:
    for name, members in (("medial", ~lateral), ("lateral", lateral)):
        if not members.any():
            z = mesh.centroids[:, 2]
            raise MeshError(
                f"{mesh.name}: no triangle is {name} with {split}; z runs from "
                f"{1e3 * z.min():.4g} to {1e3 * z.max():.4g} mm: set {{name}} between the "
                "plateaus, or check axes and unit",
                "split_z",
            )
    return np.where(lateral, LATERAL, MEDIAL).astype(np.int8)


def check_labels(
    tibia: TriangleMesh, labels: ArrayLike | None, names: Sequence[str] = COMPARTMENTS
) -> tuple[NDArray[np.int8], tuple[str, ...]]:
    """Return the compartment (F,) [1] of each tibial triangle and their names, checked."""
    # Without labels, one compartment covers the surface, and `find_compartments` finds two.
    names = check_names(names)
    if labels is None:
        return _default_labels(tibia, names), names
    array = check_array("compartments", labels, (len(tibia.faces),))
    if not np.isin(array, np.arange(float(len(names)))).all():
        known = [f"{value} ({name})" for value, name in enumerate(names)]
        listed = " and ".join(filter(None, (", ".join(known[:-1]), known[-1])))
        raise InputError(f"compartments: expected only {listed}")
    for value, name in enumerate(names):
        if not (array == value).any():
            raise InputError(
                f"compartments: expected triangles of each compartment, found none of {name} "
                f"(number {value})"
            )
    return array.astype(np.int8), names


def _default_labels(tibia: TriangleMesh, names: tuple[str, ...]) -> NDArray[np.int8]:
    if len(names) == 1:
        return np.zeros(len(tibia.faces), dtype=np.int8)
    if len(names) == 2:
        return find_compartments(tibia)
    raise InputError(
        f"compartments: expected the compartment of each triangle, since there are {len(names)} "
        f"({', '.join(names)}), found none"
    )
