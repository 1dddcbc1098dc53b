"""Damping and friction against exact answers and the second law."""

from functools import partial

import beds
import naive
import numpy as np
import pytest
import shapes
from beds import IMPLANT, POLYETHYLENE
from some_slow import first_rows

from foundation.base.pose import Pose, twist_jacobian
from foundation.elastic_foundation.laws import LinearLaw
from foundation.elastic_foundation.model import Dissipation

LAW = LinearLaw(*POLYETHYLENE)
K = naive.confined_modulus(*POLYETHYLENE[:2]) / POLYETHYLENE[2]
WIDTH, DEPTH = 20e-3, 0.1e-3
LOAD = K * WIDTH**2 * DEPTH
BOTH = pytest.mark.parametrize("surface", ["flat", "curved"])


def punch(surface, **resistance):
    """A flat punch wider than the plate, so that its edge is nowhere over the bed."""
    femur, tibia = shapes.plate(2 * WIDTH, 4, up=False), shapes.plate(WIDTH, 8)
    dissipation = Dissipation(**resistance) if resistance else None
    return beds.model_of(femur, tibia, LAW, surface, dissipation=dissipation)


POSE = Pose(superior=-DEPTH)


@BOTH
@pytest.mark.parametrize("sinking", [0.05, 0.01, -0.01, -0.05])
def test_damping_of_a_flat_punch(surface, sinking):
    """F = K A d (1 + c d') (Simbody's pyramid test, at a given speed)."""
    model = punch(surface, damping=8.0)
    loads = model.loads_in_motion(POSE, [0, 0, 0, 0, -sinking, 0])
    factor = 1.0 + 8.0 * sinking
    assert loads.force == pytest.approx([0, LOAD * factor, 0], rel=1e-9, abs=1e-6)
    assert loads.peak_pressure == pytest.approx(K * DEPTH * factor, rel=1e-9)
    assert loads.area == pytest.approx(WIDTH**2, rel=1e-9)


@BOTH
def test_the_bed_never_pulls(surface):
    model = punch(surface, damping=8.0, friction=0.1)
    loads = model.loads_in_motion(POSE, [0, 0, 0, 3e-3, 1.0, 0])
    assert not loads.wrench.any()
    assert loads.peak_pressure == 0.0


@BOTH
@pytest.mark.parametrize("speed", [1e-9, 1e-4, 1e-3, 5e-2])
def test_friction_fades_below_the_transition_speed(surface, speed):
    model = punch(surface, friction=0.1, transition_speed=1e-3)
    force = model.loads_in_motion(POSE, [0, 0, 0, speed, 0, 0]).force[0]
    assert force == pytest.approx(-0.1 * LOAD * speed / np.hypot(speed, 1e-3), rel=1e-9)


@BOTH
def test_friction_resists_turning_about_the_normal(surface):
    """All points bear alike: moment = mu p times the integral of r over the square."""
    model = punch(surface, friction=0.2, transition_speed=1e-9)
    moment = model.loads_in_motion(POSE, [0, 0, 1.0, 0, 0, 0]).moment
    # Internal rotation of the tibia turns the femur about -y. The mean of r over a square of side
    # a is a (sqrt(2) + ln(1 + sqrt(2))) / 6.
    mean = WIDTH * (np.sqrt(2.0) + np.log1p(np.sqrt(2.0))) / 6.0
    assert moment[1] == pytest.approx(0.2 * LOAD * mean, rel=1e-2)


implant_model = partial(beds.implant_model, LAW)


@pytest.mark.parametrize(
    ("resistance", "conservative"),
    first_rows([(Dissipation(damping=5.0), True), (Dissipation(friction=0.1), False)]),
    ids=["damping", "friction"],
)
def test_what_resists_takes_power(resistance, conservative):
    """Wrench power of what is added to the elastic loads, at random velocities.

    Damping acts along the gradient of the indentation, as the conservative bed does; along the
    customary normals its power is not exactly a square.
    """
    elastic = implant_model(conservative=conservative)
    model = implant_model(dissipation=resistance, conservative=conservative)
    rng = np.random.default_rng(0)
    for pose in shapes.pressed_poses(IMPLANT, 40, seed=6):
        rates = rng.normal(size=6) * [1.0, 0.1, 1.0, 0.03, 0.01, 0.01]
        added = model.loads_in_motion(pose, rates).wrench - elastic.loads(pose).wrench
        power = added @ twist_jacobian(pose) @ rates
        assert power <= 0.0
        assert added.any() or elastic.loads(pose).area == 0.0
