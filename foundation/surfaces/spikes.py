"""Spikes: vertices far from the plane of their neighbours, in a surface smooth all around."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array

from foundation.base.checks import FloatArray, IntArray
from foundation.surfaces.mesh_topology import find_edges, triangles_around
from foundation.surfaces.smooth_surface import tangents
from foundation.surfaces.triangle_mesh import TriangleMesh, degenerate_triangles

#: Least distance of a vertex from the plane of its neighbours over their distance (measured: up to
#: 0.24 on open surfaces), least distance [m], and largest distance of a neighbour over that of the
#: vertex.
_STEEP, _LEAST, _PLANAR = 0.4, 0.2e-3, 0.5
#: Largest number of rings of neighbours of a spike, and its largest radius [m]; least mean and
#: least single cosine between the normals around the spike and their mean.
_RINGS, _RADIUS, _SMOOTH, _ROUGH = 8, 6e-3, 0.85, 0.5
#: Terms of a quadratic function, which as many vertices around determine.
_TERMS = 6
#: Number of vertices that are looked at, the farthest first; largest number of spikes, more are
#: features of a component; and least growth of the height of a spike by the next ring.
_MOST, _SINGLE, _GROWTH = 200, 10, 1.1


class Levelled(NamedTuple):
    """A surface without spikes; their number; height [m] and place (3,) [m] of the largest one."""

    mesh: TriangleMesh
    spikes: int = 0
    height: float = 0.0
    place: FloatArray = np.zeros(3)


def level_spikes(mesh: TriangleMesh) -> Levelled:
    """Return a surface [m] whose spikes are moved to a quadratic surface through what is around."""
    links = _links(mesh)
    tips = _tips(mesh, links)[:_MOST]
    if len(tips) == 0:
        return Levelled(mesh)
    around = triangles_around(mesh)
    points, spikes = mesh.vertices.copy(), list[_Spike]()
    for tip in tips:
        spike = _spike(mesh, links, around, int(tip))
        if spike is None or any(np.isin(spike.vertices, known.vertices).any() for known in spikes):
            continue
        points[spike.vertices] = spike.places
        spikes.append(spike)
    if not 0 < len(spikes) <= _SINGLE or degenerate_triangles(points, mesh.faces).any():
        return Levelled(mesh)
    heights = [
        float(np.linalg.norm(mesh.vertices[known.tip] - points[known.tip])) for known in spikes
    ]
    largest = int(np.argmax(heights))
    levelled = TriangleMesh(points, mesh.faces, mesh.name)
    return Levelled(levelled, len(spikes), heights[largest], mesh.vertices[spikes[largest].tip])


class _Spike(NamedTuple):
    """The vertex at the tip, all vertices (N,), and their places (N, 3) [m] on the surface."""

    tip: int
    vertices: IntArray
    places: FloatArray


def _links(mesh: TriangleMesh) -> csr_array:
    """Return the graph of the edges (V, V); a vertex of a rim has no edges."""
    edges = find_edges(mesh.faces, len(mesh.vertices))
    rim = np.zeros(len(mesh.vertices), dtype=np.bool_)
    rim[edges.ends[edges.count != 2]] = True
    ends = np.concatenate([edges.ends, edges.ends[:, ::-1]])
    ends = ends[~rim[ends[:, 0]]]
    ones = np.ones(len(ends))
    return coo_array((ones, (ends[:, 0], ends[:, 1])), shape=2 * (len(mesh.vertices),)).tocsr()


def _tips(mesh: TriangleMesh, links: csr_array) -> IntArray:
    """Return the vertices far off the plane of their neighbours, the farthest first."""
    corners, points = mesh.faces.reshape(-1), mesh.vertices
    vectors = np.repeat(mesh.area_vectors, 3, axis=0).T
    sums = np.stack([np.bincount(corners, component, len(points)) for component in vectors], axis=1)
    areas = np.linalg.norm(sums, axis=1)
    normals = sums / np.maximum(areas, np.finfo(float).tiny)[:, None]
    number = np.maximum(np.diff(links.indptr), 1)
    means = (links @ points) / number[:, None]
    heights = np.abs(np.einsum("vi,vi->v", points - means, normals))
    far = (heights > _LEAST) & (heights > _STEEP * np.sqrt(areas / np.pi))
    far &= np.diff(links.indptr) > 2
    tips = np.flatnonzero(far)
    planar = [
        np.abs(
            (points[links.indices[links.indptr[k] : links.indptr[k + 1]]] - means[k]) @ normals[k]
        ).max()
        < _PLANAR * heights[k]
        for k in tips
    ]
    tips = tips[np.array(planar, dtype=np.bool_)]
    return tips[np.argsort(-heights[tips], kind="stable")]


def _spike(mesh: TriangleMesh, links: csr_array, around: csr_array, tip: int) -> _Spike | None:
    """Return the spike with a tip, up to the ring from which on its height does not grow."""
    inside, widest, height = np.array([tip]), None, 0.0
    for _ in range(_RINGS):
        away = mesh.vertices[inside] - mesh.vertices[tip]
        ring = _grown(links, inside)
        outer = _grown(links, ring)
        triangles = _grown(around, np.setdiff1d(ring, inside), own=False)
        corners = mesh.faces[triangles]
        triangles = triangles[~np.isin(corners, inside).any(axis=1)]
        beyond = np.setdiff1d(outer, inside)
        if len(triangles) == 0 or len(beyond) < _TERMS:
            return widest
        normal = mesh.area_vectors[triangles].sum(axis=0)
        normal = normal / np.linalg.norm(normal)
        flat = away - np.outer(away @ normal, normal)
        if np.linalg.norm(flat, axis=1).max() > _RADIUS:
            return widest
        cosines = mesh.normals[triangles] @ normal
        if cosines.min() > _ROUGH and np.average(cosines, weights=mesh.areas[triangles]) > _SMOOTH:
            places, before = _on_fit(mesh, inside, beyond, normal), height
            height = float(np.linalg.norm(places - mesh.vertices[inside], axis=1).max())
            if height < _GROWTH * before:
                return widest
            widest = _Spike(tip, inside, places)
        inside = ring
    return widest


def _grown(links: csr_array, own_rows: IntArray, *, own: bool = True) -> IntArray:
    """Return the columns of some rows of a graph, and the rows themselves."""
    columns = np.concatenate(
        [links.indices[links.indptr[k] : links.indptr[k + 1]] for k in own_rows]
        + ([own_rows] if own else [])
    )
    return np.unique(columns)


def _on_fit(
    mesh: TriangleMesh, inside: IntArray, around: IntArray, normal: FloatArray
) -> FloatArray:
    """Return vertices (N,) on the quadratic height function through others, (N, 3) [m]."""
    axes = np.stack([*(t[0] for t in tangents(normal[None])), normal])
    origin = mesh.vertices[around].mean(axis=0)
    x, y, z = ((mesh.vertices[around] - origin) @ axes.T).T
    size = float(np.hypot(x, y).max())
    fit = np.linalg.lstsq(_terms(x / size, y / size), z, rcond=None)[0]
    local = (mesh.vertices[inside] - origin) @ axes.T
    local[:, 2] = _terms(local[:, 0] / size, local[:, 1] / size) @ fit
    return np.asarray(origin + local @ axes)


def _terms(x: FloatArray, y: FloatArray) -> FloatArray:
    return np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y])
