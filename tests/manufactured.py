"""A compartment of which each formulation learns quadratics: a polynomial of degree 2 is exact.

The truth is stated in the condyle's coordinates. The design repeats the same points, mirrored, at
each flexion, so that what the fit finds of them (path, centre of the condyle) is the truth's own.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from foundation.base.pose import rotation_matrix
from surrogates.families.kriging import KrigingSettings
from surrogates.families.polynomial import PolynomialSettings
from surrogates.families.registry import fit_family
from surrogates.families.spline import SplineSettings
from surrogates.families.training import polynomial_exponents
from surrogates.formulations.compartment_fit import Fitter, fit_compartment
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.training_data import FORMULATIONS, Samples
from surrogates.sampling.condyle_coordinates import CondyleCoordinates
from surrogates.sampling.space import ReferencePath, SampleSpace

CENTRE = np.array([4e-3, -22e-3, 15e-3])
STEPS = np.array([1e-5, 1e-5, 1e-5, 1e-7, 1e-7, 1e-7])
#: Coefficients in falling powers of flexion of adduction, rotation, and place of the point.
PATH = np.array(
    [
        [0.0, 0.02, 1e-3, -2e-3, 0.0],
        [0.0, -0.06, -8e-3, 1e-3, 1e-3],
        [0.01, 0.1, 2e-3, 4e-3, 0.0],
        [0.0, 0.0, 3e-3, 30e-3, 16e-3],
    ]
)
_HALF_HEIGHT = 0.4e-3

FAMILIES = {
    "polynomial": PolynomialSettings(basis="total_degree", degree=(2,), ridge=(0.0,)),
    # Near, not exact: the correlations have to bend a linear trend.
    "kriging": KrigingSettings(
        correlation="squared_exponential",
        trend="linear",
        nugget=(1e-6, 1e-4),
        likelihood_points=60,
        iterations=8,
        refine=0,
    ),
    "spline": SplineSettings(terms=252, degree=2, pieces=1),
}


def quadratic(x, seed, outputs=1):
    """Random quadratics of x (N, d), (N, k), at most 1 in size on the cube."""
    exponents = polynomial_exponents(x.shape[1], 2)
    weights = np.random.default_rng(seed).uniform(-1.0, 1.0, (len(exponents), outputs))
    powers = np.prod(x[:, None, :] ** exponents, axis=2)
    return powers @ (weights / np.abs(weights).sum(axis=0))


def height(x):
    """Height (N,) [m] at (u, s): falls by 0.2 to 0.5 mm from first contact to s = 1."""
    still, fall = _still_and_fall(x[:, :5])
    t = x[:, 5] + 1.0
    return still - fall * t - 0.01e-3 * t**2


def _still_and_fall(u):
    a, b, c, d, e = u.T
    still = 0.5 + 0.3 * a - 0.2 * b**2 + 0.25 * c * d + 0.1 * e
    return 1e-3 * still, 1e-3 * (0.15 + 0.03 * b - 0.02 * d)


class Truth(NamedTuple):
    """What a formulation has to learn, in closed form."""

    formulation: str
    degree: float
    about_point: bool
    largest: float

    @property
    def coordinates(self):
        centre = CENTRE if self.about_point else np.zeros(3)
        path = ReferencePath([0.0, 1.0], PATH[:, None])
        half = [0.5, 0.02, 0.1, 4e-3, 1e-3]
        return CondyleCoordinates(centre, path, [0.5, 0, 0, 0, 0], half, self.about_point)

    @property
    def space(self):
        """The box about all poses of the design, its path a spline in five places."""
        flexion = np.linspace(-1.0, 1.0, 5)
        middle = self.poses(flexion[:, None] * np.eye(5)[0], np.zeros(5))
        path = ReferencePath.through(middle[:, 0], middle[:, 1:])
        u = np.random.default_rng(0).uniform(-1.0, 1.0, (2000, 5))
        poses = self.poses(u, np.zeros(len(u)))
        offsets = np.abs(poses - path.poses(poses[:, 0])).max(axis=0)[[1, 2, 3, 5]]
        return SampleSpace(path, [0.0, 1.0], offsets, [25.0, self.largest])

    def poses(self, u, over):
        """Poses (N, 6) at scaled variables (N, 5) and heights of the point over the path (N,)."""
        c = self.coordinates
        raw = c.middle + c.half * u
        poses = c.path.poses(raw[:, 0])
        poses[:, [1, 2, 3, 5]] += raw[:, 1:]
        poses[:, 4] += over
        poses[:, 3:] -= np.array([rotation_matrix(*p[:3]) @ c.centre for p in poses])
        return poses

    def over(self, x):
        """Heights (N,) at (u, last input), the last from -1 to 1."""
        return height(x) if self.formulation == "inverted" else _HALF_HEIGHT * x[:, 5]

    def root(self, u, over):
        """Root (N,) of the load, and the last input of ratios and quantities."""
        still, fall = _still_and_fall(u)
        drop = still - over
        t = 2.0 * drop / (fall + np.sqrt(fall**2 + 4.0 * 0.01e-3 * drop))
        return 0.5 * t, t - 1.0

    def loads(self, poses):
        """All twelve loads (N, 12) at poses in contact."""
        u, over, points = self.coordinates.variables(poses)
        if self.formulation == "direct":
            return self._plain(np.column_stack([u, over / _HALF_HEIGHT]))
        root, last = self.root(u, over)
        x = np.column_stack([u, last])
        loads = np.empty((len(x), 12))
        lever = points if self.about_point else np.zeros_like(points)
        loads[:, 1] = self.largest * root**self.degree
        bend = quadratic(x, 5, 5) * [0.1, 0.1, 5e-3, 2e-3, 4e-3]
        ratios = bend + np.array([0.1, 0.0, 0.02, 1e-3, 5e-3])
        loads[:, [0, 2]] = ratios[:, :2] * loads[:, [1]]
        loads[:, 3:6] = ratios[:, 2:] * loads[:, [1]] + np.cross(lever, loads[:, :3])
        # On the line of the force through the point, which is how that is found.
        loads[:, 9:] = lever - 0.02 * loads[:, :3] / loads[:, [1]]
        quantities = [2e-4, 2e7, 1e7] + quadratic(x, 6, 3) * [5e-5, 3e6, 1e6]
        loads[:, 6] = quantities[:, 0] * root
        loads[:, 7:9] = quantities[:, 1:] * root[:, None] ** (self.degree - 1.0)
        return loads

    def _plain(self, x):
        size = [300.0, 900.0, 200.0, 20.0, 5.0, 20.0, 2e-4, 1e7, 6e6]
        middle = np.eye(9)[1] + 0.5 * (np.arange(9) > 5)
        loads = np.empty((len(x), 12))
        loads[:, :9] = size * (middle + quadratic(x, 7, 9) * 0.8 - np.eye(9)[1] * 0.3 * x[:, [5]])
        loads[:, 9:] = [4e-3, 1e-3, 20e-3] + 5e-3 * quadratic(x, 3, 3)
        return loads

    def samples(self, x):
        """Samples at (u, last input)."""
        poses = self.poses(x[:, :5], self.over(x))
        return Samples(poses, self.loads(poses))


def differences(function, poses):
    """Fourth-order central differences (N, 6, ...) of a function of poses (N, 6)."""
    found = []
    for step in np.diag(STEPS):
        one, two = (
            (function(poses + k * step) - function(poses - k * step)) / (2 * k * step.sum())
            for k in (1, 2)
        )
        found.append((4 * one - two) / 3)
    return np.stack(found, axis=1)


def truth(formulation="inverted", degree=2.0, at_centre=True, largest=2500.0):
    return Truth(formulation, degree, at_centre and formulation != "direct", largest)


def design(levels=6, pairs=20, seed=1):
    """(N, 6): the same mirrored points at each flexion, the last variable within 0.95."""
    half = np.random.default_rng(seed).uniform(-1.0, 1.0, (pairs, 5))
    others = np.concatenate([half, -half]) * [1, 1, 1, 1, 0.95]
    flexion = np.linspace(-1.0, 1.0, levels)
    return np.column_stack([np.repeat(flexion, len(others)), np.tile(others, (levels, 1))])


def draw(count, seed, within=0.9):
    """Random (u, last input), (N, 6)."""
    return np.random.default_rng(seed).uniform(-within, within, (count, 6))


def fitter(family="polynomial", joint=False):
    settings = FAMILIES[family]
    return Fitter(lambda x, y, weights: fit_family(family, x, y, settings, weights=weights), joint)


def train(true, family="polynomial", joint=False, levels=6, pairs=20, seed=1):
    samples = true.samples(design(levels, pairs, seed))
    fit = fitter(family, joint)
    return fit_compartment(true.formulation, true.space, samples, fit, true.degree)


@cache
def compartment(formulation="inverted", family="polynomial", largest=2500.0):
    """A fitted compartment, the same one each time."""
    return train(truth(formulation, largest=largest), family).surrogate


def knee(formulation="inverted", family="polynomial", header=None):
    """Two compartments that differ in range."""
    medial, lateral = (compartment(formulation, family, largest) for largest in (2500.0, 1600.0))
    return ContactSurrogate({"medial": medial, "lateral": lateral}, header or {})


ALL = tuple(FORMULATIONS)
