"""Picture of the modes of shape: femur and tibia at weights of both signs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from foundation.anatomy.shape_modes import ShapeModes
from foundation.base.checks import FloatArray
from foundation.surfaces.smooth_surface import angle_weighted_normals
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.files import writing
from pipeline.preparation.surface_picture import (
    DOTS_PER_INCH,
    View,
    coarse_triangles,
    draw_triangles,
)

#: Largest number of modes that are drawn.
MOST = 4
_COLOURS = colormaps["RdBu_r"]
#: Directions to the viewer's right and up: the femur seen from below, the tibia from above.
_SEEN = {
    "femur": ("from inferior", (0.0, 0.0, -1.0), (1.0, 0.0, 0.0)),
    "tibia": ("from superior", (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
}


def draw_shape_modes(file: Path, modes: ShapeModes, size: float) -> None:
    """Write a PNG file with femur and tibia at weights of -size and +size of the first modes.

    `size` is in standard deviations or in units of the given displacements [1]. Colours are the
    displacements along the normals of the surfaces at weights of zero; the labels have the shares
    of the variance.
    """
    count = min(MOST, len(modes.modes))
    figure = Figure(figsize=(13.0, 3.2 * count), layout="constrained")
    rows = figure.subplots(count, 4, squeeze=False)
    heights = {
        body: _heights(modes, body, size)[:count] for body in ("femur", "tibia")
    }  # (count, V) each [mm]
    largest = max(float(np.abs(each).max()) for each in heights.values())
    scale = Normalize(-largest, largest)
    unit = "" if modes.shares is None else " sd"
    for number, row in enumerate(rows):
        weights = np.zeros(len(modes.modes))
        for place, sign in enumerate((-1.0, 1.0)):
            weights[number] = sign * size
            bodies = zip(("femur", "tibia"), modes.vertices(weights), strict=True)
            for axes, (body, vertices) in zip(row[place::2], bodies, strict=True):
                view = View(f"{body} at {sign * size:+g}{unit}, {_SEEN[body][0]}", *_SEEN[body][1:])
                colours = _COLOURS(scale(sign * heights[body][number]))
                _draw(axes, view, getattr(modes, body), vertices, colours)
        share = "" if modes.shares is None else f": {modes.shares[number]:.1%}"
        row[0].set_ylabel(f"mode {number + 1}{share}")
    bar = figure.colorbar(ScalarMappable(scale, _COLOURS), ax=rows, fraction=0.02)
    bar.set_label("displacement along the outward normal [mm]")
    with writing(file):
        figure.savefig(file, dpi=DOTS_PER_INCH, metadata={"Software": None})


def _draw(
    axes: Axes, view: View, mesh: TriangleMesh, vertices: FloatArray, colours: FloatArray
) -> None:
    """Draw the displaced vertices (V, 3) [m] of a mesh in colours (V, 4) [1]."""
    faces = coarse_triangles(mesh)
    draw_triangles(axes, view, [vertices[faces]], [colours[faces].mean(axis=1)])
    axes.margins(0.05)


def _heights(modes: ShapeModes, body: str, size: float) -> FloatArray:
    """Return the displacements along the normals at a weight `size` of each mode, (K, V) [mm]."""
    first = len(modes.femur.vertices)
    part = slice(None, first) if body == "femur" else slice(first, None)
    mesh: TriangleMesh = getattr(modes, body)
    normals = angle_weighted_normals(mesh.vertices, mesh.faces)
    return 1e3 * size * np.asarray((modes.displacements[:, part] * normals).sum(axis=2))
