"""Tables of motions and forces: OpenSim's formats and CSV, and what is wrong with them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics.motion.motion_tables import (
    MotionTable,
    read_motion_table,
)

VERSION_1 = """Coordinates
version=1
nRows=3
nColumns=3
inDegrees=yes

Units are S.I. units (second, meters, Newtons, ...)
endheader
time\tknee_angle_r\tpelvis_tx
      0.00\t     -90.0\t      0.5
      0.01\t     -45.0\t      0.6
      0.02\t       0.0\t      0.7
"""
VERSION_3 = """inDegrees=no
DataType=double
version=3
OpenSimVersion=4.5
endheader
pelvis_tx   time  knee_angle_r
0.5   0     -1.5
0.6   1e-2  -0.75
0.7   0.02  0
"""
SIMM = """/* a comment */
name walk
datacolumns 3
datarows 2
range 0 1
endheader
time knee_angle_r pelvis_tx
0 1 2
1 3 4
"""


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_version_1_with_tabs_and_degrees(tmp_path):
    table = read_motion_table(write(tmp_path / "a.mot", VERSION_1))
    assert table.names == ("knee_angle_r", "pelvis_tx")
    assert table.in_degrees is True
    assert_array_equal(table.time, [0.0, 0.01, 0.02])
    assert_array_equal(table.column("pelvis_tx"), [0.5, 0.6, 0.7])
    assert_allclose(table.angle("knee_angle_r"), [-np.pi / 2, -np.pi / 4, 0.0], rtol=1e-15)
    assert_array_equal(table.column("knee_angle_r"), [-90.0, -45.0, 0.0])


def test_version_3_with_blanks_another_column_order_and_no_counts(tmp_path):
    table = read_motion_table(write(tmp_path / "a.sto", VERSION_3))
    assert table.names == ("pelvis_tx", "knee_angle_r")
    assert_array_equal(table.time, [0.0, 0.01, 0.02])
    assert_array_equal(table.angle("knee_angle_r"), [-1.5, -0.75, 0.0])
    assert_array_equal(table.column("pelvis_tx"), [0.5, 0.6, 0.7])


def test_older_header_names_and_trailing_tabs(tmp_path):
    table = read_motion_table(write(tmp_path / "a.mot", SIMM.replace("\n", "\t\t\n")))
    assert_array_equal(table.values, [[1.0, 2.0], [3.0, 4.0]])
    assert table.in_degrees is None


def test_csv_states_units_by_name_or_argument(tmp_path):
    path = write(tmp_path / "a.csv", "# walk\ntime,hip_deg,knee_rad,ankle\n0,180,1,90\n1,90,2,45\n")
    table = read_motion_table(path)
    assert_allclose(table.angle("hip_deg"), [np.pi, np.pi / 2], rtol=1e-15)
    assert_array_equal(table.angle("knee_rad"), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"a\.csv, column ankle: expected the unit of the angle"):
        table.angle("ankle")
    stated = read_motion_table(path, in_degrees=True)
    assert_allclose(stated.angle("ankle"), [np.pi / 2, np.pi / 4], rtol=1e-15)
    assert_array_equal(stated.angle("knee_rad"), [1.0, 2.0])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.6\n", "\n", r"line 11: expected 3 cells, time to pelvis_tx, found 2"),
        ("0.6\n", "0.6\t7\n", r"line 11: expected 3 cells, .* found 4"),
        ("-45.0", "nan", r"line 11, column knee_angle_r: expected a finite number, found nan"),
        ("-45.0", "1e999", r"line 11, column knee_angle_r: .* found 1e999"),
        ("     -45.0", "", r"line 11, column knee_angle_r: .* found an empty cell"),
        ("-45.0", "-45,0", r"line 11, column knee_angle_r: .* found -45,0"),
        ("0.01", "0.00", r"line 11, column time: expected a time after 0 s, .* found 0"),
        ("0.02", "0.005", r"line 12, column time: expected a time after 0\.01 s, .* found 0\.005"),
        ("endheader", "end", r"expected a header that ends with endheader"),
        ("nRows=3", "nRows=4", r"expected 4 rows as stated in the header \(nrows\), found 3"),
        ("nColumns=3", "nColumns=2", r"expected 2 columns as stated .*\(ncolumns\), found 3"),
        ("pelvis_tx", "knee_angle_r", r"line 9: expected each column once, .*knee_angle_r' 2"),
        ("time\t", "Zeit\t", r"line 9: expected a column time, found Zeit"),
        ("inDegrees=yes", "inDegrees=true", r"inDegrees: expected one of .* found 'true'"),
        (
            VERSION_1[VERSION_1.index("time\t") :],
            "",
            r"expected column names and rows .*, found 0 lines",
        ),
    ],
)
def test_bad_tables_are_named_with_file_line_and_column(tmp_path, old, new, message):
    path = write(tmp_path / "bad.mot", VERSION_1.replace(old, new, 1))
    with pytest.raises(ValueError, match=r"bad\.mot(, |: )" + message):
        read_motion_table(path)


def test_values_are_read_only_copies_and_unknown_columns_named():
    values = np.ones((2, 1))
    table = MotionTable(("a",), [0.0, 1.0], values)
    values[:] = 5.0
    table.column("a")[:] = 7.0
    assert_array_equal(table.column("a"), [1.0, 1.0])
    with pytest.raises(ValueError, match=r"read-only"):
        table.values[0, 0] = 3.0
    with pytest.raises(ValueError, match=r"motion table: expected a column 'b', found "):
        table.angle("b")
