"""Picture of a knee in the frames of its bodies: femur over tibia with axes, in four views."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from scipy.spatial import KDTree
from scipy.stats import binned_statistic_2d

from foundation.base.checks import FloatArray
from foundation.surfaces.surface_shape import selected
from foundation.surfaces.triangle_mesh import (
    MeshError,
    MeshWarning,
    TriangleMesh,
    degenerate_triangles,
    edge_length,
)
from pipeline.config.knee_schema import KneeConfig
from pipeline.files import writing
from pipeline.originals.mesh_loading import BearingPart, load_body

#: Cells in which the height between femur and tibia is compared, and within which vertices are
#: drawn as one [m].
_STEP, _CELL = 2e-3, 1.5e-3
#: Lengths of the drawn axes and of the scale [m].
_ARROW, _SCALE = 25e-3, 20e-3
#: Brightness of a triangle that is seen from its side.
_LIGHT = 0.35
_COLOURS = {
    "femur": (0.86, 0.71, 0.45),
    "tibia": (0.45, 0.65, 0.82),
    "femur left out": (0.8, 0.8, 0.8),
    "tibia left out": (0.8, 0.8, 0.8),
    "tibia edge": (0.85, 0.2, 0.2),
}
#: Distance from the bearing surface beyond which the rest of a body is not drawn [m].
_AWAY = 60e-3
_AXES = {"anterior": (1, 0, 0), "superior": (0, 1, 0), "lateral": (0, 0, 1)}


class _View(NamedTuple):
    """Title, directions to the viewer's right and up (3,), and bodies that are see-through."""

    title: str
    right: tuple[float, float, float]
    up: tuple[float, float, float]
    see_through: tuple[str, ...] = ()


_VIEWS = (
    _View("from anterior", (0, 0, -1), (0, 1, 0)),
    _View("from lateral", (1, 0, 0), (0, 1, 0)),
    _View("from superior", (0, 0, 1), (1, 0, 0), ("femur", "femur left out")),
    _View("oblique", (0.64, 0, -0.77), (-0.32, 0.91, -0.27)),
)


def draw_placed(config: Path, knee: KneeConfig, cross: FloatArray | None = None) -> Path | None:
    """Draw the meshes of a configuration as a run sees them; return the file of the picture.

    The femur is drawn unturned above the tibia, origins above each other, in first contact. What
    does not bear is drawn grey, the rounded edge of a shell in red. A cross marks a place (3,) [m]
    in the tibial frame. The picture is in the folder of the configuration. Returns None if a mesh
    cannot be used.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MeshWarning)
            # Smoothing takes long, and is not visible.
            parts = {
                body: load_body(knee, body, smooth_um=0.0).bearing for body in ("femur", "tibia")
            }
    except MeshError:  # reported by `check`
        return None
    drop = _drop(parts["femur"].mesh, parts["tibia"].mesh)
    shift = {"femur": np.array([0.0, -drop, 0.0]), "tibia": np.zeros(3)}
    bodies = {
        name: _coarse(mesh, shift[body])
        for body, part in parts.items()
        for name, mesh in _drawn(body, part).items()
    }
    figure = Figure(figsize=(13.0, 3.6), layout="constrained")
    row = figure.subplots(1, len(_VIEWS))
    for axes, view in zip(row, _VIEWS, strict=True):
        _draw(axes, view, bodies, shift["femur"], cross)
    side = "left knee, mirrored" if knee.side == "left" else "right knee"
    row[0].set_ylabel(f"{side}\ngrey and red do not bear")
    file = config.with_name(f"{config.stem}_frames.png")
    with writing(file):
        figure.savefig(file, dpi=110, metadata={"Software": None})
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


def _drawn(body: str, part: BearingPart) -> dict[str, TriangleMesh]:
    """Return the surfaces of a body by what they are, the names of `_COLOURS`.

    Surfaces that cartilage moves outwards lie above those of the bone, which are left out. Of what
    does not bear, the parts near that which does are drawn.
    """
    surfaces = {body: part.mesh}
    if part.edge is not None:
        surfaces[f"{body} edge"] = part.edge
    near, whole = part.mesh.vertices, part.whole
    taken = np.concatenate([mesh.centroids for mesh in surfaces.values()])
    edge, tree = edge_length(part.mesh), KDTree(taken, compact_nodes=False, balanced_tree=False)
    away = tree.query(whole.centroids, distance_upper_bound=edge)[0]
    low, high = near.min(axis=0) - _AWAY, near.max(axis=0) + _AWAY
    inside = ((low < whole.centroids) & (whole.centroids < high)).all(axis=1)
    rest = np.isinf(away) & inside
    if rest.any():
        surfaces[f"{body} left out"] = selected(whole, rest)
    return surfaces


def _coarse(mesh: TriangleMesh, shift: FloatArray) -> FloatArray:
    """Return the corners (F, 3, 3) of a coarse copy of a shifted mesh [m]."""
    cells = np.round(mesh.vertices / _CELL).astype(np.int64)
    _, first, group = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    faces = first[group.reshape(-1)][mesh.faces]
    faces = faces[~degenerate_triangles(mesh.vertices, faces)]
    return np.asarray((mesh.vertices + shift)[faces])


def _draw(
    axes: Axes,
    view: _View,
    bodies: dict[str, FloatArray],
    femur: FloatArray,
    cross: FloatArray | None,
) -> None:
    """Draw the corners (F, 3, 3) [m] of both bodies, and their axes; `femur` is its origin [m]."""
    right, up = np.array(view.right, dtype=float), np.array(view.up, dtype=float)
    right, towards = right / np.linalg.norm(right), np.cross(right, up)
    up = np.cross(towards, right) / np.linalg.norm(towards)
    flat, towards = np.stack([right, up], axis=1), np.cross(right, up)
    corners = np.concatenate(list(bodies.values()))
    opacity = {body: 0.25 if body in view.see_through else 1.0 for body in bodies}
    shades = np.repeat(
        [[*_COLOURS[body], opacity[body]] for body in bodies], list(map(len, bodies.values())), 0
    )
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.maximum(np.linalg.norm(normals, axis=1), np.finfo(float).tiny)
    shades[:, :3] *= (_LIGHT + (1.0 - _LIGHT) * np.abs(normals @ towards) / lengths)[:, None]
    order = np.argsort(corners.mean(axis=1) @ towards, kind="stable")
    # matplotlib takes an array several times faster than the list that its types ask for.
    ordered: Any = 1e3 * corners[order] @ flat
    axes.add_collection(PolyCollection(ordered, facecolors=shades[order], antialiaseds=False))
    axes.set(title=view.title, aspect="equal", xticks=[], yticks=[])
    low = ordered.min(axis=(0, 1))
    end = (float(low[0] + 1e3 * _SCALE), float(low[1] - 5.0))
    axes.plot([low[0], end[0]], [end[1], end[1]], color="black", lw=2.0)
    axes.annotate(f" {1e3 * _SCALE:g} mm", end, fontsize=7, va="center")
    for origin, colour in ((femur, "tab:red"), (np.zeros(3), "tab:blue")):
        _draw_axes(axes, 1e3 * origin @ flat, 1e3 * _ARROW * flat, colour)
    if cross is not None:
        at = (1e3 * cross @ flat).tolist()
        axes.plot(*at, marker="x", markersize=14.0, markeredgewidth=3.0, color="magenta")
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
        axes.update_datalim([end])  # an annotation outside the limits is not drawn
