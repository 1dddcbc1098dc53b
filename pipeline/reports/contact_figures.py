"""Figures of the contact over the cycle: travel, low points of the condyles, areas, load share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose
from pipeline.reports import figures as fig
from pipeline.reports.charts import chart, cycle_chart, lines_of, rounded
from pipeline.reports.figures import Picture
from pipeline.reports.inputs import RunFiles
from pipeline.reports.pressure_field import ContactFields, middle_of, outline_of, scale_of
from pipeline.stages.gait_cycle import Frames
from pipeline.store.quantities import to_display
from pipeline.store.run_documents import MODELS

#: Vertices of a condyle that place its lowest point.
_NEAREST = 24
# Levels of the area above a pressure.
_LEVELS = 61
_MAP = (5.2, 3.6)


def contact_of(files: RunFiles) -> dict[str, Any] | None:
    """Return the contact over the cycle of the first model of a run; None without frames."""
    if (fields := files.fields) is None:
        return None
    frames = fields.frames
    centres, low = frames.centre_m[0], low_points(frames, frames.poses)
    largest = fields.largest[MODELS[0]]
    swept = fields.area_above(largest, [0.0])[:, 0]
    rows = {}
    for k, name in enumerate(COMPARTMENTS):
        at = frames.tibia_faces[fields.side == k]
        rows[name] = to_display(
            {
                "contact_ap_travel_m": _travel(centres[:, k, 0]),
                "contact_ml_travel_m": _travel(centres[:, k, 2]),
                "low_point_ap_travel_m": _travel(low[:, k, 0]),
                "largest_pressure_Pa": max(0.0, float(largest[at].max())),
                "area_touched_m2": float(swept[k]),
            }
        )
    share = medial_share(files.cycles[MODELS[0]])
    return {
        "compartments": rows,
        "medial_share_mean_percent": float(np.nanmean(share)),
        "medial_share_least_percent": float(np.nanmin(share)),
        "medial_share_largest_percent": float(np.nanmax(share)),
    }


def contact_pictures(files: RunFiles) -> Iterator[Picture]:
    """Yield the figures of the contact over the cycle; without frames, the load share alone."""
    if (fields := files.fields) is not None:
        yield _path_of_contact(fields)
        yield _rollback(fields)
    shares = {name: (t["gait_percent"], medial_share(t)) for name, t in files.cycles.items()}
    yield cycle_chart(
        "medial-share", "Medial share of the axial force over the cycle", shares,
        "medial share of the axial force [%]", size=fig.WIDE, title="Load share",
        y_range=[0.0, 100.0],
    )  # fmt: skip
    if fields is not None:
        yield _area_above(fields)


def medial_share(cycle: pd.DataFrame) -> FloatArray:
    """Return the medial part (N,) of the axial force of both compartments [%], NaN without load."""
    medial, lateral = (cycle[f"{name}_force_y_N"].to_numpy() for name in COMPARTMENTS)
    total = medial + lateral
    return np.where(total > 0.0, 100.0 * medial / np.where(total > 0.0, total, 1.0), np.nan)


def low_points(frames: Frames, poses: FloatArray) -> FloatArray:
    """Return the lowest point of each condyle at poses (K, 6) [rad, m], (K, 2, 3) [m].

    The point is the minimum of a quadratic height through the vertices nearest to the lowest one.
    """
    middle = middle_of(frames.centre_m)
    used = frames.femur_vertices[np.unique(frames.femur_faces)]
    found = np.full((len(poses), 2, 3), np.nan)
    for k, pose in enumerate(map(Pose.from_array, poses)):
        placed = used @ pose.rotation_matrix.T + pose.translation
        for side in range(2):
            condyle = placed[(placed[:, 2] > middle) == bool(side)]
            if len(condyle) >= _NEAREST:
                found[k, side] = _lowest(condyle)
    return found


def _lowest(points: FloatArray) -> FloatArray:
    """Return the lowest point (3,) of the surface through points (N, 3) [any unit]."""
    first = points[points[:, 1].argmin()]
    near = points[cKDTree(points).query(first, k=_NEAREST)[1]]
    reach = np.linalg.norm(near - first, axis=1).max()
    x, z = ((near - first)[:, [0, 2]] / reach).T
    terms = np.stack([np.ones_like(x), x, z, x * x, x * z, z * z], axis=1)
    c = np.linalg.lstsq(terms, near[:, 1] - first[1], rcond=None)[0]
    bend = np.array([[2.0 * c[3], c[4]], [c[4], 2.0 * c[5]]])
    if np.linalg.eigvalsh(bend)[0] <= 0.0:
        return np.asarray(first)  # no minimum: the edge of the surface
    place = np.linalg.solve(bend, -c[1:3])
    if np.linalg.norm(place) > 1.0:
        return np.asarray(first)
    height = c[0] + 0.5 * c[1:3] @ place
    away = np.array([reach * place[0], height, reach * place[1]])
    return np.asarray(first + away)


def _travel(values: FloatArray) -> float | None:
    known = values[np.isfinite(values)]
    return float(np.ptp(known)) if len(known) else None


def _path_of_contact(fields: ContactFields) -> Picture:
    frames = fields.frames
    centres = 1e3 * frames.centre_m[0]
    border = outline_of(1e3 * frames.tibia_vertices, frames.tibia_faces)
    x, y = ({n: centres[:, k, axis] for k, n in enumerate(COMPARTMENTS)} for axis in (2, 0))
    return chart(
        "path-of-contact", "Path of the centre of pressure on both plateaus", "lateral [mm]",
        "anterior [mm]", lines_of(y, x, width=2.6, along=frames.gait_percent), size=_MAP,
        equal=True, along="% of the cycle", title="Path of the centre of pressure",
        outlines=[{"x": rounded(each[:, 2]), "y": rounded(each[:, 0])} for each in border],
    )  # fmt: skip


def _rollback(fields: ContactFields) -> Picture:
    frames = fields.frames
    low = 1e3 * low_points(frames, frames.poses)
    x = dict.fromkeys(COMPARTMENTS, np.degrees(frames.poses[:, 0]))
    lines = []
    for word, points in (("low point", low), ("contact", 1e3 * frames.centre_m[0])):
        y = {name: points[:, k, 0] for k, name in enumerate(COMPARTMENTS)}
        for shown in lines_of(y, x, dashed=word == "contact"):
            lines.append(shown | {"name": f"{shown['name']} {word}"})
    return chart(
        "rollback", "AP position of the low points of the condyles and of the contact over flexion",
        "flexion [°]", "anterior [mm]", lines, size=fig.WIDE, title="Low points and rollback",
    )  # fmt: skip


def _area_above(fields: ContactFields) -> Picture:
    """Return the area above each pressure, at the highest peak and of the largest pressures."""
    model = MODELS[0]
    peak = fields.at_peak(model)
    top, _ = scale_of(1e-6 * float(fields.largest[model].max()))
    levels = np.linspace(0.0, top, _LEVELS)
    lines = []
    for words, values, dashed in (
        (f"at {fields.frames.gait_percent[peak]:.0f} %", fields.values[model][peak], False),
        ("largest over the cycle", fields.largest[model], True),
    ):
        areas = 1e6 * fields.area_above(values, 1e6 * levels)
        for shown in lines_of(dict(zip(COMPARTMENTS, areas, strict=True)), dashed=dashed):
            lines.append(shown | {"name": f"{shown['name']}, {words}"})
    return chart(
        "area-above-pressure", "Area above a pressure", "pressure [MPa]", "area above [mm²]", lines,
        size=fig.WIDE, at=levels, range=[0.0, top], from_zero=True, title="Area above a pressure",
    )  # fmt: skip
