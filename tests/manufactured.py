"""A compartment whose height and load ratios are quadratic in the scaled variables.

A response surface of degree two, or a Kriging model with a quadratic trend, recovers it exactly.
"""

from __future__ import annotations

import numpy as np

from surrogates.formulations import DirectCompartment, InvertedCompartment
from surrogates.knee import KneeSurrogate
from surrogates.kriging import KrigingSettings, fit_kriging
from surrogates.response_surface import ResponseSurfaceSettings, fit_response_surface
from surrogates.space import ReferencePath, SampleSpace


def space(load=(25.0, 2500.0)):
    flexion = np.array([0.0, 0.3, 0.5, 0.8, 1.0])
    path = np.column_stack(
        [
            0.01 * flexion,
            0.1 * np.sin(flexion),
            -8e-3 * flexion**2,
            30e-3 + 5e-3 * np.sin(3 * flexion),
            1e-3 * flexion,
        ]
    )
    return SampleSpace(
        ReferencePath(flexion, path), [0.0, 1.0], [0.02, 0.1, 4e-3, 1e-3], list(load)
    )


def height(x):
    """Height over the path (N,) [m]: falls by 0.2 to 0.5 mm from no load to the largest."""
    a, b, c, d, e, s = x.T
    still = 0.5 + 0.3 * a - 0.2 * b**2 + 0.25 * c * d + 0.1 * e
    return 1e-3 * (still - (s + 1) * (0.15 + 0.03 * b - 0.02 * d) - 0.01 * (s + 1) ** 2)


def ratios(x):
    """(F_x, F_z, M_x, M_y, M_z) over F_y, (N, 5)."""
    a, b, c, d, e, s = x.T
    return np.column_stack(
        [
            0.1 + 0.05 * d * s - 0.02 * a,
            -0.05 + 0.04 * e + 0.03 * b * b,
            0.02 + 0.002 * c * s,
            1e-3 * (a - e * d),
            5e-3 + 2e-3 * d - 1e-3 * s * s,
        ]
    )


def quantities(x):
    """(area, peak, mean pressure) over the root of F_y, and the centre of pressure, (N, 6)."""
    a, b, c, d, e, s = x.T
    return np.column_stack(
        [
            4e-6 + 1e-6 * s,
            3e5 + 4e4 * a * s,
            2e5 - 1e4 * b,
            5e-3 * d + 1e-3 * c * s,
            -1e-3 + 1e-4 * e * e,
            20e-3 + 2e-3 * b,
        ]
    )


def loads(x, axial):
    """All twelve loads (N, 12) at scaled variables and axial load."""
    values = np.empty((len(x), 12))
    values[:, 1] = axial
    values[:, [0, 2, 3, 4, 5]] = ratios(x) * axial[:, None]
    q = quantities(x)
    values[:, 6:9] = q[:, :3] * np.sqrt(axial)[:, None]
    values[:, 9:] = q[:, 3:]
    return values


def samples(where, count, seed):
    """Draw poses at which the compartment carries the load drawn, with their loads."""
    poses, axial = where.draw(np.random.default_rng(seed).random((count, 6)))
    x, _ = where.scaled(poses, axial)
    poses[:, 4] += height(x)
    return poses, loads(x, axial)


def fit_surface(x, y):
    return fit_response_surface(x, y, ResponseSurfaceSettings(degree=2))


def fit_quadratic_kriging(x, y):
    """Exact: the trend is the truth."""
    return fit_kriging(x, y, KrigingSettings(trend="quadratic"), lengths=np.full(6, 0.1))


def fit_linear_kriging(x, y):
    """Near: the correlations have to bend a linear trend."""
    return fit_kriging(x, y, KrigingSettings(trend="linear", nugget=1e-6), lengths=np.full(6, 0.3))


FITS = {
    "response_surface": fit_surface,
    "kriging": fit_quadratic_kriging,
    "linear_kriging": fit_linear_kriging,
}
EXACT = ("response_surface", "kriging")


def inverted(family="response_surface", seed=1, where=None, count=150):
    where = where or space()
    return InvertedCompartment.fit(where, *samples(where, count, seed), FITS[family])


def direct_truth(where, poses):
    """Loads (N, 12) quadratic in the five scaled variables and the height over the path."""
    x, over = where.scaled(poses, np.zeros(len(poses)))
    x[:, 5] = 1e3 * over
    values = np.hstack([ratios(x), quantities(x), x[:, [5]] ** 2])
    scale = np.array([100, 0, 100, 100, 100, 100, 1, 1, 1, 1, 1, 1.0])
    values = values[:, [0, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]] * scale
    values[:, 1] = 500.0 - 200.0 * x[:, 5] + 30.0 * x[:, 0] * x[:, 5] + 20.0 * x[:, 3]
    return values


def direct_samples(where, count, seed):
    rng = np.random.default_rng(seed)
    poses, _ = where.draw(rng.random((count, 6)))
    poses[:, 4] += rng.uniform(-1e-3, 1e-3, count)
    return poses, direct_truth(where, poses)


def direct(family="response_surface", seed=1, where=None, count=150):
    where = where or space()
    return DirectCompartment.fit(where, *direct_samples(where, count, seed), FITS[family])


def knee(family="response_surface", header=None):
    """Two compartments that differ in range and samples."""
    return KneeSurrogate(
        inverted(family, 1), inverted(family, 2, space((25.0, 1600.0))), header or {}
    )
