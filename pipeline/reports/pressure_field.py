"""Pressure as a continuous field on the plateau: values at the vertices, linear on each triangle.

The bed gives a pressure in the middle of each triangle. Pictures, areas above a limit and exported
fields use the values at the vertices that this module fits to these pressures, so that a figure
beside a picture and the colours of the picture agree. The contact model finds its peak pressures
between the middles: the largest value of a compartment is this peak where it is known, so that one
peak has one number in a report.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from foundation.base.checks import FloatArray
from foundation.surfaces.mesh_topology import half_edges
from pipeline.stages.gait_cycle import Frames
from pipeline.store.run_documents import MODELS

#: Most bands of a scale.
_BANDS = 14
_STEPS = (1.0, 2.0, 2.5, 5.0)
# A fit of 6 coefficients needs more samples than coefficients; a plane needs 3.
_QUADRATIC, _PLANE = 9, 3
# Part of the weights that pulls slopes and curvatures to zero where samples lie on a line.
_RIDGE = 1e-3
# A fitted value may exceed the pressures of the adjacent triangles by this factor.
_ABOVE = 1.15
_LEAST = 1e-3


@dataclass(frozen=True, eq=False)
class _Neighbours:
    """Triangles about vertices: P pairs, ordered by the vertex.

    `vertex` (P,) and `face` (P,) of each pair; `adjacent` (P,) whether the triangle has the vertex
    as a corner; `weight` (P,) and `terms` (P, 6), 1, u, v, u², u v, v² of the middle of the
    triangle in the tangent plane of the vertex [1].
    """

    vertex: NDArray[np.int64]
    face: NDArray[np.int64]
    adjacent: NDArray[np.bool_]
    weight: FloatArray
    terms: FloatArray


def vertex_pressures(
    vertices: FloatArray, faces: NDArray[np.int64], pressure: ArrayLike
) -> FloatArray:
    """Return pressures (K, V) at vertices (V, 3) from those (K, F) in triangles (F, 3) [any unit].

    By moving least squares over two rings (Lancaster & Salkauskas 1981, Math Comp 37:141-158).
    Outside the patch the value is negative, so that the edge of the patch cuts the triangles; its
    size has no other meaning.
    """
    given = np.asarray(pressure, dtype=np.float64)
    values = np.full((len(given), len(vertices)), -max(float(given.max(initial=0.0)), 1e-300))
    touched: NDArray[np.bool_] = np.any(given > 0.0, axis=0)
    if touched.any():
        near = _neighbours(np.asarray(vertices), faces, touched)
        for row, found in zip(given, values, strict=True):
            if (row > 0.0).any():
                _fit(near, row, found)
    return values


@dataclass(frozen=True, eq=False)
class ContactFields:
    """Pressure fields (K, U) [Pa] of the frames of a cycle."""

    #: Surfaces, poses and pressures of the triangles.
    frames: Frames
    #: Poses by the model whose simulated cycle they are, (K, 6) [rad, m].
    poses: dict[str, FloatArray]
    #: Pressure of the original model on the triangles at these poses, by model, (K, F) [Pa].
    given: dict[str, NDArray[np.float32]]
    #: Pressure at the vertices of the plateau by `vertex_pressures`, by model, (K, U) [Pa].
    values: dict[str, FloatArray]
    #: Compartment of each triangle of the plateau, 0 medial and 1 lateral, (F,).
    side: NDArray[np.int8]

    @cached_property
    def largest(self) -> dict[str, FloatArray]:
        """Largest pressure of each vertex over the cycle (U,) [Pa], by the model."""
        return {name: values.max(axis=0) for name, values in self.values.items()}

    def at_peak(self, model: str) -> int:
        """Return the instant of the largest pressure on the motion of a model."""
        return int(self.values[model].max(axis=1).argmax())

    def area_above(self, values: FloatArray, levels: ArrayLike) -> FloatArray:
        """Return the areas (2, L) [m²], medial and lateral, of a field (U,) above levels (L,)."""
        vertices, faces = self.frames.tibia_vertices, self.frames.tibia_faces
        return np.array(
            [area_above(vertices, faces[self.side == k], values, levels) for k in range(2)]
        )


def contact_fields(frames: Frames, peaks: FloatArray | None = None) -> ContactFields:
    """Return the pressure fields of frames, whose largest values are `peaks` (K, 2) [Pa]."""
    vertices, faces = frames.tibia_vertices, frames.tibia_faces
    poses = dict(zip(MODELS, (frames.poses, frames.surrogate_poses), strict=True))
    given = dict(zip(MODELS, (frames.pressure_Pa, frames.surrogate_pressure_Pa), strict=True))
    values = {name: vertex_pressures(vertices, faces, each) for name, each in given.items()}
    side = sides_of(vertices, faces, frames.centre_m)
    if peaks is not None:
        meet_peaks(values[MODELS[0]], [np.unique(faces[side == k]) for k in range(2)], peaks)
    return ContactFields(frames, poses, given, values, side)


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


def area_above(
    vertices: FloatArray, faces: NDArray[np.int64], values: FloatArray, levels: ArrayLike
) -> FloatArray:
    """Return the areas (L,) [m²] on which a field (V,) on triangles exceeds levels (L,)."""
    corners = vertices[faces]
    edges = corners[:, 1:] - corners[:, :1]
    areas = 0.5 * np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    low, middle, high = np.sort(values[faces], axis=1).T
    wanted = np.atleast_1d(np.asarray(levels, dtype=np.float64))
    chosen = high > wanted.min(initial=np.inf)
    areas, low, middle, high = (each[chosen] for each in (areas, low, middle, high))
    found = []
    for level in wanted:
        with np.errstate(divide="ignore", invalid="ignore"):
            tip = (high - level) ** 2 / ((high - low) * (high - middle))
            rest = 1.0 - (level - low) ** 2 / ((high - low) * (middle - low))
        share = np.where(level >= middle, tip, rest)
        share = np.where(level <= low, 1.0, np.where(level >= high, 0.0, share))
        found.append(areas @ share)
    return np.array(found)


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


def _neighbours(
    vertices: FloatArray, faces: NDArray[np.int64], touched: NDArray[np.bool_]
) -> _Neighbours:
    """Return the two rings of triangles of each vertex near the triangles `touched` (F,)."""
    count = len(faces)
    corner = csr_array(
        (np.ones(3 * count), (faces.reshape(-1), np.repeat(np.arange(count), 3))),
        shape=(len(vertices), count),
    )
    close: Any = csr_array(corner @ corner.T)  # vertices that share a triangle
    reached = np.asarray(close @ (corner @ touched.astype(np.float64)))
    chosen = np.flatnonzero(reached > 0.0)
    rings = csr_array(close[chosen] @ corner)
    rings.sort_indices()
    vertex = np.repeat(chosen, np.diff(rings.indptr))
    face = rings.indices.astype(np.int64)
    adjacent = (faces[face] == vertex[:, None]).any(axis=1)
    corners = vertices[faces]
    away = corners.mean(axis=1)[face] - vertices[vertex]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    u, v = _tangents(np.asarray(corner @ normals)[vertex])
    plane = np.stack([(away * u).sum(axis=1), (away * v).sum(axis=1)])
    squared = (away**2).sum(axis=1)
    size = np.bincount(vertex, squared * adjacent) / np.maximum(np.bincount(vertex, adjacent), 1.0)
    scale = np.maximum(size[vertex], 1e-300)
    x, y = plane / np.sqrt(scale)
    terms = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=1)
    return _Neighbours(vertex, face, adjacent, np.exp(-0.25 * squared / scale), terms)


def _tangents(normals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two unit vectors (P, 3) each, perpendicular to normals (P, 3) of any length."""
    unit = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    least = np.eye(3)[np.abs(unit).argmin(axis=1)]
    u = np.cross(unit, least)
    u /= np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-300)
    return u, np.cross(unit, u)


def _fit(near: _Neighbours, pressure: FloatArray, values: FloatArray) -> None:
    """Write the values of the vertices with a triangle in contact in their rings."""
    on = pressure[near.face] > 0.0
    kept = (np.bincount(near.vertex, on, len(values)) > 0.0)[near.vertex]
    vertex, given, on = near.vertex[kept], pressure[near.face[kept]], on[kept]
    starts = np.flatnonzero(np.diff(vertex, prepend=-1))
    adjacent, terms = near.adjacent[kept], near.terms[kept]
    weighted = (near.weight[kept] * on)[:, None] * terms
    moments = np.add.reduceat(weighted[:, :, None] * terms[:, None, :], starts)
    sums = np.add.reduceat(weighted * given[:, None], starts)
    count, bearing = (np.add.reduceat(each.astype(float), starts) for each in (on, on & adjacent))
    inside = bearing == np.add.reduceat(adjacent.astype(float), starts)
    fitted = np.where(
        inside & (count >= _QUADRATIC), _solved(moments, sums, 6), _solved(moments, sums, 3)
    )
    total = np.add.reduceat(given, starts)
    most = np.maximum.reduceat(given, starts)
    beside = np.maximum.reduceat(given * adjacent, starts)
    own = np.add.reduceat(given * adjacent, starts) / np.maximum(bearing, 1.0)
    few = np.where(bearing > 0.0, own, -total / count)
    found = np.where(count >= _PLANE, fitted, few)
    low = np.where(inside, _LEAST * most, -most)
    high = np.where(inside, _ABOVE, 1.0) * beside
    values[vertex[starts]] = np.clip(found, low, np.where(bearing > 0.0, high, -_LEAST * most))


def _solved(moments: FloatArray, sums: FloatArray, size: int) -> FloatArray:
    """Return the constant term of least-squares fits with the first `size` terms, (R,)."""
    matrix = moments[:, :size, :size].copy()
    slopes = np.arange(1, size)
    matrix[:, slopes, slopes] += _RIDGE * moments[:, :1, 0]
    return np.asarray(np.linalg.solve(matrix, sums[:, :size, None])[:, 0, 0])
