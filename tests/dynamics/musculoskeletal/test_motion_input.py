"""Motions that OpenSim would filter or read to nonsense, by a model of two coordinates."""

from types import SimpleNamespace

import numpy as np
import pytest

from dynamics.motion.motion_tables import MotionTable, read_motion_table, write_motion_table
from dynamics.musculoskeletal import read_motion
from dynamics.musculoskeletal.coordinate_table import CoordinateTable
from dynamics.musculoskeletal.held_coordinates import lock_notes
from dynamics.musculoskeletal.motion_input import _check_lowpass, filter_edge_notes
from foundation.base.errors import InputError
from tests.dynamics.musculoskeletal.synthetic import settings

SYSTEM = SimpleNamespace(coordinates=("hip", "height"), rotational=(True, False), locked=())
TIME = 0.01 * np.arange(20.0)


def write(path, hip, time=TIME, *, in_degrees=False):
    values = np.column_stack([hip, np.ones_like(time)])
    write_motion_table(path, MotionTable(("hip", "height"), time, values, in_degrees))
    return path


def test_angles_in_degrees_that_are_stated_as_radians_are_refused(tmp_path):
    hip = np.linspace(0.0, 40.0, len(TIME))
    with pytest.raises(InputError, match=r"column hip: expected radians.*inDegrees=yes"):
        read_motion(write(tmp_path / "a.mot", hip), SYSTEM, settings())
    found = read_motion(write(tmp_path / "b.mot", hip, in_degrees=True), SYSTEM, settings())
    assert found.values[-1, 0] == pytest.approx(np.radians(40.0))


LEG = SimpleNamespace(
    coordinates=("hip", "knee", "ankle", "pelvis_tx", "knee_ty"),
    rotational=(True, True, True, False, False),
)
STRIDE = np.linspace(0.0, 1.0, 20)[:, None] * [40.0, -60.0, 20.0]


def leg(angles, lengths=(1.0, 0.03), *, in_degrees=True):
    values = np.column_stack([angles, np.tile(lengths, (len(TIME), 1))])
    return MotionTable(LEG.coordinates, TIME, values, in_degrees, "walk.mot")


def notes(table, **settings):
    return CoordinateTable(table, LEG, **settings).unit_notes()


@pytest.mark.parametrize("heading", [0.0, 180.0, 300.0])
def test_angles_in_radians_that_are_stated_as_degrees_are_read_in_radians(heading):
    """A heading, here that of the ankle's column, may be up to a turn."""
    radians = np.radians(STRIDE + np.array([0.0, 0.0, heading]))
    (told,) = notes(leg(radians))
    assert told.startswith("walk.mot: the header states inDegrees=yes, but no angle moves by more")
    assert "read in radians; correct the header (inDegrees=no)" in told
    found = CoordinateTable(leg(radians), LEG)
    found.check_angles()
    assert np.ptp(found.in_si("knee")) == pytest.approx(np.radians(60.0))


@pytest.mark.parametrize(
    ("angles", "in_degrees"),
    [
        (STRIDE, True),
        (np.radians(STRIDE), False),
        (np.radians(STRIDE), None),
        (np.radians(STRIDE) * [1.0, 1.0, 0.0] + [0.0, 0.0, 12.0], True),  # Single columns.
        (0.1 * np.sin(9.0 * STRIDE), False),
        (0.05 * np.sin(STRIDE), True),
        (np.zeros((20, 3)), True),
    ],
)
def test_small_motions_and_single_columns_have_no_note(angles, in_degrees):
    assert notes(leg(angles, in_degrees=in_degrees)) == ()


@pytest.mark.parametrize(("stop", "count"), [(1.57, 1), (-2.0, 1), (1.0, 0), (40.0, 0)])
def test_a_single_angle_that_may_be_in_radians_is_refused(stop, count):
    """A degree of flexion is common in tests of a joint; a quarter turn in radians is too."""
    alone = CoordinateTable(leg(STRIDE * [0.0, stop / -60.0, 0.0]), LEG)
    if not count:
        return alone.check_angles()
    with pytest.raises(InputError, match=r"angles \(knee\) that move by at most .* may be radians"):
        alone.check_angles()


def test_tables_without_a_unit_may_count_as_degrees():
    radians = leg(np.radians(STRIDE), in_degrees=None)
    (told,) = notes(radians, unstated_degrees=True)
    assert "states no unit, which stands for degrees, but no angle moves by more than 1.05" in told
    assert notes(leg(STRIDE, in_degrees=None), unstated_degrees=True) == ()
    names = tuple(f"/jointset/j/{name}/value" for name in radians.names)
    paths = MotionTable(names, radians.time, radians.values)
    assert notes(paths, unstated_degrees=True) == ()


LOCKED = {"knee": np.radians(20.0), "knee_ty": 0.03}


@pytest.mark.parametrize(
    ("solved", "courses", "told"),
    [
        ((), {}, []),
        ((), {"knee": np.full(3, np.radians(20.01)), "hip": np.ones(3)}, []),
        (("knee", "hip"), {}, ["knee at 20 deg (the settings solve for it);"]),
        ((), {"knee_ty": np.array([0.03, 0.02])}, ["knee_ty at 30 mm (the motion has 20 mm);"]),
        (LOCKED, {}, ["knee at 20 deg", "knee_ty at 30 mm"]),
    ],
)
def test_locked_coordinates_that_something_would_move_are_told(solved, courses, told):
    notes = lock_notes(LOCKED, ("hip", "knee"), solved, courses)
    assert len(notes) == bool(told)
    assert all(words in notes[0] for words in told)


def test_a_motion_in_millimetres_is_refused_as_it_is_read(tmp_path):
    path = write(tmp_path / "a.mot", 0.1 * TIME)
    table = read_motion_table(path)
    wide = MotionTable(table.names, TIME, table.values * [1.0, 1e3], False, "a.mot")
    with pytest.raises(InputError, match=r"a\.mot, column height: expected metres"):
        read_motion(wide, SYSTEM, settings())


@pytest.mark.parametrize(
    ("step", "lowpass", "told"),
    [
        (None, 50.0, r"a\.mot, rows: expected steps of at most 0.005 s, .*with more rows"),
        (0.02, 13.0, r"comak\.step_s: expected .* 0.0192 s, .*lowpass_Hz to at most 12.5"),
        (0.08, 6.0, r"comak\.step_s: expected .* 0.0417 s, .* to at most 3.12, or comak\.step_s"),
        (0.005, 30.0, r"a\.mot, rows: expected steps of at most 0.00833 s, .* found 0.01 s"),
    ],
)
def test_steps_that_do_not_resolve_the_filtered_motion_are_refused(tmp_path, step, lowpass, told):
    path = write(tmp_path / "a.mot", 0.1 * TIME)
    with pytest.raises(InputError, match=told):
        read_motion(path, SYSTEM, settings(lowpass=lowpass, step=step))


def test_a_gap_of_a_filtered_motion_is_refused_within_its_times(tmp_path):
    kept = np.delete(TIME, slice(4, 9))
    path = write(tmp_path / "a.mot", 0.1 * kept, kept)
    with pytest.raises(InputError, match=r"a\.mot, rows: expected steps .* found 0\.06 s"):
        read_motion(path, SYSTEM, settings(lowpass=6.0))
    table = read_motion_table(path)
    _check_lowpass(table, settings(lowpass=6.0, start=0.1))


@pytest.mark.parametrize(("start", "stop"), [(0.05, 0.05), (0.1, 0.05), (0.051, 0.061)])
def test_a_motion_has_at_least_two_instants(tmp_path, start, stop):
    path = write(tmp_path / "a.mot", 0.1 * TIME)
    with pytest.raises(InputError, match=r"at least two instants from comak\.start_s"):
        read_motion(path, SYSTEM, settings(start=start, stop=stop))


def test_a_motion_outside_its_file_or_of_few_rows_is_refused(tmp_path):
    path = write(tmp_path / "a.mot", 0.1 * TIME)
    with pytest.raises(InputError, match=r"from 0 to 1 s, found 0 to 0\.19 s"):
        read_motion(path, SYSTEM, settings(stop=1.0))
    few = write(tmp_path / "b.mot", 0.1 * TIME[:4], TIME[:4])
    with pytest.raises(InputError, match="expected at least 6 rows, found 4"):
        read_motion(few, SYSTEM, settings())


@pytest.mark.parametrize(
    ("start", "stop", "lowpass", "told"),
    [
        (0.05, 0.14, 6.0, []),
        (0.0, 0.14, 6.0, ["up to 0.03 s", "comak.start_s = 0.03333"]),
        (0.05, 0.19, 6.0, ["from 0.16 s", "comak.stop_s = 0.1567"]),
        (0.05, 0.19, None, []),
        (0.05, 0.14, 2.0, ["up to 0.09 s", "from 0.1 s"]),
    ],
)
def test_frames_at_the_ends_of_a_filtered_motion_are_told(start, stop, lowpass, told):
    table = leg(STRIDE)
    time = np.arange(start, stop + 1e-9, 0.01)
    notes = filter_edge_notes(table, time, settings(lowpass=lowpass))
    text = "; ".join(notes)
    for words in told:
        assert words in text
    assert bool(told) == bool(notes)


def test_small_angles_in_degrees_that_are_stated_as_radians_are_refused(tmp_path):
    """None is beyond two turns, but half of those that move are beyond half a turn."""
    path = write(tmp_path / "a.mot", np.linspace(0.0, 9.0, len(TIME)))
    with pytest.raises(InputError, match=r"1 of 1 angles beyond half a turn, such as hip up to 9;"):
        read_motion(path, SYSTEM, settings())
    turned = leg(
        np.radians(STRIDE) + np.array([0.0, 0.0, 6.0]), in_degrees=False
    )  # A walk in circles.
    CoordinateTable(turned, LEG).check_angles()
