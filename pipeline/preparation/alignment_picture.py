"""Picture of a knee in the frames of its bodies: femur over tibia with axes, in four views."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from scipy.stats import binned_statistic_2d

from foundation.base.checks import FloatArray
from foundation.surfaces.triangle_mesh import (
    MeshError,
    MeshWarning,
    TriangleMesh,
    degenerate_triangles,
)
from pipeline.config.knee_schema import KneeConfig
from pipeline.files import writing
from pipeline.originals.mesh_loading import load_surface

#: Vertices within a cell are drawn as one [m].
_CELL = 1.2e-3
#: Cells in which the height between femur and tibia is compared [m].
_STEP = 2e-3
#: Length of the drawn axes [m].
_ARROW = 25e-3
_COLOURS = {"femur": (0.86, 0.71, 0.45), "tibia": (0.45, 0.65, 0.82)}
_AXES = {"anterior": (1, 0, 0), "superior": (0, 1, 0), "lateral": (0, 0, 1)}
_LIGHT = 0.35
_DOTS_PER_INCH = 110


class _View(NamedTuple):
    """Title, directions to the viewer's right and up (3,), and bodies that are see-through."""

    title: str
    right: tuple[float, float, float]
    up: tuple[float, float, float]
    see_through: tuple[str, ...] = ()


_VIEWS = (
    _View("from anterior", (0, 0, -1), (0, 1, 0)),
    _View("from lateral", (1, 0, 0), (0, 1, 0)),
    _View("from superior", (0, 0, 1), (1, 0, 0), ("femur",)),
    _View("oblique", (0.64, 0, -0.77), (-0.32, 0.91, -0.27)),
)


def draw_alignment(file: Path, knees: dict[str, dict[str, TriangleMesh]]) -> None:
    """Write a PNG file with four views of each knee, one row per knee.

    Parameters
    ----------
    file : Path
        File to write.
    knees : dict of str to dict of str to TriangleMesh
        Title of each row, and its "femur" and "tibia" [m] in their frames. The femur is drawn
        unturned above the tibia, origins above each other, in first contact.
    """
    figure = Figure(figsize=(13.0, 3.6 * len(knees)), layout="constrained")
    rows = figure.subplots(len(knees), len(_VIEWS), squeeze=False)
    for row, (title, knee) in zip(rows, knees.items(), strict=True):
        drop = _drop(knee["femur"], knee["tibia"])
        shift = {"femur": np.array([0.0, -drop, 0.0]), "tibia": np.zeros(3)}
        bodies = {body: _coarse(mesh, shift[body]) for body, mesh in knee.items()}
        for axes, view in zip(row, _VIEWS, strict=True):
            _draw(axes, view, bodies, shift["femur"])
        row[0].set_ylabel(title)
    with writing(file):
        figure.savefig(file, dpi=_DOTS_PER_INCH, metadata={"Software": None})


def draw_placed(config: Path, knee: KneeConfig) -> Path | None:
    """Draw the meshes of a configuration as a run sees them; return the file of the picture.

    The picture is in the folder of the configuration. Returns None if a mesh cannot be used.
    """
    assert knee.femur is not None
    assert knee.tibia is not None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MeshWarning)
            meshes = {
                "femur": load_surface(knee.femur, knee.side, "femur").mesh,
                "tibia": load_surface(knee.tibia, knee.side, "tibia").mesh,
            }
    except MeshError:  # reported by `check`
        return None
    file = config.with_name(f"{config.stem}_frames.png")
    draw_alignment(file, {"left knee, mirrored" if knee.side == "left" else "right knee": meshes})
    return file


def _drop(femur: TriangleMesh, tibia: TriangleMesh) -> float:
    """Return how far the femur is above first contact [m], by cells seen from above."""
    low = np.minimum(femur.vertices.min(axis=0), tibia.vertices.min(axis=0))
    high = np.maximum(femur.vertices.max(axis=0), tibia.vertices.max(axis=0))
    bins = [np.arange(low[k], high[k] + 2.0 * _STEP, _STEP) for k in (0, 2)]
    sides = []
    for mesh, extreme in ((femur, np.min), (tibia, np.max)):
        x, y, z = mesh.vertices.T
        sides.append(binned_statistic_2d(x, z, y, extreme, bins=bins).statistic)
    gaps = sides[0] - sides[1]
    if not np.isfinite(gaps).any():
        return float(femur.vertices[:, 1].min() - tibia.vertices[:, 1].max())
    return float(np.nanmin(gaps))


def _coarse(mesh: TriangleMesh, shift: FloatArray) -> FloatArray:
    """Return the corners (F, 3, 3) of a coarse copy of a shifted mesh [m]."""
    cells = np.round(mesh.vertices / _CELL).astype(np.int64)
    _, first, group = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    faces = group.reshape(-1)[mesh.faces]
    corners = mesh.vertices[first] + shift
    return corners[faces[~degenerate_triangles(corners, faces)]]


def _draw(axes: Axes, view: _View, bodies: dict[str, FloatArray], femur: FloatArray) -> None:
    right, up = np.array(view.right, dtype=float), np.array(view.up, dtype=float)
    right, towards = right / np.linalg.norm(right), np.cross(right, up)
    up = np.cross(towards, right) / np.linalg.norm(towards)
    towards = np.cross(right, up)
    flat = np.stack([right, up], axis=1)
    polygons, colours, depths = [], [], []
    for body, corners in bodies.items():
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        light = np.abs(normals @ towards) / np.linalg.norm(normals, axis=1)
        shade = np.outer(_LIGHT + (1.0 - _LIGHT) * light, _COLOURS[body])
        alpha = 0.25 if body in view.see_through else 1.0
        polygons.append(1e3 * corners @ flat)
        colours.append(np.column_stack([shade, np.full(len(shade), alpha)]))
        depths.append(corners.mean(axis=1) @ towards)
    order = np.argsort(np.concatenate(depths), kind="stable")
    faces = PolyCollection(
        list(np.concatenate(polygons)[order]),
        facecolors=np.concatenate(colours)[order],
        antialiaseds=False,
    )
    axes.add_collection(faces)
    for origin, colour in ((femur, "tab:red"), (np.zeros(3), "tab:blue")):
        _draw_axes(axes, 1e3 * origin @ flat, 1e3 * _ARROW * flat, colour)
    axes.set(title=view.title, aspect="equal", xticks=[], yticks=[])
    axes.autoscale_view()
    axes.margins(0.08)


def _draw_axes(axes: Axes, origin: FloatArray, flat: FloatArray, colour: str) -> None:
    """Draw the axes of a body from its origin [mm]; `flat` (3, 2) projects an axis [mm]."""
    for name, direction in _AXES.items():
        tip = origin + np.array(direction) @ flat
        if np.linalg.norm(tip - origin) < 0.2e3 * _ARROW:
            continue
        end = (float(tip[0]), float(tip[1]))
        arrow = {"arrowstyle": "->", "color": colour, "lw": 1.5}
        axes.annotate("", end, (float(origin[0]), float(origin[1])), arrowprops=arrow)
        axes.annotate(name, end, color=colour, fontsize=7, ha="center", va="bottom")
