"""SOAP: Adam in the eigenbasis of Shampoo's preconditioners, for stacks of weight matrices.

Vyas et al. 2024, "SOAP: improving and stabilizing Shampoo using Adam", arXiv:2409.11321, Algorithm
3; Adam is that of Kingma & Ba 2015, Shampoo that of Gupta, Koren & Singer 2018. A weight matrix W
(m, n) with gradient G has running means of G G^T (m, m) and G^T G (n, n). In the basis of their
eigenvectors, the entries of the gradient are nearly uncorrelated, so that a step of Adam there is
close to a step of Gauss-Newton.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SingleArray = NDArray[np.float32]
#: Decay of the means of the gradient, of its square and of the preconditioners.
_FIRST, _SECOND, _OUTER = 0.95, 0.99, 0.99
#: Steps from one update of the preconditioners to the next, and of their eigenvectors.
_OUTER_STEPS, _BASIS_STEPS = 2, 20
_TINY = np.float32(1e-10)


class Soap:
    """Optimiser of weight matrices (M, m, n) [1]; the first `step` only sets up their bases."""

    def __init__(self, weights: SingleArray) -> None:
        self._weights = weights
        self._steps = 0
        self._first, self._second = np.zeros_like(weights), np.zeros_like(weights)
        self._left, self._right = np.zeros(0, np.float32), np.zeros(0, np.float32)
        self._rows, self._columns = self._left, self._right

    def step(self, gradient: SingleArray, rate: float) -> None:
        """Move the weights against a gradient (M, m, n) [1] by about `rate` in each direction."""
        if self._steps == 0:
            self._left, self._right = _outer(gradient)
            self._rows, self._columns = _eigenvectors(self._left), _eigenvectors(self._right)
            self._steps = 1
            return
        done = self._steps
        rows, columns = self._rows, self._columns
        turned = _transposed(rows) @ gradient @ columns
        self._first += np.float32(1.0 - _FIRST) * (turned - self._first)
        self._second += np.float32(1.0 - _SECOND) * (turned * turned - self._second)
        unbiased = rate * np.sqrt(1.0 - _SECOND**done) / (1.0 - _FIRST**done)
        move = np.float32(unbiased) * self._first / (np.sqrt(self._second) + _TINY)
        self._weights -= rows @ move @ _transposed(columns)
        self._steps += 1
        if self._steps % _OUTER_STEPS == 0:
            left, right = _outer(gradient)
            self._left += np.float32(1.0 - _OUTER) * (left - self._left)
            self._right += np.float32(1.0 - _OUTER) * (right - self._right)
        if self._steps % _BASIS_STEPS == 0:
            self._turn()

    def _turn(self) -> None:
        """Improve the eigenvectors by a step of subspace iteration; turn the mean gradient."""
        rows = np.linalg.qr(self._left @ self._rows)[0]
        columns = np.linalg.qr(self._right @ self._columns)[0]
        left, right = _transposed(rows) @ self._rows, _transposed(self._columns) @ columns
        self._first = left @ self._first @ right
        self._rows, self._columns = rows, columns


def _transposed(stack: SingleArray) -> SingleArray:
    return stack.transpose(0, 2, 1)


def _outer(gradient: SingleArray) -> tuple[SingleArray, SingleArray]:
    """Return G G^T (M, m, m) and G^T G (M, n, n)."""
    return gradient @ _transposed(gradient), _transposed(gradient) @ gradient


def _eigenvectors(stack: SingleArray) -> SingleArray:
    """Return the eigenvectors (M, n, n) of symmetric matrices, the largest eigenvalue first."""
    found = np.linalg.eigh(stack.astype(np.float64))[1][:, :, ::-1]
    return np.ascontiguousarray(found, dtype=np.float32)
