"""The conservative bed: loads that are the gradient of a stored energy."""

from __future__ import annotations

from functools import cache

import beds
import naive
import numpy as np
import pytest
import shapes
from beds import IMPLANT, POLYETHYLENE, implant_model
from differences import pose_differences
from smooth_shapes import RADIUS, sphere
from some_slow import first_of

from foundation.base.pose import Pose, generalised_force
from foundation.elastic_foundation.laws import LinearLaw, LogarithmicLaw, ModifiedLaw, SeriesLaw

LAWS = {
    "linear": LinearLaw(*POLYETHYLENE),
    "logarithmic": LogarithmicLaw(*POLYETHYLENE),
    "series": SeriesLaw(LogarithmicLaw(463e6, 0.46, 5e-3), LinearLaw(800e6, 0.4, 3e-3)),
    "power": ModifiedLaw(*POLYETHYLENE, f=np.inf, m=0.7),
}
STEPS = np.array([1e-6, 1e-6, 1e-6, 3e-8, 3e-8, 3e-8])
#: Brings torques to the size of forces, at the knee's half width [1/m].
UNITS = np.array([1 / 30e-3] * 3 + [1.0] * 3)


@cache
def model_of(law, surface="curved", conservative=True, edge=2e-3):
    return implant_model(LAWS[law], surface, edge, conservative=conservative)


def force_at(model, coordinates):
    pose = Pose.from_array(coordinates)
    return generalised_force(pose, model.evaluate(pose).wrench)


def gradient_error(model, coordinates):
    """Largest difference of the generalised force from -dU/dq, over its largest component."""
    force = force_at(model, coordinates) * UNITS
    slope = pose_differences(model.stored_energy, Pose.from_array(coordinates), STEPS) * UNITS
    return np.abs(force + slope).max() / np.abs(force).max()


@pytest.mark.parametrize("law", first_of(LAWS))
def test_force_is_minus_the_gradient_of_the_energy(law):
    poses = shapes.pressed_poses(IMPLANT, 40, seed=3)
    errors = [gradient_error(model_of(law), p.array) for p in poses]
    assert np.quantile(errors, 0.95) < 1e-6
    # A line that passes a seam of the femur's patches within the step meets another normal there.
    assert max(errors) < 1e-4
    # Otherwise it is not: the energy is there, its gradient is another.
    customary = model_of(law, conservative=False)
    assert np.median([gradient_error(customary, p.array) for p in poses[:10]]) > 1e-4


def test_flat_facets_have_a_gradient_but_where_a_spring_passes_an_edge():
    poses = shapes.pressed_poses(IMPLANT, 60, seed=3)
    errors = [gradient_error(model_of("linear", "flat"), p.array) for p in poses]
    assert np.quantile(errors, 0.8) < 1e-6


def cycle_work(model, count=1000):
    """Net work round a closed curve in all six coordinates, over the mean stored energy."""
    centre = IMPLANT.home_pose(0.4).array - [0, 0, 0, 0, 0.12e-3, 0]
    first = np.array([0.05, 0.004, 0.05, 2e-3, 0.04e-3, 0.3e-3])
    second = np.array([0.03, 0.003, -0.04, 1.5e-3, -0.03e-3, 0.2e-3])
    work, energy = 0.0, []
    for k, t in enumerate(2.0 * np.pi * np.arange(count) / count):
        at = centre + first * np.cos(t) + second * np.sin(2 * t + 0.4)
        velocity = -first * np.sin(t) + 2 * second * np.cos(2 * t + 0.4)
        # The trapezoidal rule, which converges fast on a period.
        work += force_at(model, at) @ velocity * 2.0 * np.pi / count
        if k % 40 == 0:
            energy.append(model.stored_energy(Pose.from_array(at)))
    return work / np.mean(energy)


@pytest.mark.slow
def test_no_net_work_round_a_closed_curve():
    assert abs(cycle_work(model_of("linear", edge=1.5e-3))) < 1e-6


@pytest.mark.slow
def test_the_customary_bed_does_net_work_round_it():
    """By how much is a property of the surfaces: 1.0 and 1.5 mm edges agree."""
    work = cycle_work(model_of("linear", conservative=False, edge=1.5e-3), 500)
    assert work == pytest.approx(4.8e-4, rel=0.15)


@pytest.mark.parametrize("conservative", first_of([True, False]))
def test_energy_of_a_sphere_on_a_plane(conservative):
    """U = the integral of F = K pi z² (3 R - z) / 3 over z; one normal, so both beds are alike."""
    law, depth = LAWS["linear"], 0.3e-3
    stiffness = naive.confined_modulus(*POLYETHYLENE[:2]) / POLYETHYLENE[2]
    tibia = shapes.plate(16e-3, 16)
    model = beds.model_of(sphere(4), tibia, law, conservative=conservative)
    pose = Pose(0.3, 0.1, 0.2, 0.2e-3, RADIUS - depth, -0.1e-3)
    energy = stiffness * np.pi * (RADIUS * depth**3 / 3 - depth**4 / 12)
    assert model.stored_energy(pose) == pytest.approx(energy, rel=2e-3)
    force = stiffness * np.pi * depth**2 * (3 * RADIUS - depth) / 3
    assert model.evaluate(pose).force[1] == pytest.approx(force, rel=1e-3)


@pytest.mark.parametrize("law", ["linear", "logarithmic", "series"])
def test_energy_of_a_flat_punch(law):
    """U = A times the integral of p, here by the trapezoidal rule."""
    punch, tibia = shapes.plate(20e-3, 1, up=False), shapes.plate(40e-3, 8)
    model = beds.model_of(punch, tibia, LAWS[law], surface="flat")
    depth = 2e-3
    depths = np.linspace(0.0, depth, 2001)
    exact = np.trapezoid(LAWS[law].pressure(depths, depth), depths) * 20e-3**2
    assert model.stored_energy(Pose(superior=-depth)) == pytest.approx(exact, rel=1e-6)
    assert model.stored_energy(Pose(superior=1e-3)) == 0.0
