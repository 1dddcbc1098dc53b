"""Derivatives: Jacobians against differences, and loads that are the gradient of an energy."""

from functools import cache

import beds
import numpy as np
import pytest
import shapes
from beds import IMPLANT, POLYETHYLENE, implant_model
from differences import pose_differences
from some_slow import first_of, some_slow

from foundation.base.pose import Pose, generalised_force
from foundation.elastic_foundation.laws import LinearLaw, LogarithmicLaw, ModifiedLaw, SeriesLaw

LAWS = {
    "linear": LinearLaw(*POLYETHYLENE),
    "logarithmic": LogarithmicLaw(*POLYETHYLENE),
    "modified": ModifiedLaw(*POLYETHYLENE, f=3.0, m=1.2),
    "root": ModifiedLaw(*POLYETHYLENE, f=2.0, m=0.5),
    "series": SeriesLaw(LogarithmicLaw(463e6, 0.46, 5e-3), LinearLaw(800e6, 0.4, 3e-3)),
}
#: Every law with an energy and both surfaces; all pairs of them are slow.
CONSERVATIVE = [
    pytest.param("logarithmic", "curved", marks=pytest.mark.slow),
    ("linear", "flat"),
    pytest.param("series", "flat", marks=pytest.mark.slow),
    pytest.param("linear", "curved", marks=pytest.mark.slow),
    pytest.param("series", "curved", marks=pytest.mark.slow),
    pytest.param("logarithmic", "flat", marks=pytest.mark.slow),
]
#: Steps of the differences [rad, m].
STEPS = np.array([1e-7, 1e-7, 1e-7, 3e-9, 3e-9, 3e-9])
#: Brings angles and moments to the size of lengths and forces, at the knee's half width.
LEVER = 30e-3
UNITS = np.array([LEVER, LEVER, LEVER, 1.0, 1.0, 1.0])


@cache
def model_of(law, surface, conservative=False):
    return implant_model(LAWS[law], surface, conservative=conservative)


def errors(model, count=60):
    """Largest error of each pose's jacobian over its largest entry, all in the units of forces."""
    found = []
    for pose in shapes.pressed_poses(IMPLANT, count, seed=3):
        loads = model.loads(pose, 1)
        if loads.area == 0.0:
            continue
        scale = 1.0 / (UNITS[::-1][:, None] * UNITS)
        slopes = pose_differences(lambda p: model.loads(p).wrench, pose, STEPS)
        error = np.abs((loads.total_jacobian - slopes) * scale).max()
        found.append(error / np.abs(loads.total_jacobian * scale).max())
    assert len(found) > 0.8 * count
    return np.array(found)


@pytest.mark.parametrize("law", some_slow(LAWS, ("series",).__contains__))
def test_curved_bed_has_the_jacobian_of_its_loads(law):
    """The edge of the patch is smoothed, so that all poses are regular.

    What is left of an error is that of the seams of patches, over which normals turn a little, and
    for m < 1 the third derivatives of the pressure at the edge.
    """
    error = errors(model_of(law, "curved"))
    assert np.median(error) < 2e-8
    assert np.quantile(error, 0.98) < 1e-5
    assert error.max() < 1e-3


@pytest.mark.parametrize("law", some_slow(LAWS, ("modified", "root").__contains__))
def test_flat_bed_has_the_jacobian_of_its_loads(law):
    """Nearly: a spring that touches within the step, or passes from facet to facet, has a kink.

    With m = 1/2 the pressure of such a spring rises infinitely fast.
    """
    error = errors(model_of(law, "flat"))
    assert np.median(error) < (1e-6 if law == "root" else 2e-8)
    assert np.quantile(error, 0.9) < 1e-5


@pytest.mark.parametrize(("law", "surface"), CONSERVATIVE)
def test_conservative_bed_has_the_jacobian_of_its_loads(law, surface):
    """Pressure is not smoothed at the edge there: a point that passes it has a kink."""
    error = errors(model_of(law, surface, True))
    assert np.median(error) < 2e-8
    assert np.quantile(error, 0.8) < 1e-5
    assert np.quantile(error, 0.98) < 1e-3


def gradient_error(model, pose):
    """Largest difference of the generalised force from -dU/dq, over its largest component."""
    force = generalised_force(pose, model.loads(pose).wrench) / UNITS
    slope = pose_differences(model.stored_energy, pose, 10.0 * STEPS) / UNITS
    return np.abs(force + slope).max() / np.abs(force).max()


@pytest.mark.parametrize("law", first_of(["linear", "logarithmic", "series"]))
def test_force_is_minus_the_gradient_of_the_energy(law):
    poses = shapes.pressed_poses(IMPLANT, 40, seed=3)
    errors = [gradient_error(model_of(law, "curved", True), pose) for pose in poses]
    assert np.quantile(errors, 0.95) < 1e-6
    # A line that passes a seam of the femur's patches within the step meets another normal there.
    assert max(errors) < 1e-4
    # Otherwise it is not: the energy is there, its gradient is another.
    customary = model_of(law, "curved")
    assert np.median([gradient_error(customary, pose) for pose in poses[:10]]) > 1e-4


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
