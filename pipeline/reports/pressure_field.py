"""Pressure as a continuous field on the plateau: values at the vertices, linear on each triangle.

The bed gives a pressure in the middle of each triangle. The contact model finds its peak pressures
between the middles: the largest value of a compartment is this peak where it is known, so that one
peak has one number in a report.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from foundation.base.checks import FloatArray
from foundation.surfaces.mesh_topology import half_edges
from pipeline.stages.gait_cycle import Frames

#: Most bands of a scale.
_BANDS = 14
_STEPS = (1.0, 2.0, 2.5, 5.0)


def vertex_pressures(
    vertices: FloatArray, faces: NDArray[np.int64], pressure: ArrayLike
) -> FloatArray:
    """Return pressures (K, V) at vertices (V, 3) from those (K, F) in triangles (F, 3) [any unit].

    A vertex has the mean pressure of its triangles in contact. Each triangle out of contact counts
    as the negative of this mean, so that the edge of the patch cuts the triangles.
    """
    given = np.asarray(pressure, dtype=np.float64)
    corners = csr_array(
        (np.ones(faces.size), (faces.reshape(-1), np.repeat(np.arange(len(faces)), 3))),
        shape=(len(vertices), len(faces)),
    )
    touching, count = (corners @ (given > 0.0).T).T, np.maximum(corners.sum(axis=1), 1.0)
    mean = (corners @ given.T).T / np.maximum(touching, 1.0)
    outside = -max(float(given.max(initial=0.0)), 1e-300)
    return np.where(touching > 0.0, mean * (2.0 * touching - count) / count, outside)


@dataclass(frozen=True, eq=False)
class ContactFields:
    """Pressure fields of the frames of the original's cycle."""

    #: Surfaces, poses and pressures of the triangles.
    frames: Frames
    #: Pressure at the vertices of the plateau by `vertex_pressures`, (K, U) [Pa].
    values: FloatArray
    #: Compartment of each triangle of the plateau, 0 medial and 1 lateral, (F,).
    side: NDArray[np.int8]


def contact_fields(frames: Frames, peaks: FloatArray | None = None) -> ContactFields:
    """Return the pressure fields of frames, whose largest values are `peaks` (K, 2) [Pa]."""
    vertices, faces = frames.tibia_vertices, frames.tibia_faces
    values = vertex_pressures(vertices, faces, frames.pressure_Pa)
    side = sides_of(vertices, faces, frames.centre_m)
    if peaks is not None:
        meet_peaks(values, [np.unique(faces[side == k]) for k in range(2)], peaks)
    return ContactFields(frames, values, side)


def meet_peaks(
    values: FloatArray, compartments: Sequence[NDArray[np.int64]], peaks: FloatArray
) -> None:
    """Make `peaks` (K, C) the largest of values (K, V) [any unit] of each compartment."""
    for row, found in zip(values, peaks, strict=True):
        for own, peak in zip(compartments, found, strict=True):
            if len(own) and peak > 0.0 and row[own].max() > 0.0:
                top = own[row[own].argmax()]
                row[own] = np.minimum(row[own], peak)
                row[top] = peak


def scale_of(largest: float) -> tuple[float, float]:
    """Return the top and the step of a scale with round steps from 0 to at least `largest`."""
    if not largest > 0.0:
        return 1.0, 0.1
    power = 10.0 ** math.floor(math.log10(largest / _BANDS))
    step = next(s * power for s in (*_STEPS, 10.0) if s * power * _BANDS >= largest)
    return math.ceil(largest / step - 1e-9) * step, step


def sides_of(
    vertices: FloatArray, faces: NDArray[np.int64], centres: FloatArray
) -> NDArray[np.int8]:
    """Return the compartment of each triangle of (V, 3) [any unit], 0 medial and 1 lateral.

    The plane half-way between the mean centres of pressure divides the plateau.
    """
    return (vertices[faces][..., 2].mean(axis=1) > middle_of(centres)).astype(np.int8)


def middle_of(centres: FloatArray) -> float:
    """Return the lateral coordinate [any unit] half-way between the mean centres (..., 2, 3)."""
    across = centres[..., 2].reshape(-1, 2)
    known = np.isfinite(across)
    if not known.any(axis=0).all():
        return 0.0
    return float(np.nanmean(across, axis=0).mean())


def outline_of(vertices: FloatArray, faces: NDArray[np.int64]) -> list[FloatArray]:
    """Return the border of a surface as closed lines (N, 3) [any unit]."""
    start, end, key = half_edges(faces, len(vertices))
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    border = first[count == 1]
    following = dict(zip(start[border].tolist(), end[border].tolist(), strict=True))
    lines = []
    while following:
        begin, place = following.popitem()
        line = [begin, place]
        while place in following:
            place = following.pop(place)
            line.append(place)
        lines.append(vertices[line])
    return lines
