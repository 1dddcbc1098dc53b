"""Walks from markers, from C3D files, and of the subject of the sixth Grand Challenge."""

from pathlib import Path

import numpy as np
import pytest
from c3d_files import Z_UP, corners, plate, write_c3d
from numpy.testing import assert_allclose
from studies import ROOT

from dynamics.motion.c3d import read_ground
from dynamics.motion.motion_tables import read_motion_table
from dynamics.motion.plates import find_plates
from dynamics.musculoskeletal.marker_kinematics import ConstraintFunctions, read_marker_settings
from dynamics.musculoskeletal.measured_markers import read_markers
from dynamics.musculoskeletal.osim_model import OsimModel
from pipeline.config.data_folder import data_file
from pipeline.originals.articular_contacts import articular_contacts
from pipeline.studies.dispatch import load_study
from pipeline.studies.muscle_walks.setup import motion_of_markers

CONFIGS = ROOT / "configs"
JAM = "$KNEE_DATA/jam_comak_walking"
IK = (
    f'inverse_kinematics.settings="{JAM}/examples/walking/inputs/'
    'comak_inverse_kinematics_settings.xml"',
)


@pytest.fixture(scope="module")
def osim(jam_folder, opensim):
    return opensim


def markers_of(sets, folder):
    """Return the motion of the example from its markers."""
    file = load_study(CONFIGS / "comak_walking.toml", sets)
    return motion_of_markers(file, OsimModel(data_file(file.walk.model)), folder)


def test_markers_of_the_example_give_a_motion_on_its_functions(osim, knee_data, tmp_path):
    folder = knee_data / "jam_comak_walking/examples/walking/results/comak-inverse-kinematics"
    functions = folder / "secondary_coordinate_constraint_functions.xml"
    sets = (
        *IK,
        f'inverse_kinematics.functions="{functions}"',
        "inverse_kinematics.start_s=1.4",
        "inverse_kinematics.stop_s=1.42",
    )
    found = markers_of(sets, tmp_path)
    assert found.unknown == ("R.Scapula", "L.Scapula", "R.TH4", "L.SH4", "L.MT1")
    assert len(found.fits) == 39
    largest = found.errors.column("marker_error_max").max()
    assert found.fits[0].largest == pytest.approx(largest, rel=1e-5)
    assert found.notes == ()
    assert {path.name for path in tmp_path.iterdir()} == {
        *("ik.mot", "marker_errors.sto", "constraint_functions.xml")
    }
    motion = read_motion_table(tmp_path / "ik.mot")
    assert_allclose(motion.values, found.motion.values, rtol=0.0, atol=0.0)
    assert_allclose(motion.time, [1.4, 1.405, 1.41, 1.415, 1.42], atol=1e-9)
    known = ConstraintFunctions.read(functions, "knee_flex_r")
    expected = known(np.radians(motion.column("knee_flex_r")))
    for name, values in zip(known.secondary, expected.T, strict=True):
        angle = name.endswith(("add_r", "rot_r", "flex_r", "tilt_r"))
        shown = np.degrees(values) if angle else values
        assert_allclose(motion.column(name), shown, atol=1e-3 if angle else 1e-5)
    errors = read_motion_table(tmp_path / "marker_errors.sto")
    assert errors.column("marker_error_RMS").max() < 0.02


def test_free_markers_give_the_motion_of_the_example(osim, knee_data, tmp_path):
    """The motion that OpenSim-JAM ships does not lie on its constraint functions."""
    sets = (
        *IK,
        "inverse_kinematics.constrained=false",
        "inverse_kinematics.start_s=1.4",
        "inverse_kinematics.stop_s=1.45",
    )
    motion = markers_of(sets, tmp_path).motion
    folder = knee_data / "jam_comak_walking/examples/walking/results/comak-inverse-kinematics"
    known = read_motion_table(folder / "overground_17_ik.mot")
    rows = np.searchsorted(known.time, motion.time - 1e-6)
    for name in ("pelvis_tilt", "hip_flex_r", "knee_flex_r", "knee_add_r"):
        off = np.abs(motion.column(name) - known.column(name)[rows])
        assert np.median(off) < 0.5, name


@pytest.mark.slow
def test_the_sweep_gives_the_functions_of_the_example(osim, knee_data, tmp_path):
    from dataclasses import replace

    from dynamics.musculoskeletal.marker_kinematics import passive_functions
    from dynamics.musculoskeletal.opensim_system import OpenSimSystem
    from pipeline.originals.articular_contacts import articular_contacts

    walk = load_study(CONFIGS / "comak_walking.toml").walk
    model = OsimModel(data_file(walk.model))
    meshes = {name: Path(data_file(path)) for name, path in walk.meshes.items()}
    examples = knee_data / "jam_comak_walking/examples/walking"
    _, sweep = read_marker_settings(examples / "inputs/comak_inverse_kinematics_settings.xml")
    # The first half of the parabola: 27.5 degrees in 1.5 s.
    sweep = replace(sweep, stop=0.25 * sweep.stop, seconds=0.5 * sweep.seconds)
    found = passive_functions(
        OpenSimSystem(model.without_contact(single_wraps_slide=True)),
        articular_contacts(model, meshes=meshes, surface="flat"),
        sweep,
    )
    folder = examples / "results/comak-inverse-kinematics"
    known = ConstraintFunctions.read(
        folder / "secondary_coordinate_constraint_functions.xml", "knee_flex_r"
    )
    at = np.linspace(0.0, sweep.stop, 50)
    angle = [name.endswith(("add_r", "rot_r", "flex_r", "tilt_r")) for name in found.secondary]
    factors = np.where(angle, 180.0 / np.pi, 1e3)
    off = np.abs(found(at) - known(at)) * factors
    # Both splines have few points about 25 degrees; deg and mm.
    assert off.max() < 0.2
    assert np.median(off) < 0.02


#: Places of the middles of the plates, in a laboratory with z up, and their turns.
PLATES = [([-0.3, 0.32, 0.0], 0.0), ([0.45, 0.15, 0.0], np.pi), ([1.07, 0.26, 0.0], 0.3)]


@pytest.fixture(scope="module")
def motion(jam_folder):
    return jam_folder / "models/lenhart2015/motion_data"


@pytest.fixture(scope="module")
def c3d(motion, tmp_path_factory):
    """Return a C3D file of the markers and forces of the example, in mm, with z up."""
    markers = read_markers(motion / "overground_17.trc")
    table = read_motion_table(motion / "overground_17_grf.mot")
    plates = []
    for (middle, turn), each in zip(PLATES, find_plates(table), strict=True):
        places, lab = corners(middle, turn), [a @ Z_UP for a in (each.force, each.point)]
        plates.append(plate(2, places, [0.0, 0.0, -0.04], *lab, -each.torque[:, 1]))
    path = tmp_path_factory.mktemp("c3d") / "walk.c3d"
    positions = markers.positions @ Z_UP
    return write_c3d(path, positions, plates, labels=markers.names, rate=200.0)


def test_markers_and_forces_are_those_of_the_tables(motion, c3d):
    found, known = read_markers(c3d), read_markers(motion / "overground_17.trc")
    assert found.names == known.names
    assert_allclose(found.time, known.time, atol=1e-6)
    assert_allclose(found.positions, known.positions, atol=1e-6)
    ground, table = read_ground(c3d), read_motion_table(motion / "overground_17_grf.mot")
    assert ground.names == table.names
    assert_allclose(ground.time[:-1], table.time[:-1], atol=1e-6)  # the last row skips a step
    for mine, theirs in zip(find_plates(ground), find_plates(table), strict=True):
        assert_allclose(mine.force, theirs.force, atol=1e-3)
        bears = theirs.force[:, 1] > 100.0
        assert_allclose(mine.point[bears], theirs.point[bears], atol=1e-5)
        moments = [p.torque + np.cross(p.point, p.force) for p in (mine, theirs)]
        assert_allclose(*moments, atol=5e-3)


CONFIG = ROOT / "configs" / "grand_challenge_walk.toml"


def test_surfaces_in_frames_of_the_bones_touch_at_the_default_pose(knee_data):
    walk = load_study(CONFIG).walk
    model = OsimModel(knee_data / "jam_grand_challenge_DM" / "DM.osim")
    contacts = articular_contacts(model, meshes=walk.mesh_files, surface="flat")
    knee, patella = contacts
    bed = knee.model.tibia
    assert knee.model.compartment_names == ("medial", "lateral")
    assert patella.model.compartment_names == ("pf_contact",)
    medial = bed.centroids[knee.model.compartments == 0]
    lateral = bed.centroids[knee.model.compartments == 1]
    assert medial[:, 2].max() < 1e-3
    assert lateral[:, 2].min() > -1e-3
    defaults = model.coordinate_defaults
    at_rest = np.array([defaults[name] for name in knee.coordinates])
    height = knee.coordinates.index("knee_ty_r")
    forces = []
    for gap in (0.003, -0.0005):
        moved = at_rest.copy()
        moved[height] -= gap
        forces.append(knee.evaluate(moved).loads.force[1])
    assert forces[0] == 0.0
    assert forces[1] > 100.0
