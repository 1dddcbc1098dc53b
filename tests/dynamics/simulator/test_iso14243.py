"""Tables in the layout of ISO 14243; the numbers are invented, not those of the standard."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics import load_iso14243
from foundation.base.errors import InputError

PERCENT = np.linspace(0.0, 100.0, 51)
PHASE = 2.0 * np.pi * PERCENT / 100.0
FLEXION = 20.0 - 15.0 * np.cos(PHASE)
AXIAL = 900.0 + 500.0 * np.sin(PHASE)
AP, SPIN = 40.0 * np.sin(2.0 * PHASE), 3.0 * np.sin(PHASE)
BASE = ["Percentage of cycle time (%)", "Flexion angle (°)", "Axial force (N)"]
LOADS = [*BASE, "AP force (N)", "Tibial rotation torque (N·m)"]
MOTIONS = [*BASE, "AP displacement (mm)", "Tibial rotation (deg)"]


@pytest.fixture
def table(tmp_path):
    def write(headers, separator=",", decimal=".", name="own.csv", columns=None):
        columns = columns or [PERCENT, FLEXION, AXIAL, AP, SPIN]
        values = np.column_stack(columns).tolist()
        rows = [[f"{cell:.6f}".replace(".", decimal) for cell in row] for row in values]
        path = tmp_path / name
        path.write_text("\n".join(separator.join(row) for row in [headers, *rows]) + "\n", "utf-8")
        return path

    return write


def test_load_control_keeps_the_signs_of_forces_on_the_tibia(table):
    cycle = load_iso14243(table(LOADS), 1.0)
    assert_allclose(cycle.percent, PERCENT, atol=1e-5)
    assert_allclose(np.degrees(cycle.flexion), FLEXION, atol=1e-5)
    assert_allclose(cycle.axial_force, AXIAL, atol=1e-5)
    assert_allclose(cycle.ap_force, AP, atol=1e-5)
    assert_allclose(cycle.internal_torque, SPIN, atol=1e-5)
    assert cycle.prescribed == ("flexion",)


def test_displacement_of_the_tibia_to_the_front_moves_the_femur_back(table):
    cycle = load_iso14243(table(MOTIONS), 1.0)
    assert_allclose(1e3 * cycle.anterior, -AP, atol=1e-5)
    assert_allclose(np.degrees(cycle.rotation), SPIN, atol=1e-5)
    assert cycle.prescribed == ("flexion", "rotation", "anterior")


@pytest.mark.parametrize("headers", [LOADS, MOTIONS])
def test_directions_can_be_reversed_one_by_one(table, headers):
    path = table(headers)
    cycle = load_iso14243(path, 1.0)
    ap, rotation = (s for s in cycle.signals if s not in ("flexion", "axial_force"))
    if headers is MOTIONS:
        ap, rotation = rotation, ap
    other = load_iso14243(path, 1.0, reversed_directions=["ap"])
    assert_allclose(getattr(other, ap), -getattr(cycle, ap))
    assert_allclose(getattr(other, rotation), getattr(cycle, rotation))
    other = load_iso14243(path, 1.0, reversed_directions=["rotation"])
    assert_allclose(getattr(other, rotation), -getattr(cycle, rotation))


def test_order_separators_and_decimal_commas_do_not_matter(table):
    plain = load_iso14243(table(LOADS), 1.0)
    columns = [SPIN, AP, AXIAL, FLEXION, PERCENT]
    turned = table(LOADS[::-1], ";", ",", "turned.csv", columns)
    tabs = table(LOADS, "\t", ",", "tabs.txt")
    for path in (turned, tabs):
        found = load_iso14243(path, 1.0)
        for name in plain.signals:
            assert_allclose(getattr(found, name), getattr(plain, name), atol=1e-9)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([*BASE, "AP force (kN)", "Tibial rotation (deg)"], r"AP force \(N\), found the unit kN"),
        ([*BASE[:2], "Load (N)", *LOADS[3:]], r"a column of the axial force \(N\)"),
        ([*BASE, "AP force (N)", "AP displacement (mm)"], "found ap_force and anterior in"),
        ([*BASE, "AP force (N)", "AP force (N)"], "one column of the AP force"),
        ([*BASE, "Shear (N)", "Tibial rotation (deg)"], r"AP force \(N\) \(ISO 14243-1\) or of"),
    ],
)
def test_wrong_columns_are_named(table, headers, expected):
    with pytest.raises(InputError, match=expected):
        load_iso14243(table(headers), 1.0)


def test_workbooks_and_unknown_directions_are_refused(table):
    with pytest.raises(InputError, match="save the sheet as CSV"):
        load_iso14243(table(LOADS, name="own.xlsx"), 1.0)
    with pytest.raises(InputError, match="reversed_directions"):
        load_iso14243(table(LOADS), 1.0, reversed_directions=["axial"])


def test_rows_that_do_not_cover_the_cycle_are_refused(table):
    path = table(LOADS, columns=[0.5 * PERCENT, FLEXION, AXIAL, AP, SPIN])
    with pytest.raises(InputError, match=r"own\.csv: gait_percent: expected to cover 0 to 100"):
        load_iso14243(path, 1.0)
