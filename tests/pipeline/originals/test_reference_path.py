"""The settled reference path: the same from every start, and plain words where there is none."""

from dataclasses import replace

import numpy as np
import pytest
from some_slow import first_of
from studies import SMOKE, TINY

from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.pose import Pose
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.reading import load_config
from pipeline.config.schema import Config
from pipeline.originals.contact_original import build_knee
from pipeline.originals.reference_path import at_end_of_femur, neutral_position, plateau_starts

pytestmark = pytest.mark.delicate

#: Degrees and millimetres from SI.
PEOPLE = np.array([180.0 / np.pi, 180.0 / np.pi, 1e3, 1e3, 1e3])


def coordinates(knee, config):
    """Return the knots of the reference path, (K, 5) [deg, mm]."""
    path = knee.reference_path(config)
    return PEOPLE * path.poses(path.flexion)[:, 1:]


def moved(knee, *offsets):
    """Return a knee whose search starts elsewhere: offsets of the five coordinates [deg, mm]."""
    start = knee.start.array + np.concatenate([[0.0], np.array(offsets) / PEOPLE])
    return replace(knee, start=Pose.from_array(start))


STARTS = [
    (0.0, 0.0, 15.0, 8.0, 5.0),
    (-4.0, 4.0, -15.0, 8.0, -5.0),
]


@pytest.mark.parametrize("offsets", STARTS)
def test_path_does_not_depend_on_the_start(knee, offsets):
    config = load_config(SMOKE, TINY)
    expected = coordinates(knee, config)
    found = coordinates(moved(knee, *offsets), config)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-4)


def test_end_of_the_femoral_mesh_is_named(knee):
    """The condyles of the built-in implant end at 110 deg."""
    femur = knee.model.femur
    assert [at_end_of_femur(femur, np.radians(a)) for a in (0, 60, 90, 115, 130)] == [
        *(False, False, False, True, True)
    ]
    config = load_config(SMOKE, (*TINY, "space.flexion_deg=[60.0, 130.0]"))
    with pytest.raises(EquilibriumError, match=r"at 1[123]0 deg of flexion.*rim of the mesh"):
        knee.reference_path(config)


def cartilage_study(data, flexion, step=10.0):
    """Return a study of the coarse pair, which rests without AP spring only near extension."""
    folder = data / "jam_lenhart2015_knee"
    tree = {
        "knee": {
            "source": "meshes",
            "femur": {"file": str(folder / "ACLC01-R-femur-cart-coarse.stl")},
            "tibia": {"file": str(folder / "ACLC01-R-tibia-cart-coarse.stl")},
        },
        "contact": {"youngs_modulus_MPa": 10.0, "poissons_ratio": 0.45, "thickness_mm": 6.0},
        "space": {"flexion_deg": flexion, "path": {"step_deg": step}},
        "simulation": {
            "ap_stiffness_N_per_mm": 100.0,
            "rotation_stiffness_Nm_per_deg": 0.6,
            "lateral_stiffness_N_per_mm": 60.0,
        },
    }
    return Config.model_validate(tree, context={"folder": data})


def with_simulation(config, **keys):
    return config.model_copy(update={"simulation": config.simulation.model_copy(update=keys)})


@pytest.mark.parametrize("flexion", first_of([(0.0, 60.0), (60.0, 120.0)]))
def test_path_of_cartilage_does_not_depend_on_the_range(knee_data, flexion):
    config = with_simulation(cartilage_study(knee_data, flexion), neutral_anterior_mm=-4.0)
    coarse = build_knee(config)
    found = coordinates(coarse, config)
    wide = cartilage_study(knee_data, (-5.0, 115.0), step=5.0)
    wide = with_simulation(wide, neutral_anterior_mm=-4.0)
    reference = (
        PEOPLE
        * coarse.reference_path(wide).poses(np.radians(np.linspace(*flexion, len(found))))[:, 1:]
    )
    assert np.abs(found - reference).max() < 1.0


def test_femur_that_does_not_rest_is_held_over_the_middle(knee_data):
    """Beyond 20 deg the sloping plateaus of the coarse pair let the femur slide off."""
    config = cartilage_study(knee_data, (20.0, 60.0))
    coarse = build_knee(config)
    starts = plateau_starts(coarse.model.femur, coarse.model.tibia, np.radians(20.0))
    middle = 1e3 * starts[len(starts) // 2].anterior
    words = rf"rests nowhere at 20 deg.*middle of the plateaus.*coordinate of {middle:.2f} mm"
    with pytest.warns(UserWarning, match=words):
        found = coordinates(coarse, config)
    given = with_simulation(config, neutral_anterior_mm=middle)
    np.testing.assert_allclose(found, coordinates(coarse, given), atol=1e-6)
    assert np.abs(found[:, 2] - middle).max() < 4.0


def test_rest_at_the_rim_is_no_neutral_position(knee):
    """A dish that is deepest near its rear end: the femur rests there, and slides off in gait."""
    config = load_config(SMOKE, TINY)
    model, tibia = knee.model, knee.model.tibia
    reach = float(np.ptp(tibia.vertices[:, 0]))
    vertices = np.array(tibia.vertices)
    vertices[:, 1] += 0.3 * vertices[:, 0]
    leaning = TriangleMesh(vertices, tibia.faces)
    bed = ElasticFoundation(model.femur, leaning, model.law, compartments=model.compartments)
    starts = plateau_starts(model.femur, leaning, np.radians(config.space.flexion_deg[0]))
    pose, reason = neutral_position(config, bed, knee.start)
    assert abs(pose.anterior - starts[len(starts) // 2].anterior) < 0.01 * reach
    assert "so far from the middle of the plateaus" in reason
    assert neutral_position(config, model, knee.start)[1] == ""
