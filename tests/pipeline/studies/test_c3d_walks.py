"""The walk of the example from a C3D file, against the same walk from .trc and .mot files."""

import numpy as np
import pytest
from c3d_files import Z_UP, corners, plate, write_c3d
from numpy.testing import assert_allclose
from studies import ROOT

from dynamics.motion.c3d import read_ground
from dynamics.motion.motion_tables import read_motion_table
from dynamics.motion.plates import find_plates
from dynamics.musculoskeletal.external_loads import read_external_loads
from dynamics.musculoskeletal.measured_markers import read_markers
from pipeline.studies.muscle_walks.setup import prepare_walk
from pipeline.studies.muscle_walks.walk import load_muscle_walk

pytest.importorskip("ezc3d", reason="C3D files need ezc3d (the c3d extra)")
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


def prepared(*sets):
    """Return the walk of the example over some frames."""
    times = ("comak.start_s=1.3", "comak.stop_s=1.36", "comak.step_s=0.02")
    return prepare_walk(load_muscle_walk(ROOT / "configs/comak_walking.toml", (*times, *sets)))


@pytest.mark.slow
def test_plates_act_on_the_feet_above_them(opensim, c3d, motion, tmp_path):
    known, found = prepared(), prepared(f'walk.external_loads="{c3d}"')
    mine, theirs = (each.plant.system.external_loads.forces for each in (found, known))
    # Both double stances of the file; the last contact begins after the motion.
    assert {each.body for each in mine} == {"calcn_r", "calcn_l"}
    assert [each.plate.name for each in mine] == ["plate_1_calcn_l", "plate_2_calcn_r"]
    for at in known.plant.motion.time:
        a, b = (sum(e.at(np.array([at])).force for e in each) for each in (mine, theirs))
        assert_allclose(a, b, atol=1e-2)
    assert found.plant.balance.body == known.plant.balance.body
    assert_allclose(found.plant.balance.residual, known.plant.balance.residual, atol=0.02)
    assert np.abs(known.plant.balance.external).max() > 500.0
    assert found.notes == known.notes
    named = tmp_path / "loads.xml"
    text = (motion / "overground_17_ext_loads.xml").read_text()
    named.write_text(text.replace("overground_17_grf.mot", str(c3d)))
    again = read_external_loads(named)
    assert [each.body for each in again.forces] == ["calcn_l", "calcn_r", "calcn_l"]
    stated = prepared(f'walk.external_loads="{named}"')
    assert_allclose(stated.plant.balance.residual, known.plant.balance.residual, atol=0.02)
