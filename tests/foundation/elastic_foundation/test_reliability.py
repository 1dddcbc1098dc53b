"""The contact model at poses that no knee takes: finite loads, zero, or a flag."""

from functools import cache

import numpy as np
import pytest
from beds import IMPLANT, POLYETHYLENE, implant_model

from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import LinearLaw, LogarithmicLaw, ModifiedLaw, SeriesLaw
from foundation.elastic_foundation.model import Dissipation

LAWS = {
    "linear": LinearLaw(*POLYETHYLENE),
    "logarithmic": LogarithmicLaw(*POLYETHYLENE),
    "root": ModifiedLaw(*POLYETHYLENE, f=2.0, m=0.5),
    "series": SeriesLaw(ModifiedLaw(*POLYETHYLENE, f=3.0, m=1.2), LogarithmicLaw(2e8, 0.4, 3e-3)),
}
HOME = IMPLANT.home_pose(0.3).array


@cache
def model_of(law, surface="curved", conservative=False):
    resistance = Dissipation(3.0, 0.05)
    return implant_model(
        LAWS[law], surface, 3e-3, conservative=conservative, dissipation=resistance
    )


def wild_poses(count, home, seed=0):
    """Shallow, 5 to 30 mm deep, any flexion, any turn, far off, and beyond reason [rad, m]."""
    rng = np.random.default_rng(seed)
    poses = home + rng.normal(size=(count, 6)) * [0.3, 0.05, 0.1, 4e-3, 1e-3, 2e-3]
    kind = np.arange(count) % 6
    poses[kind == 1, 4] -= rng.uniform(5e-3, 30e-3, (kind == 1).sum())
    poses[kind == 2, 0] = rng.uniform(-np.pi, np.pi, (kind == 2).sum())
    poses[kind == 3, :3] = rng.uniform(-np.pi, np.pi, ((kind == 3).sum(), 3))
    poses[kind == 4, 3:] += rng.normal(size=((kind == 4).sum(), 3)) * 0.1
    far = 10.0 ** rng.uniform(-1, 3, ((kind == 5).sum(), 6))
    poses[kind == 5] += far * rng.choice([-1.0, 1.0], far.shape)
    return poses


def check(model, poses):
    """Assert what must hold anywhere; return how many poses were in contact."""
    touched = 0
    for row in poses:
        pose = Pose.from_array(row)
        loads = model.loads(pose, 1)
        jacobian = loads.total_jacobian
        assert np.isfinite(jacobian).all(), row
        for part in (loads.medial, loads.lateral):
            values = part.array
            assert np.isfinite(values[:9]).all(), row
            assert (values[6:8] >= 0.0).all(), row
            carried = part.mean_pressure * part.area
            assert carried >= 0.0, row
            assert np.isfinite(values[9:]).all() == (carried > 0.0), row
            # Nothing, or something in all of it.
            assert part.force.any() == (carried != 0.0), row
            assert part.area > 0.0 or not values[:9].any(), row
        strain = max(model.compartment_loads(pose, c)[2][1] for c in ("medial", "lateral"))
        assert bool(loads.flags) == (strain > 0.99), row
        touched += loads.area > 0.0
    return touched


@pytest.mark.parametrize("surface", ["flat", "curved"])
@pytest.mark.parametrize("law", LAWS)
def test_wild_poses(law, surface):
    touched = check(model_of(law, surface), wild_poses(120, HOME))
    assert 36 < touched < 108


@pytest.mark.parametrize("surface", ["flat", "curved"])
def test_wild_poses_of_the_conservative_bed(surface):
    """Its loads divide by the cosine between the normals, which a rim can bring near zero."""
    model = model_of("linear", surface, True)
    assert check(model, wild_poses(120, HOME, seed=1)) > 36
    energies = [model.stored_energy(Pose.from_array(q)) for q in wild_poses(120, HOME, seed=2)]
    assert np.isfinite(energies).all()
    assert min(energies) == 0.0 < max(energies)


def test_wild_poses_in_motion():
    model = model_of("logarithmic")
    rng = np.random.default_rng(3)
    for row in wild_poses(150, HOME, seed=3):
        loads = model.loads_in_motion(Pose.from_array(row), 10.0 ** rng.uniform(-6, 3, 6)).total
        assert np.isfinite(loads.array[:9]).all()
