"""Pictures of a simulated cycle: frames of the knee, maps of wear, all combinations of inputs.

As in `pipeline.reports.figures`, each function takes arrays and returns an image as a data URI.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.tri import Triangulation
from numpy.typing import ArrayLike, NDArray

from foundation.checks import FloatArray
from pipeline.reports.figures import BLUE, GREY, INK, ORANGE, SHADES, VERMILLION, picture

Triangles = tuple[FloatArray, NDArray[np.int64]]

#: Colour of each kind of input that a combination changes (Okabe-Ito).
INPUT_COLOURS = {
    "nominal": INK,
    "axial force": BLUE,
    "AP force": ORANGE,
    "torque": "#009E73",
    "flexion": "#CC79A7",
    "all loads": VERMILLION,
}
_METAL, _PLASTIC = (0.72, 0.76, 0.82), (0.96, 0.93, 0.84)
# Where the eye stands: from the lateral side, turned to the front and raised [rad].
_TURN, _RAISE = np.radians(32.0), np.radians(20.0)
# The surfaces of an elastic foundation overlap where they touch: the femur is drawn as if it were
# this much nearer [mm].
_NEARER = 4.0
# How far below its lowest point the tibial side is drawn as a block [mm].
_BLOCK = 5.0
# Of a frame [inch].
_WIDTH = 2.5
_DASHES: Any = (0, (4.0, 1.5))


@picture("png")
def frame_panel(
    femur_mm: Triangles,
    tibia_mm: Triangles,
    pressure_MPa: FloatArray,
    limit_MPa: float,
    centres_mm: Sequence[ArrayLike],
    extent_mm: Sequence[float],
) -> Figure:
    """Draw the knee at one instant, and below it the pressure on the plateau seen from above.

    Parameters
    ----------
    femur_mm, tibia_mm : ((V, 3) float64, (F, 3) int64)
        Vertices [mm] in the tibial frame (anterior, superior, lateral) and triangles.
    pressure_MPa : (F,) float64
        On the tibial triangles.
    limit_MPa : float
        Upper end of the colour scale.
    centres_mm : sequence of (3,)
        Centres of pressure of the surrogate, marked by crosses; NaN is left out.
    extent_mm : four float
        Left, right, bottom, top of the upper picture, so that all frames share one scale.
    """
    left, right, bottom, top = extent_mm
    plan = np.ptp(tibia_mm[0], axis=0)
    tall = _WIDTH * (top - bottom) / (right - left)
    flat = 0.76 * _WIDTH * (1.12 * plan[0]) / (1.12 * plan[2])
    whole = tall + flat + 0.55
    figure = Figure(figsize=(_WIDTH, whole))
    above = figure.add_axes((0.0, 1.0 - tall / whole, 1.0, tall / whole))
    _knee(above, femur_mm, tibia_mm, pressure_MPa, Normalize(0.0, limit_MPa), extent_mm)
    below = figure.add_axes((0.19, 0.45 / whole, 0.76, flat / whole))
    _map(below, tibia_mm, pressure_MPa, Normalize(0.0, limit_MPa))
    _crosses(below, centres_mm)
    below.set_xlabel("lateral [mm]", labelpad=1.0)
    below.set_ylabel("anterior [mm]", labelpad=0.0)
    return figure


def projected(points: FloatArray) -> FloatArray:
    """Return points of the tibial frame as seen obliquely: right, up, towards the eye (..., 3)."""
    right = np.array([np.cos(_TURN), 0.0, -np.sin(_TURN)])
    level = np.array([np.sin(_TURN), 0.0, np.cos(_TURN)])
    up = np.array([0.0, np.cos(_RAISE), 0.0]) - np.sin(_RAISE) * level
    eye = np.cos(_RAISE) * level + np.array([0.0, np.sin(_RAISE), 0.0])
    return np.asarray(points) @ np.column_stack([right, up, eye])


def extent_of(femora_mm: Sequence[FloatArray], tibia_mm: FloatArray) -> tuple[float, ...]:
    """Return left, right, bottom, top [mm] of what `frame_panel` draws of these vertices."""
    foot = tibia_mm.copy()
    foot[:, 1] = tibia_mm[:, 1].min() - _BLOCK
    seen = projected(np.concatenate([*femora_mm, tibia_mm, foot]))
    (left, bottom, _), (right, top, _) = seen.min(axis=0) - 1.0, seen.max(axis=0) + 1.0
    return left, right, bottom, top


def _knee(
    axes: Axes,
    femur: Triangles,
    tibia: Triangles,
    pressure: FloatArray,
    scale: Normalize,
    extent: Sequence[float],
) -> None:
    """Draw both surfaces, the far triangles first."""
    shown = ScalarMappable(scale, SHADES).to_rgba(pressure)[:, :3]
    plastic = np.where(pressure[:, None] > 0.0, shown, _PLASTIC)
    metal = np.broadcast_to(_METAL, (len(femur[1]), 3))
    walls = walls_of(tibia)
    sides = np.broadcast_to(_PLASTIC, (len(walls), 3))
    corners, colours, depths = [], [], []
    for points, own, nearer in (
        (tibia[0][tibia[1]], plastic, 0.0),
        (walls, sides, 0.0),
        (femur[0][femur[1]], metal, _NEARER),
    ):
        seen = projected(points)
        corners.append(seen)
        colours.append(own * _light(seen)[:, None])
        depths.append(seen[..., 2].mean(axis=1) + nearer)
    triangles, shades = np.concatenate(corners), np.clip(np.concatenate(colours), 0.0, 1.0)
    order = np.argsort(np.concatenate(depths), kind="stable")
    shades = shades[order]
    flat: Any = triangles[order][..., :2]
    drawn = PolyCollection(flat, facecolors=shades, edgecolors=shades, lw=0.25)
    axes.add_collection(drawn)
    axes.set(xlim=extent[:2], ylim=extent[2:], aspect="equal")
    axes.axis("off")
    _triad(axes)


def walls_of(tibia: Triangles) -> FloatArray:
    """Return triangles (W, 3, 3) from the border of a surface down to a level plane."""
    vertices, faces = tibia
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    _, first, count = np.unique(
        np.sort(edges, axis=1), axis=0, return_index=True, return_counts=True
    )
    upper = vertices[edges[first[count == 1]]]
    lower = upper.copy()
    lower[..., 1] = vertices[:, 1].min() - _BLOCK
    one = np.stack([upper[:, 1], upper[:, 0], lower[:, 0]], axis=1)
    other = np.stack([upper[:, 1], lower[:, 0], lower[:, 1]], axis=1)
    return np.concatenate([one, other])


def _light(seen: FloatArray) -> FloatArray:
    """Return the brightness of triangles (F,) under a lamp up and left of the eye."""
    normals = np.cross(seen[:, 1] - seen[:, 0], seen[:, 2] - seen[:, 0])
    lengths = np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    normals = normals / lengths
    lamp = np.array([-0.35, 0.65, 0.67])
    front = normals[:, 2] > 0.0
    lit = np.abs(normals @ lamp)
    # The inside of an open surface lies in shade.
    return np.where(front, 0.45 + 0.6 * lit, 0.5 + 0.25 * lit)


def _triad(axes: Axes) -> None:
    """Mark anterior, superior and lateral in the corner."""
    tips = projected(np.eye(3))[:, :2]
    box = axes.get_window_extent()
    shape = np.array([1.0, box.width / box.height])
    origin = np.array([0.86, 0.11])
    for tip, name in zip(tips, "ASL", strict=True):
        end_x, end_y = origin + 0.09 * tip * shape
        axes.annotate(
            "",
            (end_x, end_y),
            (origin[0], origin[1]),
            xycoords="axes fraction",
            textcoords="axes fraction",
            arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 0.9, "mutation_scale": 6},
        )
        x, y = origin + 0.12 * tip * shape
        axes.text(x, y, name, transform=axes.transAxes, ha="center", va="center", fontsize=8)


def _map(axes: Axes, tibia: Triangles, values: FloatArray, scale: Normalize) -> None:
    """Draw values on the plateau seen from above, with the letters of its sides."""
    vertices, faces = tibia
    mesh = Triangulation(vertices[:, 2], vertices[:, 0], faces)
    axes.grid(visible=False)
    # Where nothing is, the plateau itself is seen, in grey.
    axes.tripcolor(mesh, facecolors=np.ones(len(faces)), cmap="Greys", vmin=0.0, vmax=8.0)
    shown = np.ma.masked_less_equal(values, 0.0)
    axes.tripcolor(mesh, facecolors=shown, cmap=SHADES, norm=scale)
    axes.margins(0.06)
    axes.set_aspect("equal")
    axes.locator_params(nbins=5)
    for x, y, letter in ((0.5, 0.93, "A"), (0.5, 0.07, "P"), (0.03, 0.5, "M"), (0.97, 0.5, "L")):
        axes.text(x, y, letter, transform=axes.transAxes, ha="center", va="center", weight="bold")


def _crosses(axes: Axes, centres: Sequence[ArrayLike]) -> None:
    known = np.array([c for c in centres if np.isfinite(c).all()]).reshape(-1, 3)
    for colour, size, width in (("white", 7, 2.2), (VERMILLION, 6, 1.1)):
        axes.plot(known[:, 2], known[:, 0], "+", color=colour, ms=size, mew=width)


@picture("png")
def colour_bar(limit: float, label: str) -> Figure:
    """Draw the colour scale that the frames share, from 0 to a limit."""
    figure = Figure(figsize=(4.0, 0.62), layout="constrained")
    shade = ScalarMappable(Normalize(0.0, limit), SHADES)
    figure.colorbar(shade, cax=figure.add_subplot(), orientation="horizontal", label=label)
    return figure


@picture("png")
def wear_panel(
    tibia_mm: Triangles, depth_um: Sequence[FloatArray], titles: Sequence[str], label: str
) -> Figure:
    """Draw worn depths on the plateau seen from above, beside each other in one colour scale.

    Parameters
    ----------
    tibia_mm : ((V, 3) float64, (F, 3) int64)
        Vertices [mm] and triangles.
    depth_um : sequence of (F,) float64
        Depth of each triangle [µm].
    titles : sequence of str
        What stands over each.
    label : str
        Of the colour scale.
    """
    figure = Figure(figsize=(8.2, 3.3), layout="constrained")
    halves = figure.subplots(1, len(depth_um), sharex=True, sharey=True)
    scale = Normalize(0.0, max(float(np.max(depth_um)), 1e-12))
    for axes, depth, title in zip(halves, depth_um, titles, strict=True):
        _map(axes, tibia_mm, depth, scale)
        axes.set_title(title, loc="left")
        axes.set_xlabel("lateral [mm]")
    halves[0].set_ylabel("anterior [mm]")
    shade = ScalarMappable(scale, SHADES)
    figure.colorbar(shade, ax=list(halves), label=label, shrink=0.85, pad=0.02)
    return figure


@picture("png")
def combinations_panel(
    percent: ArrayLike,
    original: Mapping[str, ArrayLike],
    surrogate: Mapping[str, ArrayLike],
    label: str,
    difference: tuple[float, str],
) -> Figure:
    """Draw one quantity over the cycle for all combinations, and the differences below.

    Parameters
    ----------
    percent : (N,)
        Instants [% of the cycle].
    original, surrogate : mapping
        Combination -> (N,) values; NaN leaves a gap. The colour is that of its input.
    label : str
        Name and unit of the quantity.
    difference : float and str
        Factor from that unit to that of the differences, and their label.
    """
    figure = Figure(figsize=(4.6, 3.9), layout="constrained")
    axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    factor, unit = difference
    for name, values in original.items():
        colour = colour_of(name)
        axes.plot(percent, values, color=colour, lw=3.0, alpha=0.35)
        axes.plot(percent, surrogate[name], color=colour, lw=0.9, ls=_DASHES)
        gap = factor * (np.asarray(surrogate[name]) - np.asarray(values))
        below.plot(percent, gap, color=colour, lw=0.8)
    axes.set_ylabel(label)
    below.set(xlabel="gait cycle [%]", ylabel=unit, xlim=(0.0, 100.0))
    figure.legend(handles=_legend(), loc="outside upper center", ncols=4, handlelength=1.8)
    return figure


def _legend() -> list[Line2D]:
    """Return the line of each model and the colour of each input."""
    return [
        Line2D([], [], color=GREY, lw=3.0, alpha=0.5, label="original"),
        Line2D([], [], color=INK, lw=0.9, ls=_DASHES, label="surrogate"),
        *(Line2D([], [], color=c, lw=2.0, label=n) for n, c in INPUT_COLOURS.items()),
    ]


def colour_of(combination: str) -> str:
    """Return the colour of the input that a combination changes."""
    found = (c for name, c in INPUT_COLOURS.items() if combination.startswith(name))
    return next(found, GREY)
