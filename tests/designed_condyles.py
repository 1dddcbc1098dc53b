"""Condyles in closed form whose stiffness, centring and height are parameters of a design."""

from functools import cache

import numpy as np

from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import rotation_matrices
from surrogates.families.polynomial import PolynomialSettings, fit_polynomial
from surrogates.formulations.compartment_fit import Fitter
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.design_fit import DesignSamples, fit_parametric
from surrogates.formulations.training_data import Samples
from surrogates.sampling.designs import unit_design
from surrogates.sampling.parameters import Parameters
from surrogates.sampling.space import ReferencePath, SampleSpace

#: Stiffness of a condyle, AP force over the axial load for each mm off the middle, and insert.
PARAMETERS = Parameters(
    ("stiffness_GN_per_m2", "centring_per_mm", "thickness_mm"),
    np.array([10.0, 2e-3, 6.0]),
    np.array([30.0, 8e-3, 12.0]),
)
ARM, HEIGHT = 0.022, 0.03
OFFSETS = np.array([0.05, 0.1, 0.005, 0.003])
FLEXION, LOAD = np.array([-0.1, 1.2]), np.array([2.0, 3000.0])


def rise(thickness_mm, flexion):
    """Height of the femoral origin over the bottom of the insert at first contact [m]."""
    return HEIGHT + 1e-3 * thickness_mm + 1e-3 * np.cos(flexion)


def path_of(values):
    flexion = np.linspace(*FLEXION, 6)
    coordinates = np.zeros((6, 5))
    coordinates[:, 3] = rise(values[2], flexion)
    return ReferencePath.through(flexion, coordinates)


def space_of(values):
    return SampleSpace(path_of(values), FLEXION, OFFSETS, LOAD)


def answered(values, poses, axial, side):
    """Poses (N, 6) at axial loads (N,), and loads (N, 12), of one condyle of a design."""
    stiffness, centring, thickness = values
    arms = rotation_matrices(poses)[:, :, 2] * side
    top = rise(thickness, poses[:, 0]) - arms[:, 1]
    found = poses.copy()
    found[:, 4] = top - np.sqrt(axial / (1e9 * stiffness))
    forward, outward = poses[:, 3] + arms[:, 0], poses[:, 5] + arms[:, 2]
    level, pressure = np.zeros_like(axial), 1e5 * np.sqrt(axial * stiffness)
    pull = -1e3 * centring * axial
    loads = np.column_stack(
        [
            pull * forward, axial, pull * (outward - side), -outward * axial, level,
            forward * axial, axial / pressure, 1.5 * pressure, pressure, forward, level, outward,
        ]
    )  # fmt: skip
    return found, loads


def truth(values, poses, side):
    """Loads (N, 12) of one condyle of a design at poses in contact (N, 6)."""
    stiffness, _, thickness = values
    arms = rotation_matrices(poses)[:, :, 2] * side
    depth = rise(thickness, poses[:, 0]) - arms[:, 1] - poses[:, 4]
    return answered(values, poses, 1e9 * stiffness * depth**2, side)[1]


def designs(count, seed=0):
    """Values (count, P) of designs."""
    return PARAMETERS.from_unit(unit_design("sobol", count, 3, np.random.default_rng(seed)))


def samples_of(values, side, count=80, seed=0):
    rng = np.random.default_rng([seed, *(int(1e6 * v) for v in values)])
    drawn = space_of(values).draw(rng.random((count, 6)), 2.0)
    return Samples(*answered(values, *drawn, side))


def parametric_space(values):
    """Sample space of all designs from the paths of some."""
    paths = [path_of(each) for each in values]
    path = ReferencePath.over_designs(PARAMETERS.scaled_rows(values), paths)
    return SampleSpace(path, FLEXION, OFFSETS, LOAD)


def polynomial_fitter(degree=3):
    settings = PolynomialSettings(basis="total_degree", degree=(degree,), ridge=(1e-10,))
    return Fitter(lambda x, y, w: fit_polynomial(x, y, settings, weights=w), joint=True)


@cache
def knee(formulation="inverted", fitter=None):
    values = designs(32)
    space = parametric_space(values)
    parts = {}
    for name, side in zip(COMPARTMENTS, (-ARM, ARM), strict=True):
        z = PARAMETERS.scaled_rows(values)
        rows = [
            DesignSamples(own, samples_of(each, side)) for own, each in zip(z, values, strict=True)
        ]
        found = fit_parametric(formulation, space, rows, fitter or polynomial_fitter())
        parts[name] = found.surrogate
    return ContactSurrogate(parts, {"name": "designed condyles"}, parameters=PARAMETERS)
