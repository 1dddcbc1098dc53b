"""Straightening of the columns of a layer where normals of its surface cross within the layer."""
# The lines of the chart do not cross, and meet the surface once: columns that lean towards these
# lines unfold in the end, whatever the surface.

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from foundation.base.checks import FloatArray
from foundation.base.wording import counted
from foundation.finite_element.surface_grid import SurfaceGrid

#: Part of the way to the lines of the chart that a column leans in a round, number of rounds, and
#: distance over the thickness at which the lean has faded to 1/e.
_STEP, ROUNDS, _FADED = 0.25, 40, 0.5
#: Change of the thickness below which a column counts as unchanged, over the thickness.
_UNCHANGED = 1e-3


class Straightening:
    """Base (C, 3) [m] of a layer whose columns lean towards lines of the chart in rounds."""

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

    #: Number of straightened columns.
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
    found = np.asarray(KDTree(grid.points).query(after[moved])[0])
    change = np.abs(found - described)
    worst = int(change.argmax())
    return ChangedThickness(
        int((change > _UNCHANGED * described).sum()),
        len(before),
        float(change[worst]),
        float(described[worst]),
        tuple(grid.points[moved][worst].tolist()),
    )
