"""The customary bed, one spring per plane triangle: second order towards exact answers."""

from __future__ import annotations

from functools import partial

import beds
import numpy as np
import pytest
import shapes
from beds import K

from foundation.elastic_foundation.laws import ModifiedLaw
from foundation.pose import Pose

RADIUS, DEPTH = 30e-3, 0.5e-3
model_of = partial(beds.model_of, surface="flat")


def observed_order(errors):
    """Order of convergence of errors at step sizes halved each time, by a fit over all."""
    return -np.polyfit(np.arange(len(errors)), np.log2(np.abs(errors)), 1)[0]


def converge(make, cells, width):
    """Forces of surfaces refined together with the plate."""
    forces = []
    for level, n in enumerate(cells):
        femur = make(level)
        result = model_of(femur, shapes.plate(width, n, (0.13e-3, 0, 0.07e-3))).evaluate(
            Pose(superior=RADIUS - DEPTH)
        )
        forces.append(result.force[1])
    return np.array(forces)


@pytest.mark.parametrize("semi_axes", [(1.0, 1.0, 1.0), (1.6, 1.0, 0.8)])
def test_cap_of_sphere_and_ellipsoid_converges_at_second_order(semi_axes):
    """F = k V, V = (a c / b²) pi d² (3 b - d) / 3 (Simbody's sphere on plane, stretched)."""
    a, b, c = RADIUS * np.array(semi_axes)
    exact = K * a * c / b**2 * np.pi * DEPTH**2 * (3 * b - DEPTH) / 3
    forces = converge(lambda k: shapes.ellipsoid((a, b, c), 4 + k), (40, 80, 160), 25e-3)
    error = forces / exact - 1.0
    assert observed_order(error) == pytest.approx(2.0, abs=0.35)
    assert np.abs(error[-1]) < 6e-3
    # Facets inscribe the femur, so that they lose force.
    assert (error < 0).all()


def test_cylinder_converges_at_second_order():
    """F = k L (R² acos((R - d)/R) - (R - d) sqrt(2 R d - d²))."""
    length = 12e-3

    def make(level):
        n = 40 * 2**level
        profile = lambda x, z: -np.sqrt(RADIUS**2 - x**2) + 0 * z  # noqa: E731
        return shapes.swept(profile, length / 2, n, 2, 15e-3)

    exact = (
        K
        * length
        * (
            RADIUS**2 * np.arccos((RADIUS - DEPTH) / RADIUS)
            - (RADIUS - DEPTH) * np.sqrt(2 * RADIUS * DEPTH - DEPTH**2)
        )
    )
    forces = []
    for level in range(4):
        # The plate's own edges bound the cylinder's length.
        tibia = shapes.plate(length, 24 * 2**level)
        result = model_of(make(level), tibia).evaluate(Pose(superior=RADIUS - DEPTH))
        forces.append(result.force[1])
    error = np.array(forces) / exact - 1.0
    assert observed_order(error) == pytest.approx(2.0, abs=0.35)
    assert np.abs(error[-1]) < 1e-3


def test_hertz_on_a_paraboloid_converges():
    """The modified law's Hertz limit through the whole model: force, area, peak pressure."""
    young, poisson, depth = 463e6, 0.46, 0.2e-3
    law = ModifiedLaw.hertz(young, poisson, RADIUS)
    plane = young / (1 - poisson**2)
    exact_force = 4 / 3 * plane * np.sqrt(RADIUS) * depth**1.5
    errors = []
    for n in (24, 48, 96):
        paraboloid = lambda x, z: (x**2 + z**2) / (2 * RADIUS)  # noqa: E731
        femur = shapes.swept(paraboloid, 5e-3, 2 * n, 2 * n, 5e-3)
        result = model_of(femur, shapes.plate(8e-3, 2 * n), law).evaluate(Pose(superior=-depth))
        errors.append(result.force[1] / exact_force - 1)
    assert np.abs(errors[-1]) < 2e-3
    assert np.abs(errors[-1]) < 0.4 * np.abs(errors[0])
    assert result.area == pytest.approx(np.pi * RADIUS * depth, rel=5e-3)
    assert result.peak_pressure == pytest.approx(
        2 * plane / np.pi * np.sqrt(depth / RADIUS), rel=2e-3
    )
