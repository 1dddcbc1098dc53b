"""Exits of many lines through the patches of a surface."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foundation.base.checks import FloatArray, IntArray
from foundation.core.library import CORE, Record, addresses
from foundation.surfaces.femur_patches import control_points, searched_patches
from foundation.surfaces.smooth_surface import SmoothSurface
from foundation.surfaces.tree import build_tree

_FACETS_PER_LEAF = 4


class LineHits(NamedTuple):
    """Where lines (N,) leave a surface, at distances [m] from their starts."""

    #: Distances (N,) [m]; without an exit, the reach of the search.
    distance: FloatArray
    #: Triangle through which each line leaves, -1 for none.
    facet: IntArray
    #: Barycentric coordinates (N, 3) on the triangle [1].
    weights: FloatArray


class LineTracer:
    """Search of exits through a surface; `curved` is False for plane facets."""

    def __init__(self, surface: SmoothSurface, *, curved: bool) -> None:
        control = control_points(surface)
        tree = build_tree(control.min(axis=1), control.max(axis=1), _FACETS_PER_LEAF)
        self._order = tree.order
        self._patches = Record("femur", **searched_patches(surface, tree, curved=curved))

    def exits(self, starts: FloatArray, directions: FloatArray, reach: float) -> LineHits:
        """Return first exits, along the outward normal, from starts (N, 3) within `reach` [m]."""
        count = len(starts)
        distance, facet, place = np.empty(count), np.empty(count, np.intc), np.empty((count, 2))
        lines = (np.ascontiguousarray(starts), np.ascontiguousarray(directions))
        CORE.line_exits(
            self._patches.address, reach, count, *addresses(*lines, distance, facet, place)
        )
        weights = np.column_stack([1.0 - place.sum(axis=1), place])
        return LineHits(distance, np.where(facet >= 0, self._order[facet], -1), weights)
