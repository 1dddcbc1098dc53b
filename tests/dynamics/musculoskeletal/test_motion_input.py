"""Motions that OpenSim would filter or read to nonsense, by a model of two coordinates."""

from types import SimpleNamespace

import numpy as np
import pytest

from dynamics.musculoskeletal import read_motion
from dynamics.walking import MotionTable
from dynamics.walking.motion_tables import write_motion_table
from foundation.errors import InputError
from tests.dynamics.musculoskeletal.synthetic import settings

SYSTEM = SimpleNamespace(coordinates=("hip", "height"), rotational=(True, False))
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


def test_a_filter_above_half_the_sampling_rate_is_refused(tmp_path):
    path = write(tmp_path / "a.mot", 0.1 * TIME)
    with pytest.raises(InputError, match="lowpass: expected a frequency below 50 Hz"):
        read_motion(path, SYSTEM, settings(lowpass=50.0))
    with pytest.raises(InputError, match="below 25 Hz"):
        read_motion(path, SYSTEM, settings(lowpass=30.0, step=0.02))


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
