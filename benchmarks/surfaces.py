"""Which smooth surface over triangles comes closest: candidates against exact and real shapes.

`python -m benchmarks.surfaces` prints the tables; the real meshes are read from $KNEE_DATA.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from benchmarks.knees import data_folder
from benchmarks.surface_candidates import candidates, distance_to, points_of
from benchmarks.surface_shapes import exact_shapes
from benchmarks.timing import seconds, table
from foundation.base.checks import FloatArray
from foundation.surfaces import TriangleMesh, load_mesh
from foundation.surfaces.mesh_topology import find_edges
from foundation.surfaces.smooth_surface import CREASE_ANGLE, flat_surface, smooth_surface
from foundation.surfaces.vertex_normals import cut_at_creases

Region = Callable[[FloatArray, FloatArray], NDArray[np.bool_]]

#: Triangles nearer to a boundary count as its rim.
_RIM = 3e-3
#: Side of the windows over which signed distances are averaged, about the size of a contact.
_WINDOW = 5e-3
_IMPLANT = "grand_challenge_DM_implant"
_CARTILAGE = "jam_lenhart2015_knee/ACLC01-R-"
#: Triangles of a real mesh that are compared.
_COMPARED = 2500


def spheres() -> str:
    """Return mean and largest error on a sphere over the edge length, with the order."""
    shapes = [v for k, v in exact_shapes().items() if k.startswith("sphere")]
    rows = []
    for name, surface_of in candidates().items():
        errors = []
        for mesh, distance in shapes:
            away = 1e6 * distance(points_of(surface_of(mesh), 4))
            errors.append((abs(np.average(away.mean(axis=1), weights=mesh.areas)), abs(away).max()))
        orders = np.log2(np.divide(errors[-2], errors[-1]))
        cells = [f"{mean:.2g} / {most:.2g}" for mean, most in errors]
        rows.append([name, *cells, f"{orders[0]:.1f} / {orders[1]:.1f}"])
    edges = [f"{1e3 * np.sqrt(4 * m.areas.mean() / np.sqrt(3)):.2f} mm" for m, _ in shapes]
    return table(
        "Distance from a sphere of 30 mm, mean / largest [um]", ["", *edges, "order"], rows
    )


def exact() -> str:
    """Return the errors on shapes of varying curvature, with irregular triangles and rims."""
    shapes = {k: v for k, v in exact_shapes().items() if not k.startswith("sphere")}
    surfaces = candidates() | {"`smooth_surface` with the mesh's own normals": smooth_surface}
    rows = []
    for name, surface_of in surfaces.items():
        cells = []
        for mesh, distance in shapes.values():
            if name.endswith("own normals") and mesh.vertex_normals is None:
                cells.append("")
                continue
            away = 1e6 * distance(points_of(surface_of(mesh), 4))
            inside = _rim_distance(mesh, mesh.centroids) > _RIM
            mean, rms = _mean_and_rms(away[inside], mesh.areas[inside])
            window = _windows(mesh.centroids[inside], mesh.areas[inside], away[inside])
            values = (mean, rms, abs(away[inside]).max(), window, abs(away[~inside]).max())
            cells.append(" / ".join(f"{v:.2g}" for v in values))
        rows.append([name, *cells])
    title = (
        "Distance from exact shapes [um]: mean / RMS / largest / RMS in the worst window of 5 mm, "
        "all 3 mm from the rim / largest on the rim"
    )
    return table(title, ["", *shapes], rows)


def triangulations() -> str:
    """Return how far two triangulations of the same real surface are apart."""
    pairs = _real_pairs()
    if not pairs:
        return "### Two triangulations of one surface\n\nskipped: no meshes in $KNEE_DATA"
    rows = []
    for name, surface_of in candidates().items():
        cells = []
        for one, other, region in pairs.values():
            chosen = np.flatnonzero(region(one.centroids, one.normals))
            chosen = np.random.default_rng(0).permutation(chosen)[:_COMPARED]
            points = points_of(surface_of(one), 2)[chosen]
            count = points.shape[1]
            along = np.repeat(one.normals[chosen], count, axis=0)
            away = 1e6 * distance_to(surface_of(other), points.reshape(-1, 3), along)
            met = np.abs(away) < 300.0
            weight = np.repeat(one.areas[chosen], count)[met]
            mean, rms = _mean_and_rms(away[met], weight)
            middle, most = np.percentile(np.abs(away[met]), [50, 99])
            cells.append(f"{mean:+.2f} / {rms:.2f} / {middle:.2f} / {most:.1f}")
        rows.append([name, *cells])
    title = "Two triangulations of one surface [um]: mean / RMS / median / 99th percentile"
    return table(title, ["", *pairs], rows)


def bounds() -> str:
    """Return how far the middles of real meshes depart from their edges, and what it costs."""
    rows = []
    for file in _FILES:
        mesh = _load(file)
        if mesh is None:
            return "### Departure of the middles\n\nskipped: no meshes in $KNEE_DATA"
        surface = smooth_surface(mesh)
        departure = np.linalg.norm(surface.middles - flat_surface(mesh).middles, axis=2)
        length = np.linalg.norm(np.roll(surface.corners, -1, axis=1) - surface.corners, axis=2)
        creases = int(cut_at_creases(mesh, CREASE_ANGLE).crease.sum()) // 2
        rows.append(
            [
                Path(file).stem,
                str(len(mesh.faces)),
                str(creases),
                " / ".join(f"{d:.1f}" for d in 1e6 * np.percentile(departure, [50, 99, 100])),
                " / ".join(f"{d:.3f}" for d in np.percentile(departure / length, [50, 99, 100])),
                f"{seconds(lambda m=mesh: smooth_surface(m)):.2f}",
            ]
        )
    header = [
        "mesh", "triangles", "creases", "departure [um], median / 99th / largest",
        "over the edge's length", "time [s]",
    ]  # fmt: skip
    return table("Departure of the middles from their straight edges", header, rows)


_FILES = (
    f"{_IMPLANT}/Femoral Component contact.stl",
    f"{_IMPLANT}/Tibial Insert contact.stl",
    f"{_IMPLANT}/Femoral Component decimated.stl",
    f"{_IMPLANT}/Tibial Insert decimated.stl",
    f"{_CARTILAGE}femur-cart.obj",
    f"{_CARTILAGE}tibia-cart.obj",
)


def _load(file: str) -> TriangleMesh | None:
    path = data_folder() / file
    axes = ("-x", "y", "-z") if file.startswith(_IMPLANT) else ("x", "y", "z")
    return load_mesh(path, axes=axes) if path.is_file() else None


def _real_pairs() -> dict[str, tuple[TriangleMesh, TriangleMesh, Region]]:
    """Return pairs of triangulations and where they are compared: the bearing surfaces."""
    femur, insert, femur_solid, insert_solid = (_load(file) for file in _FILES[:4])
    cartilage = _load(_FILES[5])
    coarse = _load(f"{_CARTILAGE}tibia-cart-coarse.stl")
    if None in (femur, insert, femur_solid, insert_solid, cartilage, coarse):
        return {}

    def condyles(points, normals):
        beside = np.abs(np.abs(points[:, 2]) - 22e-3) < 9e-3
        return beside & (normals[:, 1] < -0.5) & (points[:, 1] < -5e-3)

    def plateaus(points, normals):
        beside = np.abs(np.abs(points[:, 2]) - 22e-3) < 10e-3
        return (
            beside & (np.abs(points[:, 0]) < 14e-3) & (normals[:, 1] > 0.9) & (points[:, 1] > 5e-3)
        )

    def everywhere(points, normals):
        return np.ones(len(points), dtype=np.bool_)

    return {
        "femoral component, solid to contact": (femur_solid, femur, condyles),
        "femoral component, contact to solid": (femur, femur_solid, condyles),
        "insert, solid to contact": (insert_solid, insert, plateaus),
        "insert, contact to solid": (insert, insert_solid, plateaus),
        "tibial cartilage, fine to coarse": (cartilage, coarse, everywhere),
    }


def _rim_distance(mesh: TriangleMesh, points: FloatArray) -> FloatArray:
    edges = find_edges(mesh.faces, len(mesh.vertices))
    rim = np.unique(edges.ends[edges.count == 1])
    return cKDTree(mesh.vertices[rim]).query(points)[0]


def _mean_and_rms(values: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return the weighted mean and RMS; values : (F,) or (F, P) with weights (F,)."""
    by_row, squares = (v.reshape(len(weights), -1).mean(axis=1) for v in (values, values**2))
    return np.average(by_row, weights=weights), np.sqrt(np.average(squares, weights=weights))


def _windows(points: FloatArray, areas: FloatArray, values: FloatArray) -> float:
    """Return the largest RMS over the cells of a grid, of those that are not mere corners."""
    cells = np.floor(points / _WINDOW).astype(np.int64)
    window = np.unique(cells, axis=0, return_inverse=True)[1].reshape(-1)
    total = np.bincount(window, areas)
    squares = np.bincount(window, areas * (values**2).mean(axis=1)) / total
    return np.sqrt(squares[total > 0.3 * _WINDOW**2].max())


if __name__ == "__main__":
    for result in (spheres, exact, triangulations, bounds):
        print(result(), end="\n\n", flush=True)
