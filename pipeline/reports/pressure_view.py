"""Data of the interactive pressure picture.

Arrays are base64 of little-endian numbers: they take little space in the page, and its script
reads them without a library. Lengths are in mm, pressures in MPa.
"""

from __future__ import annotations

import base64
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose
from foundation.base.quantities import QUANTITIES
from pipeline.files import plain
from pipeline.reports import figures as fig
from pipeline.reports.inputs import nearest_rows
from pipeline.reports.pressure_field import ContactFields, outline_of, scale_of
from pipeline.store.run_documents import MODELS

#: Columns of the cycle beside the view, by their keys.
_BESIDE = {"peak": "peak_pressure_Pa", "force": "force_y_N", "area": "area_m2"}
_SHADES = 256
# Height of the block below the lowest point of the tibial side [mm].
_BLOCK = 5.0


def view_data(
    fields: ContactFields | None, cycles: dict[str, pd.DataFrame]
) -> dict[str, Any] | None:
    """Return the data of the pressure picture, ready for JSON, or None if there are no fields."""
    if fields is None:
        return None
    frames, values = fields.frames, fields.values
    peak = max(1.0, float(values.max()))
    used = np.unique(frames.tibia_faces)
    # Outside a patch the neighbours of its vertices place its edge.
    inside: NDArray[np.bool_] = np.any(values > 0.0, axis=0)
    near = _with_neighbours(inside[used], np.searchsorted(used, frames.tibia_faces))
    whole = np.iinfo(np.int16).max
    steps = np.clip(np.rint(whole * values[:, used][:, near] / peak), -whole, whole)
    rows = nearest_rows(cycles[MODELS[0]], frames.gait_percent)
    beside = {
        key: QUANTITIES[column].for_people(rows[[f"{name}_{column}" for name in COMPARTMENTS]]).T
        for key, column in _BESIDE.items()
    }
    moved = [
        np.append(pose.rotation_matrix.ravel(), 1e3 * pose.translation)
        for pose in map(Pose.from_array, frames.poses)
    ]
    top, step = scale_of(1e-6 * peak)
    tibia = 1e3 * frames.tibia_vertices, frames.tibia_faces
    view = {
        "percent": frames.gait_percent,
        "peak_MPa": 1e-6 * peak,
        "top_MPa": top,
        "step_MPa": step,
        "femur": _surface(1e3 * frames.femur_vertices, frames.femur_faces),
        "tibia": _surface(*tibia),
        "walls": _packed(walls_of(tibia), np.float32),
        "side": _packed(fields.side, np.uint8),
        "active": _packed(np.flatnonzero(near), np.uint32),
        "colours": _packed(_colours(), np.uint8),
        "flexion_deg": np.degrees(frames.poses[:, 0]),
        "pose": _packed(moved, np.float32),
        "centre_mm": 1e3 * frames.centre_m[0],
        "values": _packed(steps, np.int16),
        "beside": beside,
    }
    return dict(plain(view))


def _with_neighbours(chosen: NDArray[np.bool_], faces: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return chosen vertices (V,) and all that share a triangle with them."""
    near = chosen.copy()
    near[faces[chosen[faces].any(axis=1)]] = True
    return near


def walls_of(tibia: fig.Triangles) -> FloatArray:
    """Return triangles (W, 3, 3) [mm] from the border of a surface down to a level plane."""
    vertices, faces = tibia
    walls = []
    for upper in outline_of(vertices, faces):
        lower = upper.copy()
        lower[:, 1] = vertices[:, 1].min() - _BLOCK
        walls.append(np.stack([upper[1:], upper[:-1], lower[:-1]], axis=1))
        walls.append(np.stack([upper[1:], lower[:-1], lower[1:]], axis=1))
    return np.concatenate(walls)


def _surface(vertices: FloatArray, faces: NDArray[np.int64]) -> dict[str, str]:
    """Return a surface without unused vertices."""
    used, place = np.unique(faces, return_inverse=True)
    corners = place.reshape(-1)
    kind = np.uint16 if len(used) <= np.iinfo(np.uint16).max else np.uint32
    return {
        "vertices": _packed(vertices[used], np.float32),
        "faces": _packed(corners, kind),
        "index": f"uint{8 * np.dtype(kind).itemsize}",
    }


def _colours() -> FloatArray:
    """Return the colour scale, red, green and blue of each shade, 0 to 255."""
    shades = matplotlib.colormaps[fig.SHADES](np.linspace(0.0, 1.0, _SHADES))
    return np.asarray(np.rint(255.0 * shades[:, :3]))


def _packed(values: ArrayLike, kind: Any) -> str:
    array = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    return base64.b64encode(array.tobytes()).decode("ascii")
