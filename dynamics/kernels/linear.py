"""Small dense linear systems: LU factors for several right-hand sides."""

from __future__ import annotations

import numpy as np

from foundation.base.compiling import inlined_kernel, kernel


@kernel
def factorise(matrix, order):
    """Replace a matrix (n, n) by its LU factors and fill the row order (n,).

    Pivoting scales the rows, since equations of motion and of equilibrium differ by orders of
    magnitude. Returns False if the matrix is singular or not finite.
    """
    n = matrix.shape[0]
    scale = np.empty(n)
    for i in range(n):
        order[i] = i
        scale[i] = 0.0
        for j in range(n):
            scale[i] = max(scale[i], abs(matrix[i, j]))
        if not (0.0 < scale[i] < np.inf):
            return False
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(matrix[i, k]) * scale[pivot] > abs(matrix[pivot, k]) * scale[i]:
                pivot = i
        if pivot != k:
            order[k], order[pivot] = order[pivot], order[k]
            scale[k], scale[pivot] = scale[pivot], scale[k]
            for j in range(n):
                matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
        if not abs(matrix[k, k]) > 0.0:
            return False
        for i in range(k + 1, n):
            factor = matrix[i, k] / matrix[k, k]
            matrix[i, k] = factor
            for j in range(k + 1, n):
                matrix[i, j] -= factor * matrix[k, j]
    return True


@inlined_kernel
def solve(factors, order, right, solution):
    """Fill the solution (n,) of a system factorised by `factorise`; `right` (n,) is kept."""
    n = right.size
    for i in range(n):
        value = right[order[i]]
        for j in range(i):
            value -= factors[i, j] * solution[j]
        solution[i] = value
    for i in range(n - 1, -1, -1):
        value = solution[i]
        for j in range(i + 1, n):
            value -= factors[i, j] * solution[j]
        solution[i] = value / factors[i, i]
