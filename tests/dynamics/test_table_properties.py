"""Tables of motions, waveforms and ligaments: round trips, and what damage does to a file."""

import numpy as np
import pytest
from damage import files, read_or_refuse, reading
from hypothesis import given
from hypothesis import strategies as st

from dynamics.ligaments.bundle_tables import LENHART_LIGAMENTS, load_ligaments
from dynamics.motion.motion_tables import MotionTable, read_motion_table, write_motion_table
from dynamics.simulator.waveform_tables import LEVEL_WALKING, load_gait_cycle
from dynamics.simulator.waveforms import GaitCycle

MOTION = b"""Coordinates
version=1
nRows=3
nColumns=3
inDegrees=yes
endheader
time\tknee_angle_r\tpelvis_tx
0.0\t5.0\t0.1
0.01\t6.5\t0.11
0.02\t7.25\t0.125
"""
CSV = b"# measured\ntime,knee_angle_r_deg\n0.0,5.0\n0.01,6.5\n0.02,7.25\n"
MOTIONS = {".mot": (MOTION, "=\t"), ".sto": (MOTION, "=\t"), ".csv": (CSV, ",")}
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text("abcdefghijklmnop _/", min_size=1, max_size=12).filter(
    lambda name: name == " ".join(name.split()) and name != "time"
)


@pytest.mark.parametrize("suffix", MOTIONS)
@given(data=st.data())
@reading
def test_damaged_motion_is_a_table_or_refused(tmp_path, suffix, data):
    content = data.draw(files(*MOTIONS[suffix]))
    table = read_or_refuse(read_motion_table, tmp_path / f"damaged{suffix}", content, ValueError)
    if table is not None:
        assert table.values.shape == (len(table.time), len(table.names))
        assert np.isfinite(table.values).all()
        assert (np.diff(table.time) > 0.0).all()


@given(data=st.data())
@reading
def test_damaged_waveforms_are_a_cycle_or_refused(tmp_path, data):
    content = data.draw(files(LEVEL_WALKING.read_bytes(), ","))
    cycle = read_or_refuse(
        lambda path: load_gait_cycle(path, 1.0), tmp_path / "damaged.csv", content, ValueError
    )
    if cycle is not None:
        assert isinstance(cycle, GaitCycle)
        assert np.isfinite(cycle.applied([0.0, 0.4])).all()


@given(data=st.data())
@reading
def test_damaged_ligaments_are_bundles_or_refused(tmp_path, data):
    content = data.draw(files(LENHART_LIGAMENTS.read_bytes(), ","))
    bundles = read_or_refuse(load_ligaments, tmp_path / "damaged.csv", content, ValueError)
    if bundles is not None:
        assert all(bundle.stiffness >= 0.0 for bundle in bundles)


@given(
    names=st.lists(NAMES, unique=True, min_size=1, max_size=4),
    time=st.lists(NUMBERS, unique=True, min_size=1, max_size=6).map(sorted),
    in_degrees=st.booleans(),
    suffix=st.sampled_from([".mot", ".sto"]),
    data=st.data(),
)
@reading
def test_written_motion_is_read_back_the_same(tmp_path, names, time, in_degrees, suffix, data):
    row = st.tuples(*[NUMBERS] * len(names))
    values = data.draw(st.lists(row, min_size=len(time), max_size=len(time)))
    table = MotionTable(tuple(names), time, values, in_degrees)
    path = tmp_path / f"motion{suffix}"
    write_motion_table(path, table)
    back = read_motion_table(path)
    assert (back.names, back.in_degrees) == (table.names, in_degrees)
    np.testing.assert_array_equal(back.time, table.time)
    np.testing.assert_array_equal(back.values, table.values)
