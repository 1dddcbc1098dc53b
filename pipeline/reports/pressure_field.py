"""Pressure as a continuous field on the plateau: values at the vertices, linear on each triangle.

The bed gives a pressure in the middle of each triangle. The contact model finds its peak pressures
between the middles: the largest value of a compartment is this peak where it is known, so that one
peak has one number in a report.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from foundation.base.checks import FloatArray
from foundation.surfaces.mesh_topology import half_edges
from pipeline.stages.gait_cycle import Frames

#: Most bands of a scale.
_BANDS = 14
_STEPS = (1.0, 2.0, 2.5, 5.0)
#: Part of the variances of places that pulls slopes of planes to zero; part of the largest pressure
#: by which the field is negative beyond the patch, at least; a number that is no 0.
_RIDGE, _LEAST, _TINY = 1e-3, 1e-3, 1e-300


def vertex_pressures(
    vertices: FloatArray, faces: NDArray[np.int64], pressure: ArrayLike
) -> FloatArray:
    """Return pressures (K, V) at vertices (V, 3) from those (K, F) in triangles (F, 3) [any unit].

    Inside the patch, the mean of the triangles of a vertex; at its edge and beyond, a plane that
    is fitted to the triangles in contact of two rings. Outside the patch the value is negative,
    so that the edge of the patch cuts the triangles; its size has no other meaning.
    """
    pressures = np.asarray(pressure, dtype=np.float64).T
    corners: Any = csr_array(
        (np.ones(faces.size), (faces.reshape(-1), np.repeat(np.arange(len(faces)), 3))),
        shape=(len(vertices), len(faces)),
    )
    on, count = (pressures > 0.0).astype(np.float64), corners.sum(axis=1)[:, None]
    touching, most = corners @ on, max(float(pressures.max(initial=0.0)), _TINY)
    inside, mean = touching == count, corners @ pressures / np.maximum(count, 1.0)
    values = np.where(inside, mean, _planes(vertices, faces, corners, pressures, on))
    values = np.where(touching > 0.0, values, np.minimum(values, -_LEAST * most))
    return np.where(corners @ (corners.T @ touching) > 0.0, values, -most).T


def _planes(
    vertices: FloatArray, faces: NDArray[np.int64], corners: Any, given: FloatArray, on: FloatArray
) -> FloatArray:
    """Return least-squares planes at the vertices, (V, K) [unit of `given`].

    Through pressures (F, K) of the triangles `on` (F, K) that share a vertex with those at the
    vertex, over the two widest directions x and z of the surface; `corners` (V, F) are 1 at the
    corners of triangles.
    """
    rings: Any = csr_array(corners @ corners.T @ corners)
    rings.data[:] = 1.0
    number = np.maximum(rings @ on, 1.0)
    places = vertices - vertices.mean(axis=0)
    places = places @ np.linalg.svd(places, full_matrices=False)[2][:2].T
    x, z = (places[faces][:, :, axis].mean(axis=1)[:, None] for axis in (0, 1))

    def mean(values: FloatArray) -> FloatArray:
        return np.asarray(rings @ (on * values) / number)

    mx, mz, mp = mean(x), mean(z), mean(given)
    xx, xz, zz = mean(x * x) - mx * mx, mean(x * z) - mx * mz, mean(z * z) - mz * mz
    xp, zp = mean(x * given) - mx * mp, mean(z * given) - mz * mp
    ridge = _RIDGE * (xx + zz)  # of triangles on a line
    xx, zz = xx + ridge, zz + ridge
    along = (zz * xp - xz * zp) * (places[:, :1] - mx) + (xx * zp - xz * xp) * (places[:, 1:] - mz)
    return np.asarray(mp + along / np.maximum(xx * zz - xz * xz, _TINY))


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
    for row, row_peaks in zip(values, peaks, strict=True):
        for vertices, peak in zip(compartments, row_peaks, strict=True):
            if len(vertices) and peak > 0.0 and row[vertices].max() > 0.0:
                top = vertices[row[vertices].argmax()]
                row[vertices] = np.minimum(row[vertices], peak)
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
