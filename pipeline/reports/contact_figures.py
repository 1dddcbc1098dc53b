"""Figures of the contact over the cycle: its travel, and low points of the condyles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose
from pipeline.reports import figures as fig
from pipeline.reports.charts import chart, lines_of, rounded
from pipeline.reports.figures import Picture
from pipeline.reports.inputs import RunFiles
from pipeline.reports.pressure_field import middle_of, outline_of
from pipeline.stages.gait_cycle import Frames
from pipeline.store.quantities import to_display

#: Vertices of a condyle that place its lowest point.
_NEAREST = 24
_MAP = (5.2, 3.6)


def contact_of(files: RunFiles) -> dict[str, Any] | None:
    """Return the travel of the contact over the cycle of the original; None without frames."""
    if (fields := files.fields) is None:
        return None
    frames = fields.frames
    centres, low = frames.centre_m[0], low_points(frames, frames.poses)
    travel = {
        name: {
            "contact_ap_travel_m": _travel(centres[:, k, 0]),
            "contact_ml_travel_m": _travel(centres[:, k, 2]),
            "low_point_ap_travel_m": _travel(low[:, k, 0]),
        }
        for k, name in enumerate(COMPARTMENTS)
    }
    return {"compartments": to_display(travel)}


def contact_pictures(files: RunFiles) -> Iterator[Picture]:
    """Yield the path of the contact, and its place over flexion; none without frames."""
    if (fields := files.fields) is not None:
        yield _path_of_contact(fields.frames)
        yield _rollback(fields.frames)


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


def _path_of_contact(frames: Frames) -> Picture:
    centres = 1e3 * frames.centre_m[0]
    border = outline_of(1e3 * frames.tibia_vertices, frames.tibia_faces)
    x, y = ({n: centres[:, k, axis] for k, n in enumerate(COMPARTMENTS)} for axis in (2, 0))
    return chart(
        "path-of-contact", "Path of the centre of pressure on both plateaus", "lateral [mm]",
        "anterior [mm]", lines_of(y, x, width=2.6, along=frames.gait_percent), size=_MAP,
        equal=True, along="% of the cycle", title="Path of the centre of pressure",
        outlines=[{"x": rounded(each[:, 2]), "y": rounded(each[:, 0])} for each in border],
    )  # fmt: skip


def _rollback(frames: Frames) -> Picture:
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
