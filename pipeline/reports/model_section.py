"""Sections of the report on the contact model: elastic layer, mesh, node spacing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from pipeline.config.contact_schema import DEFAULT_MODEL
from pipeline.originals.finite_element_layer import ITSELF
from pipeline.reports.inputs import RunFiles
from pipeline.reports.units import number
from pipeline.stages.elastic_layer import Resolution, resolution
from pipeline.stages.gait_cycle import PressureMaps
from pipeline.store.quantities import to_display
from pipeline.store.run_documents import ElasticLayer, FromTable, NodeSpacing

#: Uncertainty of the peak pressure of the layer that is told with it [%].
_DOUBTED = 3.0


def model_of(contact: Mapping[str, Any]) -> str:
    """Return the name of the contact model of a section [contact]."""
    return str(contact.get("model", DEFAULT_MODEL))


def layer_of_run(files: RunFiles) -> dict[str, Any] | None:
    """Return the comparison of a run in units for people; None without one."""
    if isinstance(files.run.original, FromTable):
        return _not_compared("a table of poses and loads takes the place of the contact model")
    if files.simulation is None:
        return _not_compared("the run simulates no gait, whose poses the comparison needs")
    return None if files.layer is None else layer_of(files.layer)


def _not_compared(reason: str) -> dict[str, Any]:
    """Return the content for a run without a contact model at poses of a gait cycle."""
    return layer_of(ElasticLayer(model="", reference="", reason=reason))


def layer_of(found: ElasticLayer) -> dict[str, Any]:
    """Return a comparison in units for people."""
    return dict(to_display(found))


def is_layer(found: Mapping[str, Any]) -> bool:
    """Return whether the contact model of a comparison is the elastic layer itself."""
    return bool(found["reference"] == ITSELF)


def doubted(part: Mapping[str, Any]) -> str:
    """Return the uncertainty of the peak pressure of the layer in words, "" where it is small."""
    doubt = part["uncertainty_percent"]
    return f" ±{number(doubt, 2)} %" if doubt > _DOUBTED else ""


def signed(percent: float) -> str:
    """Return a difference [%] with its sign and two digits, 0 below a hundredth of a per cent."""
    percent = round(percent, 2)
    return f"{'+' if percent > 0.0 else ''}{number(percent, 2)}"


#: Least part of the highest pressure at an instant that is judged.
_NEAR_PEAK = 0.8


def mesh_resolution(files: RunFiles) -> dict[str, Resolution]:
    """Return the resolution of each compartment in contact, the worst of instants near the peak."""
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
