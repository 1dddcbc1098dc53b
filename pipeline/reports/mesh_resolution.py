"""How well meshes and nodes resolve the pressure: triangles, ridges, node spacing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from pipeline.reports.inputs import RunFiles
from pipeline.reports.units import number
from pipeline.stages.frames import PressureMaps
from pipeline.stages.pressure_roughness import Resolution, resolution
from pipeline.store.quantities import to_display
from pipeline.store.run_documents import NodeSpacing

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


def spacing_of(found: NodeSpacing | None) -> dict[str, Any] | None:
    """Return the node spacing and its errors in units for people; None without nodes."""
    return None if found is None else dict(to_display(found))


def spacing_lines(content: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the line for the terminal, in ASCII characters, of a run whose model has nodes."""
    if content is None:
        return
    head = f"node spacing {content['spacing_mm']:g} mm:"
    errors = content["errors"]
    if errors is None:
        yield f"{head} error not known: {content['reason']}"
        return
    parts = [
        f"{name} +-{number(errors[key], 2)} {unit}"
        for name, key, unit in (
            ("force", "force_percent", "%"),
            ("peak pressure", "peak_pressure_percent", "%"),
            ("area", "area_percent", "%"),
            ("centre", "centre_mm", "mm"),
        )
    ]
    line = f"{head} {', '.join(parts)} (from {content['coarser_mm']:g} mm)"
    if errors["unresolved"]:
        line += f"; peak not resolved at {errors['unresolved']} of {errors['poses']} poses"
    yield line
