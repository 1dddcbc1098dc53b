"""The knee through the cycle: pictures at a few instants. Lengths are in mm, pressures in MPa."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray
from foundation.base.pose import Pose
from foundation.surfaces.mesh_topology import half_edges
from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture, Triangles, picture
from pipeline.reports.pressure_field import ContactFields
from pipeline.store.run_documents import MODELS

#: Instants that are drawn [% of the cycle]: both peaks of the axial force, the dwells between and
#: after them, and the swing.
DRAWN_INSTANTS = (0.0, 12.0, 26.0, 46.0, 56.0, 66.0, 76.0, 90.0)
_GLASS, _PLASTIC = (0.33, 0.42, 0.55), (0.96, 0.93, 0.84)
# Direction of view: from the lateral side, turned to the front and raised [rad].
_TURN, _RAISE = np.radians(32.0), np.radians(20.0)
# Height of the block below the lowest point of the tibial side [mm].
_BLOCK = 5.0
# Width of a frame [inch].
_WIDTH = 2.5


def frame_pictures(
    fields: ContactFields | None, rows: list[dict[str, float]] | None
) -> tuple[Picture | None, list[tuple[dict[str, float], Picture]]]:
    """Return the colour scale of the frames and pictures of the knee at a few instants.

    Each picture has its row of the frames of `report.json`.
    """
    if fields is None or rows is None:
        return None, []
    frames = fields.frames
    tibia = 1e3 * frames.tibia_vertices, frames.tibia_faces
    apart = np.abs(frames.gait_percent[:, None] - DRAWN_INSTANTS)
    chosen = np.unique(apart.argmin(axis=0)).tolist()
    femora = {}
    for k in chosen:
        pose = Pose.from_array(frames.poses[k])
        placed = frames.femur_vertices @ pose.rotation_matrix.T + pose.translation
        femora[k] = (1e3 * placed, frames.femur_faces)
    extent = extent_of([vertices for vertices, _ in femora.values()], tibia[0])
    centres = 1e3 * frames.centre_m[MODELS.index("surrogate")]
    bands = fig.bands_of(1e-6 * fields.peak)
    pictures = []
    for k, femur in femora.items():
        percent, pressure = frames.gait_percent[k], 1e-6 * fields.values[MODELS[0]][k]
        text = f"Knee and pressure on the plateau at {percent:.0f} % of the gait cycle"
        drawn = _frame(text, femur, tibia, pressure, bands, centres[k], extent)
        pictures.append((rows[k], drawn))
    return _colour_bar(f"Colour scale of the pressure, 0 to {bands[-1]:.3g} MPa", bands), pictures


@picture("png")
def _colour_bar(bands: FloatArray) -> Figure:
    figure = Figure(figsize=(4.0, 0.62), layout="constrained")
    place: Any = {"cax": figure.add_subplot(), "orientation": "horizontal"}
    shades = ScalarMappable(fig.band_scale(bands), fig.SHADES)
    figure.colorbar(shades, label="pressure [MPa]", ticks=bands, **place)
    return figure


@picture("png")
def _frame(
    femur: Triangles,
    tibia: Triangles,
    pressure: FloatArray,
    bands: FloatArray,
    centres: Sequence[ArrayLike],
    extent: Sequence[float],
) -> Figure:
    """Draw the knee at one instant, and below it the pressure on the plateau seen from above.

    `pressure` (V,) is the field at the vertices of the plateau, and `bands` the ends of its bands
    [MPa]. The femur is see-through.
    """
    left, right, bottom, top = extent
    plan = np.ptp(tibia[0], axis=0)
    tall = _WIDTH * (top - bottom) / (right - left)
    flat = 0.76 * _WIDTH * (1.12 * plan[0]) / (1.12 * plan[2])
    whole = tall + flat + 0.55
    figure = Figure(figsize=(_WIDTH, whole))
    above = figure.add_axes((0.0, 1.0 - tall / whole, 1.0, tall / whole))
    above.add_collection(_block(tibia))
    seen = projected(tibia[0])
    fig.pressure_contours(above, seen[:, 0], seen[:, 1], tibia[1], pressure, bands)
    above.add_collection(_glass(femur))
    above.set(xlim=extent[:2], ylim=extent[2:], aspect="equal")
    above.axis("off")
    _triad(above)
    below = figure.add_axes((0.19, 0.45 / whole, 0.76, flat / whole))
    fig.pressure_map(below, tibia, pressure, bands)
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


def _block(tibia: Triangles) -> PolyCollection:
    """Return the plateau and the walls below its border, the far triangles first."""
    seen = projected(np.concatenate([tibia[0][tibia[1]], walls_of(tibia)]))
    seen = seen[np.argsort(seen[..., 2].mean(axis=1), kind="stable")]
    corners: Any = seen[..., :2]
    shown = np.clip(np.array(_PLASTIC) * _light(seen)[:, None], 0.0, 1.0)
    return PolyCollection(corners, facecolors=shown, edgecolors=shown, lw=0.25)


def _glass(femur: Triangles) -> PolyCollection:
    """Return the side of the femur that faces the viewer as glass, densest at its rim."""
    vertices, faces = projected(femur[0]), femur[1]
    seen = vertices[faces]
    normals = np.cross(seen[:, 1] - seen[:, 0], seen[:, 2] - seen[:, 0])
    # Normals of the vertices: those of single triangles of a simplified surface are uneven.
    summed = np.zeros_like(vertices)
    np.add.at(summed, faces.reshape(-1), np.repeat(normals, 3, axis=0))
    smooth = summed[faces].mean(axis=1)
    facing = smooth[:, 2] / np.maximum(np.linalg.norm(smooth, axis=1), 1e-300)
    corners: Any = seen[facing > 0.0][..., :2]
    facing = facing[facing > 0.0]
    colours = np.tile((*_GLASS, 0.0), (len(corners), 1))
    colours[:, 3] = 0.05 + 0.55 * (1.0 - facing) ** 2
    return PolyCollection(corners, facecolors=colours, lw=0.0, antialiased=False)


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
