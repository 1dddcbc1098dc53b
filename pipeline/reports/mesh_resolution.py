"""How well the tibial mesh resolves the pressure: triangles across the contact, and ridges."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from pipeline.reports.inputs import RunFiles
from pipeline.stages.frames import PressureMaps

#: Triangles about the highest pressure that a quadratic surface is fitted to.
_FITTED = 20
_TERMS = 6
#: Least part of the highest pressure at an instant that is judged.
_NEAR_PEAK = 0.8


class Resolution(NamedTuple):
    """Resolution of the pressure by the tibial mesh, where the pressure is highest.

    Parameters
    ----------
    across : float
        Edges of triangles across the contact patch [1].
    roughness_percent : float
        RMS deviation of the pressures of the triangles about the highest pressure from a smooth
        surface, over the highest pressure [%].
    """

    across: float
    roughness_percent: float


def mesh_resolution(files: RunFiles) -> dict[str, Resolution]:
    """Return the resolution of each compartment; compartments without contact are left out.

    The pressures are those of the original model at the instants of the pressure maps; the worst
    of the instants with at least 80 % of the highest pressure of the compartment counts.
    """
    maps = files.maps
    if maps is None:
        return {}
    nearer = _compartment_of(maps, files)
    found = {}
    for side, name in enumerate(COMPARTMENTS):
        pressures = np.where(nearer == side, maps.pressure_Pa[0], 0.0)
        peaks = pressures.max(axis=1)
        judged = pressures[(peaks > 0.0) & (peaks >= _NEAR_PEAK * peaks.max())]
        each = [resolution(maps.vertices, maps.faces, pressure) for pressure in judged]
        if known := [item for item in each if item is not None]:
            worst = min(item.across for item in known), max(i.roughness_percent for i in known)
            found[name] = Resolution(*worst)
    return found


def _compartment_of(maps: PressureMaps, files: RunFiles) -> Any:
    """Return the compartment (F,) of each triangle: the one with the nearer centre of pressure."""
    cycle = files.cycles["original"]
    columns = [[f"{name}_cop_{axis}_m" for axis in "xyz"] for name in COMPARTMENTS]
    centres = np.array([np.nanmean(_known(cycle[c].to_numpy()), axis=0) for c in columns])
    middles = maps.vertices[maps.faces].mean(axis=1)
    apart = np.linalg.norm(middles[:, None] - centres, axis=2)
    return np.where(np.isfinite(apart), apart, np.inf).argmin(axis=1)


def _known(rows: FloatArray) -> FloatArray:
    """Return the rows without NaN, or a row of infinity if there are none."""
    known = rows[np.isfinite(rows).all(axis=1)]
    return known if len(known) else np.full((1, rows.shape[1]), np.inf)


def resolution(vertices: FloatArray, faces: Any, pressure: FloatArray) -> Resolution | None:
    """Return the resolution of a pressure field by a mesh, None with too few triangles to tell.

    Parameters
    ----------
    vertices : (V, 3) float64
        Vertices, tibial frame [m].
    faces : (F, 3) int64
        Triangles.
    pressure : (F,) float64
        Pressure on each triangle [Pa]; 0 outside the contact.

    Notes
    -----
    The smooth surface is the quadratic polynomial in the anterior and lateral position that fits
    the pressures of the 20 triangles nearest to the highest pressure best. Pressures of a resolved
    field deviate from it by a small part of a per cent; ridges of a mesh let them jump.
    """
    corners = vertices[faces]
    areas = 0.5 * np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    loaded = pressure > 0.0
    if loaded.sum() <= _TERMS:
        return None
    plane = corners[loaded].mean(axis=1)[:, [0, 2]]
    values = pressure[loaded]
    top = int(values.argmax())
    near = np.asarray(cKDTree(plane).query(plane[top], k=min(_FITTED, len(values)))[1])
    apart = plane[near] - plane[top]
    x, z = (apart / np.abs(apart).max()).T
    terms = np.column_stack([np.ones_like(x), x, z, x * x, x * z, z * z])
    left = values[near] - terms @ np.linalg.lstsq(terms, values[near], rcond=None)[0]
    deviation = np.sqrt((left**2).sum() / max(1, len(near) - _TERMS))
    # The edge of an equilateral triangle of the mean area.
    edge = np.sqrt(areas[loaded].mean() * 4.0 / np.sqrt(3.0))
    across = np.sqrt(areas[loaded].sum() * 4.0 / np.pi) / edge
    return Resolution(float(across), float(100.0 * deviation / values[top]))
