"""Complementarity problems by class of matrix: rows chosen twice, and time.

`python -m benchmarks.complementarity` prints the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, process_time

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve, solve_triangular
from scipy.optimize import nnls

from benchmarks.timing import table
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


def by_least_squares(matrix: FloatArray, constant: FloatArray) -> FloatArray:
    """Return X for a symmetric positive-definite A: non-negative least squares on its factor."""
    factor = cholesky(matrix, lower=True)
    return nnls(factor.T, -solve_triangular(factor, constant, lower=True))[0]


def switching() -> str:
    """Return how often a row is chosen twice or the safeguard is needed, and the time."""
    rows = []
    for name, make in MATRICES.items():
        for n, count in ((3, 4000), (10, 2000), (50, 200), (200, 10)):
            rng = np.random.default_rng(n)
            problems = [(make(rng, n), rng.normal(size=n)) for _ in range(count)]
            start = process_time()
            solutions = [solve_complementarity(a, b, rule="most_negative") for a, b in problems]
            milliseconds = 1e3 * (process_time() - start) / count
            other = "-"
            if name in SYMMETRIC:
                start = process_time()
                for a, b in problems:
                    by_least_squares(a, b)
                other = f"{1e3 * (process_time() - start) / count:.2f}"
            rows.append(
                [
                    name,
                    str(n),
                    str(count),
                    f"{100.0 * np.mean([s.repeated for s in solutions]):.1f}",
                    f"{100.0 * np.mean([s.safeguarded for s in solutions]):.1f}",
                    f"{np.mean([len(s.exclusions) for s in solutions]) / n:.2f}",
                    f"{milliseconds:.2f}",
                    other,
                ]
            )
    header = [
        "matrix",
        "n",
        "problems",
        "row chosen twice [%]",
        "safeguard [%]",
        "exclusions / n",
        "time [ms]",
        "non-negative least squares [ms]",
    ]
    return table("Switching by the most negative free term", header, rows)


def least_seconds(functions: list[Callable[[], object]], repeats: int = 15) -> list[float]:
    """Return the least time of a call of each function, taken in turn so that all share a load."""
    times = np.full(len(functions), np.inf)
    for _ in range(repeats):
        for number, function in enumerate(functions):
            start = perf_counter()
            function()
            times[number] = min(times[number], perf_counter() - start)
    return times.tolist()


def worth(sizes: tuple[int, ...] = (100, 300, 600), problems: int = 3) -> str:
    """Return the time of a problem in LAPACK solutions of its final active subsystem."""
    rows = []
    for name, make in MATRICES.items():
        for n in sizes:
            rng = np.random.default_rng(n)
            measured = [
                problem_seconds(make(rng, n), rng.normal(size=n), name in SYMMETRIC)
                for _ in range(problems)
            ]
            m, ours, by_lu, by_cholesky = np.median(measured, axis=0)
            cells = [f"{m:.0f}", f"{1e3 * ours:.2f}", f"{ours / by_lu:.1f}"]
            cells.append("-" if np.isnan(by_cholesky) else f"{ours / by_cholesky:.1f}")
            rows.append([name, str(n), *cells])
    header = ["matrix", "n", "active rows", "time [ms]", "in LU solutions", "in Cholesky solutions"]
    return table("Complementarity problems in solutions of their active subsystem", header, rows)


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
    print(worth())
    print(switching())
