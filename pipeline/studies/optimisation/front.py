"""The non-dominated designs of a search, and the choice of a few of them."""

from __future__ import annotations

import numpy as np

from foundation.base.checks import FloatArray, IntArray


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

    For each reference direction (Blank et al. 2021, IEEE Trans Evol Comput 25:48-60), the design
    with the least achievement scalarisation between the best and the worst objectives of the front;
    each design once, so that fewer than `count` may be returned.
    """
    low, high = front.min(axis=0), front.max(axis=0)
    scaled = (front - low) / np.where(high > low, high - low, 1.0)
    places = [int(np.argmin(_achievement(scaled, row))) for row in _directions(front, count)]
    return list(dict.fromkeys(places))


def _directions(front: FloatArray, count: int) -> FloatArray:
    """Return reference directions (count, M) [1] of a front (N, M)."""
    from pymoo.util.ref_dirs import get_reference_directions

    objectives = front.shape[1]
    if objectives == 1 or count == 1:
        return np.full((1, objectives), 1.0 / objectives)
    return np.asarray(get_reference_directions("energy", objectives, count, seed=1))


def _achievement(scaled: FloatArray, direction: FloatArray) -> FloatArray:
    """Return the achievement scalarisation (N,) [1] of scaled objectives (N, M) [1]."""
    from pymoo.decomposition.asf import ASF

    ideal = np.zeros(scaled.shape[1])
    found = ASF().do(scaled, np.maximum(direction, 1e-4)[None], utopian_point=ideal)
    return np.asarray(found, dtype=np.float64).reshape(-1)


def better_than(objectives: FloatArray, base: FloatArray) -> int | None:
    """Return the place of the row that improves most on a base in all objectives.

    The row has the largest of the least improvements over the objectives: a design that is hardly
    better in one objective may be worse than the base by another contact model.

    Parameters
    ----------
    objectives : (N, M) float64
        Objectives to minimise [any unit].
    base : (M,) float64
        Objectives of the base [any unit].

    Returns
    -------
    int or None
        None if no row is better in one objective and no worse in the others.
    """
    gains = (base - objectives) / np.maximum(np.abs(base), np.finfo(float).tiny)
    eligible = (gains >= 0.0).all(axis=1) & (gains > 0.0).any(axis=1)
    if not eligible.any():
        return None
    return int(np.argmax(np.where(eligible, gains.min(axis=1), -np.inf)))
