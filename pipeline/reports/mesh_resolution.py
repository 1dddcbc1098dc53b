"""How well the tibial mesh resolves the pressure: triangles across the contact, and ridges."""

from __future__ import annotations

from typing import Any

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from pipeline.reports.inputs import RunFiles
from pipeline.stages.frames import PressureMaps
from pipeline.stages.pressure_roughness import Resolution, resolution

#: Least part of the highest pressure at an instant that is judged.
_NEAR_PEAK = 0.8


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
