"""The height at which a compartment carries a load: exact cases, any start, what has no answer."""

import naive
import numpy as np
import pytest
import shapes
from beds import NU, E, H, K, model_of

from foundation.base.flags import Flag, FlagKind
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import LogarithmicLaw
from foundation.statics.height import StaticsError, pose_at_load

RADIUS = 30e-3


@pytest.fixture(scope="module")
def punch():
    """A punch of 20 mm by 20 mm, one half on each compartment; touches at height 0."""
    return model_of(shapes.plate(20e-3, 1, up=False), shapes.plate(40e-3, 8))


@pytest.fixture(scope="module")
def sphere():
    """A sphere over the lateral half of a plate; touches near height `RADIUS`."""
    return model_of(shapes.ellipsoid(RADIUS * np.ones(3), 4), shapes.plate(60e-3, 60))


@pytest.mark.parametrize("compartment", ["medial", "lateral"])
@pytest.mark.parametrize("load", [1e-3, 5.0, 300.0, 3000.0])
def test_flat_punch_is_exact(punch, load, compartment):
    """Depth = F / (k A), A the half of the punch on this compartment."""
    found = pose_at_load(punch, Pose(superior=1e-3), compartment, load)
    depth = load / (K * 0.5 * 20e-3**2)
    assert found.pose.superior == pytest.approx(-depth, rel=1e-9, abs=1e-13)
    # The height is found to 1e-13 m.
    assert found.loads[1] == pytest.approx(load, rel=1e-8, abs=1e-6)
    assert found.loads[7] == pytest.approx(K * depth, rel=1e-8, abs=1e-2)


def test_sphere_cap():
    """F = k pi d² (3 R - d) / 3 of a sphere on one compartment alone."""
    tibia = shapes.plate(40e-3, 60, centre=(0, 0, 15e-3))
    model = model_of(shapes.ellipsoid(RADIUS * np.ones(3), 4), tibia)
    depth = 0.6e-3
    load = K * np.pi * depth**2 * (3 * RADIUS - depth) / 3
    found = pose_at_load(model, Pose(superior=RADIUS + 2e-3, lateral=15e-3), "lateral", load)
    assert RADIUS - found.pose.superior == pytest.approx(depth, rel=2e-4)
    assert found.pose.lateral == 15e-3


@pytest.mark.parametrize("load", [2.0, 400.0])
@pytest.mark.parametrize("offset", [-8e-3, -3.3e-3, -0.7e-3, 0.0, 0.2e-3, 1.9e-3, 8.5e-3])
def test_the_start_does_not_matter(sphere, offset, load):
    starts = (Pose(superior=RADIUS + z, lateral=14e-3) for z in (offset, -0.1e-3))
    heights = [pose_at_load(sphere, s, "lateral", load).pose.superior for s in starts]
    assert heights[0] == pytest.approx(heights[1], rel=0, abs=1e-9)


@pytest.mark.parametrize("start", [1.9e-3, 0.95e-3, 0.1e-3, -0.4e-3, -2e-3])
@pytest.mark.parametrize("load", [0.5, 20.0, 200.0])
def test_steep_walls_are_left_before_the_load_is_looked_for(start, load):
    """Down a wedge of 60 degrees, the indentation is half of the way: F = k A d cos²(60°)."""
    slope = np.sqrt(3.0)
    wedge = lambda x, z: slope * x + 0 * z  # noqa: E731
    femur = shapes.swept(wedge, 30e-3, 2, 2, 40e-3)
    flat = shapes.plate(20e-3, 10)
    tilted = flat.vertices.copy()
    tilted[:, 1] = slope * tilted[:, 0]
    model = model_of(femur, type(flat)(tilted, flat.faces, "tilted"))
    found = pose_at_load(model, Pose(superior=start), "medial", load)
    area = 0.5 * 20e-3**2 * 2.0  # tilted by 60 degrees
    depth = load / (K * area * 0.25)
    assert found.pose.superior == pytest.approx(-depth, rel=1e-8)
    assert found.loads[1] == pytest.approx(load, rel=1e-8)


def test_a_layer_pressed_through_within_the_last_step_is_said():
    law = LogarithmicLaw(E, NU, H)
    model = model_of(shapes.plate(20e-3, 1, up=False), shapes.plate(40e-3, 8), law)
    area, modulus = 0.5 * 20e-3**2, naive.confined_modulus(E, NU)
    at_limit = -modulus * np.log1p(-0.99) * area
    below = pose_at_load(model, Pose(), "medial", 0.999 * at_limit)
    assert -below.pose.superior < 0.99 * H
    with pytest.raises(StaticsError, match="the layer is pressed through"):
        pose_at_load(model, Pose(), "medial", 1.001 * at_limit)


def test_flagged_loads_are_no_answer(punch, monkeypatch):
    def flags(pose, compartment):
        assert pose.superior == pytest.approx(-400.0 / (K * 0.5 * 20e-3**2), rel=1e-9)
        return (Flag(FlagKind.END_OF_FEMORAL_NODES, compartment),)

    monkeypatch.setattr(punch, "compartment_flags", flags)
    with pytest.raises(StaticsError, match=r"^lateral: contact reaches the end of the femoral"):
        pose_at_load(punch, Pose(superior=1e-3), "lateral", 400.0)


#: Load at which the half punch is pressed through the layer [N].
CARRIED = K * 0.5 * 20e-3**2 * H


@pytest.mark.parametrize(
    ("pose", "load", "search", "message"),
    [
        (Pose(superior=15e-3), 100.0, {}, "no contact within 10 mm below the start"),
        (Pose(superior=3e-3), 100.0, {"search": 2e-3}, "no contact within 2 mm below the start"),
        (Pose(superior=1e-3, lateral=25e-3), 100.0, {}, "no contact"),
        (Pose(), 1.1 * CARRIED, {}, r"load not reached: .* \(strain (0\.99|1\.0)"),
        (Pose(), 0.5 * CARRIED, {"search": 1e-3}, r"not reached: .* N, [12]\.[0-9]+ mm below"),
        (Pose(superior=-4e-3), 100.0, {"search": 1e-3}, "still touch 1 mm above the start"),
    ],
)
def test_loads_without_an_answer_are_said(punch, pose, load, search, message):
    with pytest.raises(StaticsError, match=message):
        pose_at_load(punch, pose, "medial", load, **search)
