"""Regressors of every kind with random weights, and what compares them."""

import numpy as np

from surrogates.families.regressor import linear_in
from surrogates.families.training import polynomial_exponents


def _scalings(rng, d, k):
    return (
        rng.normal(size=d) * 0.1,
        0.5 + rng.random(d),
        rng.normal(size=k),
        0.5 + rng.random(k),
    )


def kriging(n, d, k, kinds=None, sheared=(), degree=2, nugget=1e-6, seed=0):
    rng = np.random.default_rng(seed)
    exponents = polynomial_exponents(d, degree)
    shear = np.zeros(d)
    shear[list(sheared)] = -0.37
    return linear_in(
        "kriging",
        _scalings(rng, d, k),
        exponents,
        rng.normal(size=(k, len(exponents) + n)),
        points=rng.uniform(-1, 1, (n, d)),
        lengths=1.0 + rng.random(d),
        kinds=np.zeros(d, dtype=int) if kinds is None else np.array(kinds),
        shear=shear,
        nugget=nugget,
        variance=0.1 + rng.random(k),
    )


def polynomial(d, k, degree, wave=0.0, exponents=None, seed=0):
    rng = np.random.default_rng(seed)
    exponents = polynomial_exponents(d, degree) if exponents is None else np.array(exponents)
    return linear_in(
        "poly_fourier" if wave else "polynomial",
        _scalings(rng, d, k),
        exponents,
        rng.normal(size=(k, len(exponents))),
        wave=wave,
        spread=0.3 * rng.normal(size=(k, len(polynomial_exponents(d, 2)))),
    )


def network(d, k, h, nets=1, degree=2, seed=0):
    rng = np.random.default_rng(seed)
    exponents = polynomial_exponents(d, degree)
    return linear_in(
        "network",
        _scalings(rng, d, k),
        exponents,
        rng.normal(size=(k, len(exponents) + nets * h)),
        inner=0.5 * rng.normal(size=(nets, d, h)),
        inner_bias=rng.normal(size=(nets, h)),
        hidden=rng.normal(size=(nets, h, h)) / np.sqrt(h),
        hidden_bias=rng.normal(size=(nets, h)),
    )


def splines(d, k, degree, ends, sheared=(), seed=0):
    """Splines between knots, of which the first and the last repeat."""
    rng = np.random.default_rng(seed)
    others = polynomial_exponents(d - 1, degree)
    shear = np.zeros(d)
    shear[list(sheared)] = -0.37
    return linear_in(
        "spline",
        _scalings(rng, d, k),
        np.pad(others, ((0, 0), (1, 0))),
        rng.normal(size=(k, (len(ends) + 2) * len(others))),
        knots=np.r_[[ends[0]] * 3, ends, [ends[-1]] * 3],
        shear=shear,
        spread=0.3 * rng.normal(size=(k, len(polynomial_exponents(d, 2)))),
    )


def networks_beside_splines(d, k, h, ends, nets=2, seed=0):
    """Networks and, on other terms, splines in a shear of the second input."""
    learnt, other = network(d, k, h, nets, 0, seed), splines(d, k, 2, ends, [1], seed + 1)
    arrays = learnt.to_arrays() | {
        name: getattr(other, name) for name in ("exponents", "knots", "shear", "spread")
    }
    arrays["weights"] = np.concatenate([other.weights, learnt.weights[:, 1:]], axis=1)
    return type(learnt).from_arrays(arrays)


def everything():
    """Terms of a Fourier series, correlations of all kinds and two networks at once."""
    rng = np.random.default_rng(3)
    exponents = polynomial_exponents(4, 2)
    n, nets, h = 21, 2, 5
    return linear_in(
        "network",
        _scalings(rng, 4, 10),
        exponents,
        rng.normal(size=(10, len(exponents) + n + nets * h)),
        wave=1.1,
        points=rng.uniform(-1, 1, (n, 4)),
        lengths=1.0 + rng.random(4),
        kinds=np.array([1, 0, 1, 1]),
        shear=np.array([0.0, 0.2, 0.0, 0.5]),
        inner=rng.normal(size=(nets, 4, h)),
        inner_bias=rng.normal(size=(nets, h)),
        hidden=rng.normal(size=(nets, h, h)),
        hidden_bias=rng.normal(size=(nets, h)),
        nugget=0.01,
        variance=rng.random(10),
    )


# Not in the order of total degrees, and with the highest degree before the end.
_UNORDERED = [[0, 0, 0], [9, 0, 0], [0, 0, 2], [9, 0, 2], [0, 1, 0], [0, 1, 11], [9, 1, 0]]

#: What takes each its own way through the kernels.
MADE = {
    "kriging of one output": kriging(100, 6, 1),
    "kriging, Matern in a shear": kriging(83, 6, 5, [1, 0, 0, 1, 0, 0], [3]),
    "kriging, shear by the last input": kriging(37, 6, 6, [1, 0, 0, 0, 0, 1], [3, 5]),
    "kriging, Matern alone, nine outputs": kriging(64, 4, 9, [1, 1, 1, 1]),
    "kriging, shear of a smooth first input": kriging(3, 2, 7, [0, 1], [1], degree=0),
    "kriging of one input": kriging(16, 1, 2, [1], degree=3, nugget=1e-3),
    "kriging of seven inputs": kriging(20, 7, 8, [1] * 7, [6], degree=1),
    "polynomial of one output": polynomial(6, 1, 4),
    "polynomial of twelve outputs": polynomial(6, 12, 3),
    "polynomial of the highest degree": polynomial(1, 3, 24),
    "polynomial, unordered": polynomial(3, 2, 0, exponents=_UNORDERED),
    "constant": polynomial(2, 2, 0),
    "Fourier": polynomial(5, 6, 3, wave=1.3),
    "Fourier of one input": polynomial(1, 2, 9, wave=1.3),
    "network of twelve outputs": network(6, 12, 24),
    "networks of one output": network(6, 1, 20, nets=3),
    "small network": network(2, 7, 5, nets=2, degree=0),
    "splines of one output, high degree": splines(2, 1, 9, np.linspace(-0.8, 0.8, 6)),
    "splines in a shear": splines(4, 5, 2, np.linspace(-0.9, 0.9, 9), [1, 2]),
    "splines of twelve outputs": splines(6, 12, 3, np.linspace(-0.9, 0.7, 4), [3], seed=1),
    "splines of one output in a shear": splines(5, 1, 3, np.linspace(-0.9, 0.9, 17), [2]),
    "splines of one piece": splines(3, 2, 2, [-0.5, 0.6], [1]),
    "splines of unequal knots": splines(3, 9, 1, [-0.9, -0.85, -0.2, -0.1, 0.6, 0.61], [1]),
    "networks beside splines": networks_beside_splines(6, 12, 20, np.linspace(-0.9, 0.8, 5)),
    "networks of one output beside splines": networks_beside_splines(3, 1, 9, [-0.5, 0.1, 0.6]),
    "everything": everything(),
}


def inside(regressor, count, seed=1):
    """Inputs (N, d) over the range of z from -1 to 1."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(-1, 1, (count, regressor.inputs))
    return regressor.x_offset + regressor.x_scale * z


def off(found, wanted):
    """Largest difference over the largest number wanted."""
    return np.abs(np.asarray(found) - wanted).max() / np.abs(wanted).max()
