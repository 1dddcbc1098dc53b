"""Designs of sensitivity studies on the unit cube, and Sobol indices (SALib)."""

from __future__ import annotations

from typing import Any

import numpy as np

from foundation.base.checks import FloatArray

# A distribution without bounds is infinite at 0 and 1.
_EDGE = 1e-12


def unit_design(kind: str, runs: int, dimensions: int, seed: int) -> FloatArray:
    """Return a design of shares (N, D) strictly between 0 and 1 [1] on the unit cube.

    A row of "montecarlo" depends only on the seed and the number of the row, so that more runs
    extend a shorter study; "latin_hypercube" and "sobol" depend on `runs` too. N is `runs`, for
    "sobol" `runs * (D + 2)`: Sobol's design is Saltelli's (Saltelli et al. 2010, Comput Phys Commun
    181:259-270), blocks of a row of matrix A, the row with one column after the other from matrix
    B, and the row of B.
    """
    if kind == "montecarlo":
        rows = [np.random.default_rng([seed, run]).random(dimensions) for run in range(runs)]
        unit = np.array(rows)
    elif kind == "latin_hypercube":
        from scipy.stats import qmc  # slow to import, as is SALib, and few studies need either

        unit = qmc.LatinHypercube(dimensions, rng=np.random.default_rng(seed)).random(runs)
    else:
        from SALib.sample import sobol

        problem = _problem(dimensions)
        unit = sobol.sample(problem, runs, calc_second_order=False, seed=seed)
    return np.clip(np.asarray(unit, dtype=np.float64), _EDGE, 1.0 - _EDGE)


def _problem(dimensions: int) -> dict[str, Any]:
    names = [f"x{k}" for k in range(dimensions)]
    return {"num_vars": dimensions, "names": names, "bounds": [[0.0, 1.0]] * dimensions}


def sobol_indices(
    names: list[str], values: FloatArray, seed: int
) -> dict[str, dict[str, float]] | None:
    """Return first-order and total Sobol indices of values (N,) [any unit], with 95 % intervals."""
    # `values` (N,) [any unit] are in the order of Sobol's design; blocks of D + 2 runs with a
    # failed run, NaN, are left out. None if fewer than four blocks are complete or the output is
    # constant.
    from SALib.analyze import sobol

    blocks = values.reshape(-1, len(names) + 2)
    whole = blocks[np.isfinite(blocks).all(axis=1)]
    if len(whole) < 4 or np.ptp(whole) <= 1e-12 * np.abs(whole).max():
        return None
    result = sobol.analyze(_problem(len(names)), whole.ravel(), calc_second_order=False, seed=seed)
    keys = {"first": "S1", "first_half_width": "S1_conf", "total": "ST"}
    keys["total_half_width"] = "ST_conf"
    return {
        name: {key: float(result[column][k]) for key, column in keys.items()}
        for k, name in enumerate(names)
    }
