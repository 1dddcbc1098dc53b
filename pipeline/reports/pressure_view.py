"""Data of the 3-D view of the report: surfaces, poses and pressures through the cycle, packed.

Arrays are base64 of little-endian numbers: they take little space in the page, and its script reads
them without a library. Lengths are in mm, pressures in MPa.
"""

from __future__ import annotations

import base64
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from foundation.checks import FloatArray
from foundation.loads import COMPARTMENTS
from foundation.pose import Pose
from foundation.quantities import QUANTITIES
from pipeline.files import plain
from pipeline.reports.figures import SHADES
from pipeline.reports.knee_frames import walls_of
from pipeline.stages.frames import Frames

#: Columns of the cycle beside the view, by their keys.
_BESIDE = {"peak_MPa": "peak_pressure_Pa", "force_N": "force_y_N"}
_SHADES = 256


def view_data(frames: Frames | None, cycles: dict[str, pd.DataFrame]) -> dict[str, Any] | None:
    """Return the data of the 3-D view, ready for JSON, or None if there are no frames.

    The simulated cycle of each model gives the figures beside the view.
    """
    if frames is None:
        return None
    poses = {"original": frames.poses, "surrogate": frames.surrogate_poses}
    pressure = {"original": frames.pressure_Pa, "surrogate": frames.surrogate_pressure_Pa}
    models = [name for name in poses if poses[name] is not None]
    stacked = np.array([pressure[name] for name in models])
    active = np.flatnonzero((stacked > 0.0).any(axis=(0, 1)))
    limit = float(stacked.max()) or 1e6
    tibia = 1e3 * frames.tibia_vertices, frames.tibia_faces
    shown = {name: _of_model(frames, poses[name], cycles[name], k) for k, name in enumerate(models)}
    # Shades 0 to 255; 0 means no contact.
    shades = np.maximum(np.rint((_SHADES - 1) * stacked[:, :, active] / limit), 1.0)
    levels = np.where(stacked[:, :, active] > 0.0, shades, 0.0)
    for name, of_model in zip(models, levels, strict=True):
        shown[name]["levels"] = _packed(of_model, np.uint8)
    view = {
        "percent": frames.gait_percent,
        "limit_MPa": 1e-6 * limit,
        "femur": _surface(1e3 * frames.femur_vertices, frames.femur_faces),
        "tibia": _surface(*tibia),
        "walls": _packed(walls_of(tibia), np.float32),
        "active": _packed(active, np.uint32),
        "colours": _packed(_colours(), np.uint8),
        "models": shown,
    }
    return dict(plain(view))


def colour_stops(count: int = 9) -> list[str]:
    """Return colours of the scale at even distances, the lowest first, in the syntax of CSS."""
    chosen = np.linspace(0, _SHADES - 1, count).astype(int)
    return [f"rgb({r:.0f}, {g:.0f}, {b:.0f})" for r, g, b in _colours()[chosen]]


def _of_model(frames: Frames, poses: Any, cycle: pd.DataFrame, place: int) -> dict[str, Any]:
    """Return the motion of a model's cycle and the figures beside it, medial then lateral."""
    percent = cycle["gait_percent"].to_numpy()
    rows = cycle.iloc[[int(np.argmin(np.abs(percent - p))) for p in frames.gait_percent]]
    beside = {
        key: QUANTITIES[column].for_people(rows[[f"{name}_{column}" for name in COMPARTMENTS]]).T
        for key, column in _BESIDE.items()
    }
    moved = [
        np.append(pose.rotation_matrix.ravel(), 1e3 * pose.translation)
        for pose in map(Pose.from_array, poses)
    ]
    return {
        "flexion_deg": np.degrees(poses[:, 0]),
        "pose": _packed(moved, np.float32),
        "centre_mm": 1e3 * frames.centre_m[place],
        **beside,
    }


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
    shades = matplotlib.colormaps[SHADES](np.linspace(0.0, 1.0, _SHADES))
    return np.asarray(np.rint(255.0 * shades[:, :3]))


def _packed(values: ArrayLike, kind: Any) -> str:
    array = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    return base64.b64encode(array.tobytes()).decode("ascii")
