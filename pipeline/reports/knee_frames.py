"""The knee through the cycle: pictures at a few instants, and the data of the 3-D view.

Arrays of the view are base64 of little-endian numbers: they take little space in the page, and its
script reads them without a library. Lengths are in mm, pressures in MPa.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from foundation.checks import FloatArray
from foundation.loads import COMPARTMENTS
from foundation.pose import Pose
from foundation.quantities import QUANTITIES
from foundation.surfaces.mesh_topology import half_edges
from pipeline.files import plain
from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture, Triangles, picture
from pipeline.stages.frames import Frames
from pipeline.store.run_documents import MODELS

#: Instants that are drawn [% of the cycle]: both peaks of the axial force, the dwells between and
#: after them, and the swing.
DRAWN_INSTANTS = (0.0, 12.0, 26.0, 46.0, 56.0, 66.0, 76.0, 90.0)
_METAL, _PLASTIC = (0.72, 0.76, 0.82), (0.96, 0.93, 0.84)
# Direction of view: from the lateral side, turned to the front and raised [rad].
_TURN, _RAISE = np.radians(32.0), np.radians(20.0)
# The surfaces of an elastic foundation overlap where they touch: the femur is drawn as if it were
# this much nearer [mm].
_NEARER = 4.0
# Height of the block below the lowest point of the tibial side [mm].
_BLOCK = 5.0
# Width of a frame [inch].
_WIDTH = 2.5
#: Columns of the cycle beside the view, by their keys.
_BESIDE = {"peak_MPa": "peak_pressure_Pa", "force_N": "force_y_N"}
_SHADES = 256


def frame_pictures(
    frames: Frames | None, rows: list[dict[str, Any]]
) -> tuple[Picture | None, list[tuple[dict[str, Any], Picture]]]:
    """Return the colour scale of the frames and pictures of the knee at a few instants.

    Each picture has its row of the frames of `report.json`.
    """
    if frames is None:
        return None, []
    tibia = 1e3 * frames.tibia_vertices, frames.tibia_faces
    apart = np.abs(frames.gait_percent[:, None] - DRAWN_INSTANTS)
    chosen = np.unique(apart.argmin(axis=0)).tolist()
    femora = {}
    for k in chosen:
        pose = Pose.from_array(frames.poses[k])
        placed = frames.femur_vertices @ pose.rotation_matrix.T + pose.translation
        femora[k] = (1e3 * placed, frames.femur_faces)
    extent = extent_of([vertices for vertices, _ in femora.values()], tibia[0])
    limit = 1e-6 * float(frames.pressure_Pa.max()) or 1.0
    centres = 1e3 * frames.centre_m[MODELS.index("surrogate")]
    scale = Normalize(0.0, limit)
    pictures = []
    for k, femur in femora.items():
        percent, pressure = frames.gait_percent[k], 1e-6 * frames.pressure_Pa[k]
        text = f"Knee and pressure on the plateau at {percent:.0f} % of the gait cycle"
        drawn = _frame(text, femur, tibia, pressure, scale, centres[k], extent)
        pictures.append((rows[k], drawn))
    return _colour_bar(f"Colour scale of the pressure, 0 to {limit:.3g} MPa", scale), pictures


@picture("png")
def _colour_bar(scale: Normalize) -> Figure:
    figure = Figure(figsize=(4.0, 0.62), layout="constrained")
    place: Any = {"cax": figure.add_subplot(), "orientation": "horizontal"}
    figure.colorbar(ScalarMappable(scale, fig.SHADES), label="pressure [MPa]", **place)
    return figure


@picture("png")
def _frame(
    femur: Triangles,
    tibia: Triangles,
    pressure: FloatArray,
    scale: Normalize,
    centres: Sequence[ArrayLike],
    extent: Sequence[float],
) -> Figure:
    """Draw the knee at one instant, and below it the pressure on the plateau seen from above."""
    left, right, bottom, top = extent
    plan = np.ptp(tibia[0], axis=0)
    tall = _WIDTH * (top - bottom) / (right - left)
    flat = 0.76 * _WIDTH * (1.12 * plan[0]) / (1.12 * plan[2])
    whole = tall + flat + 0.55
    figure = Figure(figsize=(_WIDTH, whole))
    above = figure.add_axes((0.0, 1.0 - tall / whole, 1.0, tall / whole))
    shades = ScalarMappable(scale, fig.SHADES).to_rgba(pressure)[:, :3]
    above.add_collection(_surfaces(femur, tibia, np.where(pressure[:, None] > 0, shades, _PLASTIC)))
    above.set(xlim=extent[:2], ylim=extent[2:], aspect="equal")
    above.axis("off")
    _triad(above)
    below = figure.add_axes((0.19, 0.45 / whole, 0.76, flat / whole))
    fig.plateau_map(below, tibia, pressure, scale)
    fig.mark_sides(below)
    fig.mark_centres(below, centres, (2.2, 1.1))
    below.set_xlabel("lateral [mm]", labelpad=1.0)
    below.set_ylabel("anterior [mm]", labelpad=0.0)
    return figure


def projected(points: FloatArray) -> FloatArray:
    """Return points of the tibial frame (..., 3) [any unit] in an oblique view, (..., 3).

    The coordinates of the view are right, up, and towards the viewer.
    """
    right = np.array([np.cos(_TURN), 0.0, -np.sin(_TURN)])
    level = np.array([np.sin(_TURN), 0.0, np.cos(_TURN)])
    up = np.array([0.0, np.cos(_RAISE), 0.0]) - np.sin(_RAISE) * level
    eye = np.cos(_RAISE) * level + np.array([0.0, np.sin(_RAISE), 0.0])
    return np.asarray(points) @ np.column_stack([right, up, eye])


def extent_of(femora: Sequence[FloatArray], tibia: FloatArray) -> tuple[float, ...]:
    """Return left, right, bottom and top of the view of all frames [mm].

    `femora` are the vertices (V, 3) of the femur at each instant, `tibia` those of the plateau
    (U, 3), both in the tibial frame [mm].
    """
    foot = tibia.copy()
    foot[:, 1] = tibia[:, 1].min() - _BLOCK
    seen = projected(np.concatenate([*femora, tibia, foot]))
    (left, bottom, _), (right, top, _) = seen.min(axis=0) - 1.0, seen.max(axis=0) + 1.0
    return left, right, bottom, top


def _surfaces(femur: Triangles, tibia: Triangles, colours: FloatArray) -> PolyCollection:
    """Return both surfaces, the far triangles first, with the colours (F, 3) of the plateau."""
    walls = walls_of(tibia)
    corners, lit, depths = [], [], []
    for points, own, nearer in (
        (tibia[0][tibia[1]], colours, 0.0),
        (walls, np.broadcast_to(_PLASTIC, (len(walls), 3)), 0.0),
        (femur[0][femur[1]], np.broadcast_to(_METAL, (len(femur[1]), 3)), _NEARER),
    ):
        seen = projected(points)
        corners.append(seen)
        lit.append(own * _light(seen)[:, None])
        depths.append(seen[..., 2].mean(axis=1) + nearer)
    order = np.argsort(np.concatenate(depths), kind="stable")
    shown = np.clip(np.concatenate(lit), 0.0, 1.0)[order]
    flat: Any = np.concatenate(corners)[order][..., :2]
    return PolyCollection(flat, facecolors=shown, edgecolors=shown, lw=0.25)


def walls_of(tibia: Triangles) -> FloatArray:
    """Return triangles (W, 3, 3) [mm] from the border of a surface down to a level plane."""
    vertices, faces = tibia
    start, end, key = half_edges(faces, len(vertices))
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    border = first[count == 1]
    upper = vertices[np.column_stack([start[border], end[border]])]
    lower = upper.copy()
    lower[..., 1] = vertices[:, 1].min() - _BLOCK
    one = np.stack([upper[:, 1], upper[:, 0], lower[:, 0]], axis=1)
    other = np.stack([upper[:, 1], lower[:, 0], lower[:, 1]], axis=1)
    return np.concatenate([one, other])


def _light(seen: FloatArray) -> FloatArray:
    """Return the brightness of triangles (F,) under a lamp up and left of the viewer."""
    normals = np.cross(seen[:, 1] - seen[:, 0], seen[:, 2] - seen[:, 0])
    lengths = np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    normals = normals / lengths
    lit = np.abs(normals @ np.array([-0.35, 0.65, 0.67]))
    # The inside of an open surface lies in shade.
    return np.where(normals[:, 2] > 0.0, 0.45 + 0.6 * lit, 0.5 + 0.25 * lit)


def _triad(axes: Axes) -> None:
    """Mark anterior, superior and lateral in the corner."""
    box = axes.get_window_extent()
    shape = np.array([1.0, box.width / box.height])
    origin = np.array([0.86, 0.11])
    for tip, name in zip(projected(np.eye(3))[:, :2], "ASL", strict=True):
        axes.annotate(
            "",
            tuple(origin + 0.09 * tip * shape),
            tuple(origin),
            xycoords="axes fraction",
            textcoords="axes fraction",
            arrowprops={"arrowstyle": "-|>", "color": fig.INK, "lw": 0.9, "mutation_scale": 6},
        )
        x, y = origin + 0.12 * tip * shape
        axes.text(x, y, name, transform=axes.transAxes, ha="center", va="center", fontsize=8)


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
    shades = matplotlib.colormaps[fig.SHADES](np.linspace(0.0, 1.0, _SHADES))
    return np.asarray(np.rint(255.0 * shades[:, :3]))


def _packed(values: ArrayLike, kind: Any) -> str:
    array = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    return base64.b64encode(array.tobytes()).decode("ascii")
