"""Time of complementarity problems by class of matrix: `python -m benchmarks.complementarity`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from time import perf_counter

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve

from benchmarks.frame import Rows, measured, run
from benchmarks.timing import clocked
from dynamics.mechanics.unilateral import solve_complementarity
from foundation.base.checks import FloatArray

Generator = np.random.Generator
Maker = Callable[[Generator, int], FloatArray]


def wishart(rng: Generator, n: int) -> FloatArray:
    """Symmetric positive definite, of 2 n samples."""
    sample = rng.normal(size=(n, 2 * n))
    return sample @ sample.T / n


def square_wishart(rng: Generator, n: int) -> FloatArray:
    """Symmetric positive definite, of n samples and a thousandth of the identity."""
    sample = rng.normal(size=(n, n))
    return sample @ sample.T / n + 1e-3 * np.eye(n)


def ill_conditioned(rng: Generator, n: int) -> FloatArray:
    """Symmetric positive definite with eigenvalues from 1 to 1e-6."""
    vectors = np.linalg.qr(rng.normal(size=(n, n)))[0]
    matrix = (vectors * np.logspace(0.0, -6.0, n)) @ vectors.T
    return 0.5 * (matrix + matrix.T)


def skewed(rng: Generator, n: int) -> FloatArray:
    """Positive definite with a skew part of its own size: not symmetric."""
    sample = rng.normal(size=(n, n))
    return wishart(rng, n) + sample - sample.T


def triangular(rng: Generator, n: int) -> FloatArray:
    """Lower triangular with a positive diagonal: a P-matrix, in general not positive definite."""
    return np.tril(3.0 * rng.normal(size=(n, n)) / n, -1) + np.eye(n)


def k_matrix(rng: Generator, n: int) -> FloatArray:
    """Symmetric, diagonally dominant, off-diagonal elements not positive: a K- or M-matrix."""
    off = rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.5)
    off = np.triu(off, 1) + np.triu(off, 1).T
    return np.diag(1.01 * off.sum(axis=1) + 0.01) - off


def tridiagonal(rng: Generator, n: int) -> FloatArray:
    """A string of springs of random stiffness, fixed at its ends: a K-matrix, too."""
    springs = rng.uniform(0.1, 1.0, n + 1)
    return (
        np.diag(springs[:-1] + springs[1:]) - np.diag(springs[1:-1], 1) - np.diag(springs[1:-1], -1)
    )


SYMMETRIC: dict[str, Maker] = {
    "Wishart, 2 n samples": wishart,
    "Wishart, n samples": square_wishart,
    "ill-conditioned (1e6)": ill_conditioned,
    "K-matrix": k_matrix,
    "tridiagonal K-matrix": tridiagonal,
}
MATRICES: dict[str, Maker] = SYMMETRIC | {
    "positive definite, skew part": skewed,
    "triangular P-matrix": triangular,
}


def least_seconds(functions: list[Callable[[], object]], repeats: int = 15) -> list[float]:
    """Return the least time of a call of each function, taken in turn so that all share a load."""
    times = np.full(len(functions), np.inf)
    for _ in range(repeats):
        for number, function in enumerate(functions):
            times[number] = min(times[number], clocked(function, perf_counter)[1])
    return times.tolist()


@measured(
    "Complementarity problems in solutions of their active subsystem",
    {"matrix": "", "n": "d", "active rows": ".0f", "time [ms]": ".2f", "in LU solutions": ".1f",
     "in Cholesky solutions": ".1f"},
)  # fmt: skip
def worth(sizes: tuple[int, ...] = (100, 300, 600), problems: int = 3) -> Rows:
    """Time of a problem in LAPACK solutions of its final active subsystem."""
    for name, n in product(MATRICES, sizes):
        rng, is_symmetric = np.random.default_rng(n), name in SYMMETRIC
        times = [
            problem_seconds(MATRICES[name](rng, n), rng.normal(size=n), is_symmetric)
            for _ in range(problems)
        ]
        m, ours, by_lu, by_cholesky = np.median(times, axis=0)
        yield name, n, m, ours, ours / by_lu, ours / by_cholesky if is_symmetric else None


def problem_seconds(a: FloatArray, b: FloatArray, symmetric: bool) -> list[float]:
    """Return active rows, seconds of the problem, of a solution by LU and by Cholesky."""
    active = np.flatnonzero(solve_complementarity(a, b).active)
    block, right = a[np.ix_(active, active)], -b[active]
    functions: list[Callable[[], object]] = [
        lambda: solve_complementarity(a, b),
        lambda: solve(block, right, assume_a="general"),
    ]
    if symmetric:
        functions.append(lambda: cho_solve(cho_factor(block), right))
    times = least_seconds(functions)
    return [float(active.size), *times, *([] if symmetric else [np.nan])]


if __name__ == "__main__":
    run(__doc__, [worth])
