"""The settled reference path: the same from every start, and plain words where there is none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from some_slow import first_of
from studies import SMOKE, TINY

from dynamics.simulator.equilibrium import EquilibriumError, settle
from foundation.base.pose import Pose
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.reading import load_config
from pipeline.config.schema import Config
from pipeline.originals.contact_original import build_knee
from pipeline.originals.knee import Knee
from pipeline.originals.plateau_starts import at_end_of_femur, middle_pose, plateau_starts
from pipeline.simulation import build_simulator, fixed_neutral

#: Degrees and millimetres from SI.
PEOPLE = np.array([180.0 / np.pi, 180.0 / np.pi, 1e3, 1e3, 1e3])


def coordinates(knee: Knee, config: Config) -> np.ndarray:
    """Return the knots of the reference path, (K, 5) [deg, mm]."""
    path = knee.reference_path(config)
    return PEOPLE * path.poses(path.flexion)[:, 1:]


def moved(knee: Knee, *offsets: float) -> Knee:
    """Return a knee whose search starts elsewhere: offsets of the five coordinates [deg, mm]."""
    start = knee.start.array + np.concatenate([[0.0], np.array(offsets) / PEOPLE])
    return replace(knee, start=Pose.from_array(start))


STARTS = [
    (0.0, 0.0, 15.0, 8.0, 5.0),
    (0.0, 0.0, -15.0, -8.0, -5.0),
    (4.0, -4.0, 15.0, -8.0, 5.0),
    (-4.0, 4.0, -15.0, 8.0, -5.0),
]


@pytest.mark.parametrize("offsets", STARTS)
def test_path_does_not_depend_on_the_start(knee, offsets):
    config = load_config(SMOKE, TINY)
    expected = coordinates(knee, config)
    found = coordinates(moved(knee, *offsets), config)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-4)


def test_a_good_start_is_continued_knot_by_knot(knee):
    """To the last bit the path of one search after the other from the lowest flexion."""
    config = load_config(SMOKE, TINY)
    simulation = config.simulation
    loose = simulation.model_copy(update={"ap_stiffness_N_per_mm": 0.0})
    knots = knee.reference_path(config).flexion
    loads = {"axial_force": config.space.path.axial_force_N}
    first = build_simulator(loose, knee.start)
    dwell = settle(knee.model, first, flexion=float(knots[0]), start=knee.start, **loads)
    simulator = build_simulator(simulation, fixed_neutral(simulation, dwell))
    pose, poses = knee.start, []
    for flexion in knots.tolist():
        pose = settle(knee.model, simulator, flexion=flexion, start=pose, **loads)
        poses.append(PEOPLE * pose.array[1:])
    np.testing.assert_array_equal(coordinates(knee, config), poses)


def test_starts_touch_and_lie_over_the_plateaus(knee):
    femur, tibia = knee.model.femur, knee.model.tibia
    starts = plateau_starts(femur, tibia, 0.4)
    places = np.array([start.anterior for start in starts])
    assert (np.diff(places) > 0.0).all()
    reach = np.ptp(tibia.vertices[:, 0])
    assert 0.75 * reach < np.ptp(places) < 0.85 * reach
    assert {start.lateral for start in starts} == {middle_pose(femur, tibia).lateral}
    for start in starts[3:-3]:
        # Contact begins within the slope of the steep dish over a cell.
        assert knee.model.loads(replace(start, superior=start.superior + 2e-3)).area == 0.0
        assert knee.model.loads(replace(start, superior=start.superior - 4e-3)).area > 0.0


def test_end_of_the_femoral_mesh_is_named(knee):
    """The condyles of the built-in implant end at 110 deg."""
    femur = knee.model.femur
    assert [at_end_of_femur(femur, np.radians(a)) for a in (0, 60, 90, 115, 130)] == [
        *(False, False, False, True, True)
    ]
    config = load_config(SMOKE, (*TINY, "space.flexion_deg=[60.0, 130.0]"))
    with pytest.raises(EquilibriumError, match=r"at 1[123]0 deg of flexion.*rim of the mesh"):
        knee.reference_path(config)


def test_loose_knee_names_the_key(knee):
    sets = ("simulation.ap_stiffness_N_per_mm=0.0", "simulation.medial_offset_mm=90.0")
    with pytest.raises(EquilibriumError, match=r"holds adduction.*simulation.medial_offset_mm"):
        knee.reference_path(load_config(SMOKE, (*TINY, *sets)))


def cartilage_study(data: Path, flexion: tuple[float, float], step: float = 10.0) -> Config:
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


@pytest.mark.data
@pytest.mark.parametrize(
    "flexion", first_of([(0.0, 60.0), (5.0, 50.0), (10.0, 90.0), (60.0, 120.0)])
)
def test_path_of_cartilage_does_not_depend_on_the_range(knee_data, flexion):
    config = cartilage_study(knee_data, flexion)
    coarse = build_knee(config)
    with pytest.warns(UserWarning, match=r"rests at -\d+ deg.*simulation.neutral_anterior_mm"):
        found = coordinates(coarse, config)
    wide = cartilage_study(knee_data, (-5.0, 115.0), step=5.0)
    reference = (
        PEOPLE
        * coarse.reference_path(wide).poses(np.radians(np.linspace(*flexion, len(found))))[:, 1:]
    )
    # The spring is slack where the femur rests at another flexion.
    assert np.abs(found - reference).max() < 1.0


@pytest.mark.data
def test_given_neutral_needs_no_rest_without_spring(knee_data):
    config = cartilage_study(knee_data, (20.0, 40.0))
    simulation = config.simulation.model_copy(update={"neutral_anterior_mm": -6.0})
    given = config.model_copy(update={"simulation": simulation})
    found = coordinates(build_knee(given), given)
    assert np.abs(found[:, 2] + 6.0).max() < 3.0


@pytest.mark.slow
@pytest.mark.data
def test_no_rest_without_spring_asks_for_neutral(knee_data):
    """On plateaus that lean forward by 25 deg, the femur slides off at every flexion."""
    config = cartilage_study(knee_data, (40.0, 60.0))
    built = build_knee(config)
    model, tibia = built.model, built.model.tibia
    lean = Pose(flexion=np.radians(25.0)).rotation_matrix
    leaning = TriangleMesh(tibia.vertices @ lean.T, tibia.faces)
    steep = ElasticFoundation(model.femur, leaning, model.law, compartments=model.compartments)
    with pytest.raises(EquilibriumError, match=r"set simulation.neutral_anterior_mm.*plateaus: "):
        replace(built, model=steep).reference_path(config)
