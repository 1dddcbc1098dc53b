"""Mesh of an elastic layer: hexahedra in columns between the bearing surface and the base."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.base.wording import counted
from foundation.finite_element.condensation import scaled_jacobian
from foundation.finite_element.surface_grid import SurfaceGrid
from foundation.surfaces.triangle_mesh import MeshWarning

#: Part of the way to the lines of the chart that a column leans in a round, number of rounds, and
#: distance over the thickness at which the lean has faded to 1/e.
_STEP, ROUNDS, _FADED = 0.25, 40, 0.5
#: Least change of the thickness that is told, over the thickness: cartilage is known no better at
#: its rim and on a ridge, where columns are straightened.
_TOLD = 0.25


class Straightening:
    """Base (C, 3) [m] of a layer whose columns lean towards lines of the chart in rounds."""

    # The lines of the chart do not cross, and meet the surface once: columns that lean towards
    # these lines unfold in the end, whatever the surface.

    def __init__(self, grid: SurfaceGrid, base: FloatArray) -> None:
        self._grid, depth = grid, base - grid.points
        self._lengths = np.linalg.norm(depth, axis=1)
        self._directions = depth / self._lengths[:, None]
        self._share = np.zeros(len(depth))

    def lean(self, columns: NDArray[np.bool_]) -> FloatArray:
        """Lean the columns about some quadrilaterals (Q,) further; return the base (C, 3) [m]."""
        # The lean fades within the thickness of the layer. The lengths of the columns are kept.
        points, chosen = self._grid.points, np.unique(self._grid.quads[columns])
        away = np.asarray(KDTree(points[chosen]).query(points)[0])
        fading = np.exp(-((away / (_FADED * self._lengths)) ** 2))
        self._share = np.minimum(self._share + _STEP * fading, 1.0)
        share = self._share[:, None]
        leaning = (1.0 - share) * self._directions - share * self._grid.lines
        leaning /= np.linalg.norm(leaning, axis=1, keepdims=True)
        return points + self._lengths[:, None] * leaning


@dataclass(frozen=True)
class ChangedThickness:
    """What straightened columns change of a layer."""

    #: Number of columns whose thickness changes.
    columns: int
    #: Number of all columns.
    of: int
    #: Largest change of the thickness, the distance of the base from the surface [m].
    largest: float
    #: Thickness that the layer has there by its description [m].
    thickness: float
    #: Point of the surface there [m].
    place: tuple[float, float, float]

    def __str__(self) -> str:
        x, y, z = (1e3 * value for value in self.place)
        return (
            f"{counted(self.columns, 'column')} of elements of {self.of:,} straightened, since the "
            "normals of the surface cross within the layer there (a ridge or a rim); the thickness "
            f"changes by at most {1e6 * self.largest:.0f} um of {1e6 * self.thickness:.0f} um, at "
            f"({x:.1f}, {y:.1f}, {z:.1f}) mm"
        )


def changed_thickness(
    grid: SurfaceGrid, before: FloatArray, after: FloatArray
) -> ChangedThickness | None:
    """Return what a changed base (C, 3) [m] of a grid changes of the layer; None if nothing."""
    moved = (before != after).any(axis=1)
    if not moved.any():
        return None
    described = np.linalg.norm(before - grid.points, axis=1)[moved]
    distances = np.asarray(KDTree(grid.points).query(after[moved])[0])
    change = np.abs(distances - described)
    worst = int(change.argmax())
    return ChangedThickness(
        int((change > _TOLD * described).sum()),
        len(before),
        float(change[worst]),
        float(described[worst]),
        tuple(grid.points[moved][worst].tolist()),
    )


#: Fewest elements over the thickness.
_FEWEST = 3
#: Scaled jacobian below which the columns around an element are straightened, and how often.
_LEAST_QUALITY = 0.2
_AVERAGES = 20
#: Scaled jacobian below which the columns around an element lean towards the lines of the chart,
#: once an element is folded.
_LEAST_STRAIGHTENED = 0.05


@dataclass(frozen=True, eq=False)
class LayerMesh:
    """Hexahedra in columns between nodes (N, 3) [m], and the grid on their bearing surface."""

    #: Nodes of the bearing surface.
    grid: SurfaceGrid
    #: Positions (N, 3) [m], level after level: the base first and the bearing surface last.
    nodes: FloatArray
    #: Nodes (E, 8) of each element, as `foundation.finite_element.condensation.CORNERS`.
    hexahedra: IntArray
    #: Number of levels of nodes.
    levels: int

    @property
    def fixed(self) -> NDArray[np.bool_]:
        """Nodes of the base, (N,)."""
        return np.arange(len(self.nodes)) < len(self.grid.points)

    @property
    def sides(self) -> NDArray[np.bool_]:
        """Nodes along the border of the grid, below the bearing surface, (N,)."""
        below = np.arange(len(self.nodes)) < (self.levels - 1) * len(self.grid.points)
        return below & np.tile(self.grid.border, self.levels)

    @property
    def surface(self) -> IntArray:
        """Node of each point of the grid, (C,)."""
        count = len(self.grid.points)
        return np.arange(count) + (self.levels - 1) * count


def layer_mesh(
    grid: SurfaceGrid, base: FloatArray, spacing: float, growth: float, name: str
) -> LayerMesh:
    """Fill the layer between a grid and its base (C, 3) [m]; elements grow downwards."""
    thickness = np.linalg.norm(grid.points - base, axis=1)
    fractions = _graded(float(np.median(thickness)), spacing, growth)
    described = base
    for _ in range(_AVERAGES + 1):
        mesh = _filled(grid, base, fractions)
        columns = _columns_below(mesh, _LEAST_QUALITY)
        if not columns.any():
            break
        base = _averaged(grid, base, columns)
    if _columns_below(mesh, 0.0).any():
        mesh = _straightened(mesh, fractions)
    _check_folds(mesh, name)
    changed = changed_thickness(grid, described, mesh.nodes[: len(base)])
    if changed is not None and changed.columns:
        warnings.warn(f"{name}: {changed}", MeshWarning, stacklevel=3)
    return mesh


def _columns_below(mesh: LayerMesh, quality: float) -> NDArray[np.bool_]:
    """Return the columns (Q,) with an element whose scaled jacobian is not above a quality [1]."""
    # NaN counts as folded.
    poor = ~(scaled_jacobian(mesh.nodes, mesh.hexahedra) > quality)
    return np.asarray(poor.reshape(mesh.levels - 1, -1).any(axis=0))


def _straightened(mesh: LayerMesh, fractions: FloatArray) -> LayerMesh:
    """Return a mesh whose columns lean towards the lines of the chart until no element is poor."""
    grid = mesh.grid
    straightening = Straightening(grid, mesh.nodes[: len(grid.points)])
    for _ in range(ROUNDS):
        columns = _columns_below(mesh, _LEAST_STRAIGHTENED)
        if not columns.any():
            break
        mesh = _filled(grid, straightening.lean(columns), fractions)
    return mesh


def _filled(grid: SurfaceGrid, base: FloatArray, fractions: FloatArray) -> LayerMesh:
    nodes = base + fractions[:, None, None] * (grid.points - base)
    count, levels = len(base), len(fractions)
    lower = grid.quads + count * np.arange(levels - 1)[:, None, None]
    hexahedra = np.concatenate([lower, lower + count], axis=2).reshape(-1, 8)
    return LayerMesh(grid, nodes.reshape(-1, 3), hexahedra, levels)


def _averaged(grid: SurfaceGrid, base: FloatArray, columns: NDArray[np.bool_]) -> FloatArray:
    """Return the base with directions averaged: at a rim, normals turn too fast for columns."""
    depth = base - grid.points
    total, count = np.zeros_like(depth), np.zeros(len(depth))
    np.add.at(total, grid.quads, depth[grid.quads].mean(axis=1)[:, None])
    np.add.at(count, grid.quads, 1.0)
    chosen = np.unique(grid.quads[columns])
    averaged = base.copy()
    averaged[chosen] = grid.points[chosen] + total[chosen] / count[chosen, None]
    return averaged


def _graded(thickness: float, spacing: float, growth: float) -> FloatArray:
    """Return the fractions of the levels, from 0 at the base to 1 at the surface."""
    if growth > 1.0:
        count = np.log1p((growth - 1.0) * thickness / spacing) / np.log(growth)
    else:
        count = thickness / spacing
    sizes = growth ** np.arange(max(int(np.ceil(count - 1e-9)), _FEWEST))
    depth = np.concatenate([[0.0], np.cumsum(sizes)]) / sizes.sum()
    return 1.0 - depth[::-1]


def _check_folds(mesh: LayerMesh, name: str) -> None:
    quality = scaled_jacobian(mesh.nodes, mesh.hexahedra)
    # NaN counts as folded.
    folded = ~(quality > 0.0)
    if not folded.any():
        return
    centre = 1e3 * mesh.nodes[mesh.hexahedra[int(np.flatnonzero(folded)[0])]].mean(axis=0)
    raise InputError(
        f"{name}: {int(folded.sum())} of {len(quality)} elements of the layer are folded, the "
        f"first at ({centre[0]:.1f}, {centre[1]:.1f}, {centre[2]:.1f}) mm: the surface folds there "
        "(a sharp rim), or the base crosses the surface; smooth or trim the surface, or reduce "
        "the thickness"
    )
