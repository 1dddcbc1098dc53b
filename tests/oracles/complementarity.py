"""Matrices of complementarity problems, by class."""

import numpy as np


def wishart(rng, n):
    """Symmetric positive definite, of 2 n samples."""
    sample = rng.normal(size=(n, 2 * n))
    return sample @ sample.T / n


def square_wishart(rng, n):
    """Symmetric positive definite, of n samples and a thousandth of the identity."""
    sample = rng.normal(size=(n, n))
    return sample @ sample.T / n + 1e-3 * np.eye(n)


def ill_conditioned(rng, n):
    """Symmetric positive definite with eigenvalues from 1 to 1e-6."""
    vectors = np.linalg.qr(rng.normal(size=(n, n)))[0]
    matrix = (vectors * np.logspace(0.0, -6.0, n)) @ vectors.T
    return 0.5 * (matrix + matrix.T)


def skewed(rng, n):
    """Positive definite with a skew part of its own size: not symmetric."""
    sample = rng.normal(size=(n, n))
    return wishart(rng, n) + sample - sample.T


def triangular(rng, n):
    """Lower triangular with a positive diagonal: a P-matrix, in general not positive definite."""
    return np.tril(3.0 * rng.normal(size=(n, n)) / n, -1) + np.eye(n)


def k_matrix(rng, n):
    """Symmetric, diagonally dominant, off-diagonal elements not positive: a K- or M-matrix."""
    off = rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.5)
    off = np.triu(off, 1) + np.triu(off, 1).T
    return np.diag(1.01 * off.sum(axis=1) + 0.01) - off


def tridiagonal(rng, n):
    """A string of springs of random stiffness, fixed at its ends: a K-matrix, too."""
    springs = rng.uniform(0.1, 1.0, n + 1)
    return (
        np.diag(springs[:-1] + springs[1:]) - np.diag(springs[1:-1], 1) - np.diag(springs[1:-1], -1)
    )


MATRICES = {
    "Wishart, 2 n samples": wishart,
    "Wishart, n samples": square_wishart,
    "ill-conditioned (1e6)": ill_conditioned,
    "K-matrix": k_matrix,
    "tridiagonal K-matrix": tridiagonal,
    "positive definite, skew part": skewed,
    "triangular P-matrix": triangular,
}
