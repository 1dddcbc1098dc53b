"""Loads of many poses by the compiled kernels, in as many threads as the process may use."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray
from surrogates.compiled import knee as compiled
from surrogates.compiled.knee import CompartmentArguments
from surrogates.compiled.layout import new_work

#: Poses that are worth a thread: a thread takes about as long to start as ten poses.
_LEAST_ROWS = 64


def threads() -> int:
    """Return the number of threads that the process may use at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def loads_and_jacobians(
    parts: Sequence[CompartmentArguments], poses: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return loads and Jacobians of the wrench of C compartments at poses, in double precision.

    Parameters
    ----------
    parts : sequence of CompartmentArguments
        Packed arguments of the compartments.
    poses : (..., 6) array_like
        Poses [rad, m]; of a pose that is not finite all numbers are NaN.

    Returns
    -------
    loads : (..., C, 12) float64
        In the order of `foundation.base.loads.LOAD_COLUMNS` [SI].
    jacobians : (..., C, 6, 6) float64
        d(wrench)/d(pose) of each compartment [SI].
    """
    rows, shape = _rows(poses)
    loads = np.empty((len(rows), len(parts), 12))
    jacobians = np.empty((len(rows), len(parts), 6, 6))

    def fill(first: int, end: int) -> None:
        own = rows[first:end]
        n = len(own)
        found, slopes, variables = np.empty((n, 12)), np.empty((n, 6, 6)), np.empty((n, 7))
        for c, part in enumerate(parts):
            work = new_work(int(compiled.workspace(part)))
            compiled.loads_of_compartment(own, part, found, slopes, variables, work)
            loads[first:end, c], jacobians[first:end, c] = found, slopes

    _in_threads(fill, len(rows))
    unknown = ~np.isfinite(rows).all(axis=1)
    loads[unknown] = jacobians[unknown] = np.nan
    return loads.reshape(*shape, *loads.shape[1:]), jacobians.reshape(*shape, *jacobians.shape[1:])


def hessians(parts: Sequence[CompartmentArguments], poses: ArrayLike) -> FloatArray:
    """Return d2(wrench)/d(pose)2 (..., C, 6, 6, 6) [SI] of C compartments at poses (..., 6).

    As of `loads_and_jacobians`.
    """
    rows, shape = _rows(poses)
    bends = np.empty((len(rows), len(parts), 6, 6, 6))

    def fill(first: int, end: int) -> None:
        own = rows[first:end]
        found = np.empty((len(own), 6, 6, 6))
        for c, part in enumerate(parts):
            work = new_work(int(compiled.hessian_workspace(part)))
            compiled.hessians_of_compartment(own, part, found, work)
            bends[first:end, c] = found

    _in_threads(fill, len(rows))
    bends[~np.isfinite(rows).all(axis=1)] = np.nan
    return bends.reshape(*shape, *bends.shape[1:])


def _rows(poses: ArrayLike) -> tuple[FloatArray, tuple[int, ...]]:
    """Return a copy of poses (..., 6) [rad, m] as rows (N, 6), which kernels take, and the rest."""
    given = np.asarray(poses)
    return np.array(given, dtype=np.float64, order="C").reshape(-1, 6), given.shape[:-1]


def _in_threads(fill: Callable[[int, int], None], count: int) -> None:
    """Call fill(first, end) for ranges of about equal length that cover 0 to `count`."""
    parts = max(min(threads(), count // _LEAST_ROWS), 1)
    if parts == 1:
        fill(0, count)
        return
    ends = [count * k // parts for k in range(parts + 1)]
    with ThreadPoolExecutor(parts) as pool:
        for done in [pool.submit(fill, *pair) for pair in pairwise(ends)]:
            done.result()
