"""Space-filling designs on the unit cube by SciPy, and well-spread subsets of them.

The first rows of "sobol" and "halton" (`PREFIX_KINDS`) fill the cube; "hammersley", i/n beside an
unscrambled Halton sequence, randomly shifted (Cranley & Patterson 1976), and the Latin hypercube
"lhs" fill it as a whole, and `first_subset` chooses spread rows of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_in, check_number
from foundation.base.errors import InputError

KINDS = ("lhs", "sobol", "halton", "hammersley")
PREFIX_KINDS = ("sobol", "halton")


def unit_design(kind: str, n: int, d: int, rng: np.random.Generator | int) -> FloatArray:
    """Return a design of n points in the unit cube of d dimensions.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    n : int
        Number of points.
    d : int
        Number of dimensions.
    rng : numpy.random.Generator or int
        Random generator or its seed.

    Returns
    -------
    (n, d) float64
        Points in the unit cube [1].
    """
    check_in("kind", kind, KINDS)
    from scipy.stats import qmc  # slow to import; a trained surrogate needs no design

    count, dimension = (int(check_number(*each, at_least=1)) for each in (("n", n), ("d", d)))
    generator = np.random.default_rng(rng)
    if kind == "lhs":
        return qmc.LatinHypercube(dimension, rng=generator).random(count)
    if kind == "sobol":
        # A power of two, as the sequence is balanced at these sizes (SciPy warns at others); the
        # first n points do not depend on the number drawn.
        sequence = qmc.Sobol(dimension, scramble=True, rng=generator)
        return sequence.random_base2((count - 1).bit_length())[:count]
    if kind == "halton":
        return qmc.Halton(dimension, scramble=True, rng=generator).random(count)
    return _hammersley(count, dimension, generator)


def first_subset(
    design: ArrayLike,
    n: int,
    *,
    kind: str | None = None,
    rng: np.random.Generator | int | None = None,
) -> NDArray[np.int64]:
    """Return the indices of n well-spread rows of a design, in the order of evaluation.

    The rows of a sequence (`PREFIX_KINDS`) are taken in order. From any other design, each next row
    is the row farthest from the chosen rows (greedy maximin, Gonzalez 1985: every row of the design
    is within twice the best possible distance of a chosen row); cost m n d.

    Parameters
    ----------
    design : (m, d) array_like
        Points in the unit cube [1].
    n : int
        Number of rows to choose, at most m.
    kind : str, optional
        Kind of the design; None if unknown, which is treated as not a sequence.
    rng : numpy.random.Generator or int, optional
        Draws the first row; by default the first row is the row nearest the centre of the cube.

    Returns
    -------
    (n,) int64
        Distinct row numbers; the rows for a smaller n are the first rows for a larger n.
    """
    points = check_array("design", design, (None, None))
    count = int(check_number("n", n, at_least=1))
    if count > len(points):
        raise InputError(
            f"n: expected at most the {len(points)} rows of the design, found {count}; "
            "draw more candidates"
        )
    if kind is not None and check_in("kind", kind, KINDS) in PREFIX_KINDS:
        return np.arange(count)
    if rng is None:
        first = int(np.argmin(((points - 0.5) ** 2).sum(axis=1)))
    else:
        first = int(np.random.default_rng(rng).integers(len(points)))
    return _farthest_first(points, count, first)


def _farthest_first(points: FloatArray, count: int, first: int) -> NDArray[np.int64]:
    chosen = np.empty(count, dtype=np.int64)
    chosen[0] = first
    nearest = ((points - points[first]) ** 2).sum(axis=1)
    nearest[first] = -1.0  # a chosen row is not chosen again, even among repeated rows
    for i in range(1, count):
        chosen[i] = int(np.argmax(nearest))
        distance = ((points - points[chosen[i]]) ** 2).sum(axis=1)
        np.minimum(nearest, distance, out=nearest)
        nearest[chosen[i]] = -1.0
    return chosen


def _hammersley(n: int, d: int, rng: np.random.Generator) -> FloatArray:
    first = ((np.arange(n) + 0.5) / n)[:, None]
    if d == 1:
        return first
    from scipy.stats import qmc

    rest = qmc.Halton(d - 1, scramble=False).random(n)
    return np.hstack([first, (rest + rng.random(d - 1)) % 1.0])
