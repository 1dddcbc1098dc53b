"""The non-dominated designs of a search, and the choice of a few of them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from foundation.base.checks import FloatArray, IntArray

#: Least weight of an objective in a reference direction [1].
_LEAST_WEIGHT = 1e-4


def non_dominated(objectives: FloatArray) -> IntArray:
    """Return the places of the rows of objectives (N, M) [any unit] that no other row dominates.

    A row dominates another one if it is nowhere larger and somewhere less.
    """
    from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

    if not len(objectives):
        return np.empty(0, dtype=np.int64)
    found = NonDominatedSorting().do(objectives, only_non_dominated_front=True)
    return np.sort(np.asarray(found, dtype=np.int64))


def spread_over(front: FloatArray, count: int) -> list[int]:
    """Return the places of designs that are spread over a front (N, M) [any unit].

    For each of `count` reference directions, the design with the least achievement scalarisation
    between the best and the worst objectives of the front; each design once, so that fewer may be
    returned.
    """
    low, high = front.min(axis=0), front.max(axis=0)
    scaled = (front - low) / np.where(high > low, high - low, 1.0)
    directions = _directions(front.shape[1], count)
    places = [int(np.argmin(_achievement(scaled, row))) for row in directions]
    return list(dict.fromkeys(places))


@lru_cache
def _directions(objectives: int, count: int) -> FloatArray:
    """Return reference directions (count, M) [1].

    Of two objectives, they are even (Das & Dennis 1998, SIAM J Optim 8:631-657), of more, of least
    Riesz energy (Blank et al. 2021, IEEE Trans Evol Comput 25:48-60).
    """
    from pymoo.util.ref_dirs import get_reference_directions

    if objectives == 1 or count == 1:
        return np.full((1, objectives), 1.0 / objectives)
    if objectives == 2:
        return np.asarray(get_reference_directions("das-dennis", 2, n_partitions=count - 1))
    return np.asarray(get_reference_directions("energy", objectives, count, seed=1))


def _achievement(scaled: FloatArray, direction: FloatArray) -> FloatArray:
    """Return the achievement scalarisation (N,) [1] of scaled objectives (N, M) [1]."""
    # An objective without weight still counts a little: of equal designs, the better one.
    return np.asarray((scaled / np.maximum(direction, _LEAST_WEIGHT)).max(axis=1))


def better_than(objectives: FloatArray, base: FloatArray) -> int | None:
    """Return the place of the row (M,) [any unit] that improves most on a base in all objectives.

    The row of `objectives` (N, M), which are minimised, has the largest of the least improvements:
    a design that is hardly better in one objective may be worse than the base by another contact
    model. None if no row is better in one objective and no worse in the others.
    """
    gains = (base - objectives) / np.maximum(np.abs(base), np.finfo(float).tiny)
    eligible = (gains >= 0.0).all(axis=1) & (gains > 0.0).any(axis=1)
    if not eligible.any():
        return None
    return int(np.argmax(np.where(eligible, gains.min(axis=1), -np.inf)))
