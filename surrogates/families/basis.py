"""Features of polynomials (or of a Fourier series) in NumPy, for fitting in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray

#: Largest block of a basis matrix in memory [bytes]; larger ones leave the processor's cache.
_BLOCK_BYTES = 6_000_000


def legendre_columns(z: FloatArray, degree: int) -> FloatArray:
    """Return Legendre polynomials P_0 ... P_degree (N, degree + 1) [1] at z (N,) [1]."""
    # Bonnet's recursion, (e + 1) P_(e+1) = (2 e + 1) z P_e - e P_(e-1).
    columns = np.ones((len(z), degree + 1))
    if degree > 0:
        columns[:, 1] = z
    for e in range(1, degree):
        columns[:, e + 1] = ((2 * e + 1) * z * columns[:, e] - e * columns[:, e - 1]) / (e + 1)
    return columns


def fourier_columns(z: FloatArray, degree: int, wave: float) -> FloatArray:
    """Return 1, sin(wave z), cos(wave z), sin(2 wave z), ... (N, degree + 1) [1] at z (N,) [1]."""
    columns = np.ones((len(z), degree + 1))
    for e in range(1, degree + 1):
        angle = ((e + 1) // 2) * wave * z
        columns[:, e] = np.sin(angle) if e % 2 else np.cos(angle)
    return columns


def basis_matrix(z: FloatArray, exponents: NDArray[np.int64], wave: float = 0.0) -> FloatArray:
    """Return features (N, T) [1] of exponents (T, d) and `wave` [1] at scaled inputs z (N, d)."""
    # A row for each term while it is filled: entries side by side in memory are read and written.
    matrix = np.ones((len(exponents), len(z)))
    for j, degrees in enumerate(exponents.T):
        used = np.flatnonzero(degrees)
        if not used.size:
            continue
        highest = int(degrees.max())
        if j == 0 and wave > 0.0:
            columns = fourier_columns(z[:, 0], highest, wave)
        else:
            columns = legendre_columns(z[:, j], highest)
        matrix[used] *= np.ascontiguousarray(columns.T)[degrees[used]]
    return matrix.T


def row_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Yield slices that together cover all rows, each for a matrix block of bounded size."""
    step = max(1, _BLOCK_BYTES // (8 * max(1, columns)))
    for start in range(0, rows, step):
        yield slice(start, min(rows, start + step))
