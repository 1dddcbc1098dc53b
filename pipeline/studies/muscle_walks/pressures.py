"""Pressure on the beds of the contacts over a walk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from dynamics.musculoskeletal import ComakResult, JointContact
from foundation.base.checks import FloatArray, IntArray
from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture, Triangles, picture
from pipeline.reports.pressure_field import vertex_pressures
from pipeline.studies.muscle_walks.setup import WalkSetup
from pipeline.studies.muscle_walks.tables import whole_motion

#: Maps in a picture.
_MAPS = 8
_DIRECTIONS = ("forward", "up", "right")


@dataclass(frozen=True, eq=False)
class PressureHistory:
    """Pressure (N, V) [Pa] on the bed of a contact over a walk."""

    #: Name of the contact.
    name: str
    #: Vertices of the bed, in its frame, (V, 3) [m].
    vertices: FloatArray
    #: Triangles, (F, 3).
    faces: IntArray
    #: Instants, (N,) [s].
    time: FloatArray
    #: Pressure at the vertices, negative out of contact, (N, V) [Pa].
    values: FloatArray

    @property
    def peak(self) -> float:
        """Largest pressure [Pa], at least 1 Pa."""
        return max(1.0, float(self.values.max()))


def pressure_history(
    setup: WalkSetup, result: ComakResult, contact: JointContact
) -> PressureHistory:
    """Return the pressure of a contact, which has surfaces, at the poses of a walk."""
    motion = whole_motion(setup, result)
    places = motion.index(contact.coordinates)
    poses = [contact.pose(row[places]) for row in motion.values]
    bed: Any = contact.model
    pressure = np.array([bed.spring_state(pose).pressure for pose in poses])
    vertices, faces = np.asarray(bed.tibia.vertices), np.asarray(bed.tibia.faces, dtype=np.int64)
    values = vertex_pressures(vertices, faces, pressure)
    return PressureHistory(contact.name, vertices, faces, result.time, values)


def pressure_pictures(history: PressureHistory) -> list[Picture]:
    """Return maps of the pressure at instants of a walk, and of its largest values."""
    right, up, labels = _view(history)
    shown = np.column_stack([up, np.zeros_like(up), right])
    surface = 1e3 * shown, history.faces
    bands = fig.bands_of(1e-6 * history.peak)
    chosen = np.unique(np.linspace(0, len(history.time) - 1, _MAPS).round().astype(int))
    titles = [f"{t:.3g} s" for t in history.time[chosen]]
    return [
        _maps(
            f"Pressure on the bed of {history.name} at {len(chosen)} instants",
            surface,
            1e-6 * history.values[chosen],
            titles,
            labels,
            bands,
        ),
        _maps(
            f"Largest pressure of each place of the bed of {history.name}",
            surface,
            1e-6 * history.values.max(axis=0)[None],
            ["largest over the walk"],
            labels,
            bands,
        ),
    ]


def _view(history: PressureHistory) -> tuple[FloatArray, FloatArray, tuple[str, str]]:
    """Return the coordinates of the vertices to the right and up in a picture, and their names.

    The bed is seen along the axis that is nearest to its mean normal.
    """
    corners = history.vertices[history.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    along = int(np.abs(normals.sum(axis=0)).argmax())
    across, upward = {0: (2, 1), 1: (2, 0), 2: (0, 1)}[along]
    names = (_DIRECTIONS[across], _DIRECTIONS[upward])
    return history.vertices[:, across], history.vertices[:, upward], names


@picture("png")
def _maps(
    surface: Triangles,
    values: FloatArray,
    titles: list[str],
    labels: tuple[str, str],
    bands: FloatArray,
) -> Figure:
    count = len(titles)
    columns = min(4, count)
    rows = -(-count // columns)
    extent = np.ptp(surface[0], axis=0)
    tall = float(np.clip(extent[0] / max(extent[2], 1e-9), 0.4, 1.6))
    wide = 2.3 if count > 1 else 4.2
    size = (wide * columns + 0.9, rows * (wide * tall + 0.5))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for place, row, title in zip(axes.flat, values, titles, strict=False):
        fig.pressure_map(place, surface, row, bands)
        place.set_title(title, loc="left")
    for place in axes.flat[count:]:
        place.axis("off")
    for place in axes[-1]:
        place.set_xlabel(f"{labels[0]} [mm]")
    for place in axes[:, 0]:
        place.set_ylabel(f"{labels[1]} [mm]")
    shades = ScalarMappable(fig.band_scale(bands), fig.SHADES)
    figure.colorbar(shades, ax=axes, label="pressure [MPa]", ticks=bands, shrink=0.9)
    return figure
