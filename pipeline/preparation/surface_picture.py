"""Drawing of surfaces: coarse triangles with light, seen from a direction, with a scale."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from foundation.base.checks import FloatArray, IntArray
from foundation.surfaces.triangle_mesh import TriangleMesh, degenerate_triangles

#: Vertices within a cell are drawn as one [m].
_CELL = 1.5e-3
#: Length of the drawn scale [m].
_SCALE = 20e-3
#: Brightness of a triangle that is seen from its side.
_LIGHT = 0.35
DOTS_PER_INCH = 110


class View(NamedTuple):
    """Title, directions to the viewer's right and up (3,), and bodies that are see-through."""

    title: str
    right: tuple[float, float, float]
    up: tuple[float, float, float]
    see_through: tuple[str, ...] = ()


def coarse_triangles(mesh: TriangleMesh) -> IntArray:
    """Return the triangles (F, 3) over some of the vertices of a mesh, few enough to be drawn."""
    cells = np.round(mesh.vertices / _CELL).astype(np.int64)
    _, first, group = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    faces = first[group.reshape(-1)][mesh.faces]
    kept: IntArray = faces[~degenerate_triangles(mesh.vertices, faces)]
    return kept


def draw_triangles(
    axes: Axes, view: View, surfaces: list[FloatArray], colours: list[FloatArray]
) -> FloatArray:
    """Draw surfaces with a scale; return the projection (3, 2) [1] onto the picture.

    A surface has the corners (F, 3, 3) [m] of its triangles, and their colours (F, 4): red, green,
    blue and opacity [1]. The axes are in mm.
    """
    right, up = np.array(view.right, dtype=float), np.array(view.up, dtype=float)
    right, towards = right / np.linalg.norm(right), np.cross(right, up)
    up = np.cross(towards, right) / np.linalg.norm(towards)
    towards = np.cross(right, up)
    flat = np.stack([right, up], axis=1)
    corners, shades = np.concatenate(surfaces), np.concatenate(colours)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.maximum(np.linalg.norm(normals, axis=1), np.finfo(float).tiny)
    light = np.abs(normals @ towards) / lengths
    shades[:, :3] *= (_LIGHT + (1.0 - _LIGHT) * light)[:, None]
    order = np.argsort(corners.mean(axis=1) @ towards, kind="stable")
    # matplotlib takes an array several times faster than the list that its types ask for.
    ordered: Any = 1e3 * corners[order] @ flat
    axes.add_collection(PolyCollection(ordered, facecolors=shades[order], antialiaseds=False))
    axes.set(title=view.title, aspect="equal", xticks=[], yticks=[])
    low = (1e3 * corners @ flat).min(axis=(0, 1))
    end = (float(low[0] + 1e3 * _SCALE), float(low[1] - 5.0))
    axes.plot([low[0], end[0]], [end[1], end[1]], color="black", lw=2.0)
    axes.annotate(f" {1e3 * _SCALE:g} mm", end, fontsize=7, va="center")
    axes.autoscale_view()
    return flat
