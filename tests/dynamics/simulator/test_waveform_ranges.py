"""Wrong waveform tables: units, signs, exchanged columns; and tables that are no fault."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from dynamics import load_gait_cycle
from dynamics.simulator.waveform_tables import ACTIVITIES, LEVEL_WALKING
from foundation.base.errors import InputError

FLEXION, AXIAL, AP, TORQUE = "flexion_deg", "axial_force_N", "ap_force_N", "internal_torque_Nm"
ANTERIOR, ROTATION = "anterior_mm", "rotation_deg"


def walking(*, moved=False):
    """Return a cycle of level walking, driven by forces or, in its place, by motions."""
    table = pd.read_csv(LEVEL_WALKING, comment="#")
    if moved:
        table[ANTERIOR] = np.interp(table.pop(AP), (-265.0, 110.0), (-5.2, 0.0))
        table[ROTATION] = np.interp(table.pop(TORQUE), (-1.0, 6.0), (-1.9, 5.7))
    return table


@pytest.fixture
def told(tmp_path):
    """Return a function that reads a table: its warnings, or its error."""

    def read(table, **options):
        path = tmp_path / "own.csv"
        table.to_csv(path, index=False)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                load_gait_cycle(path, 1.0, **options)
            except InputError as error:
                return f"error: {error}"
        return "".join(f"warning: {each.message}\n" for each in caught)

    return read


def factor(**factors):
    return lambda table: table.assign(**{name: table[name] * by for name, by in factors.items()})


def exchanged(one, other):
    return lambda table: table.assign(**{one: table[other], other: table[one]})


RADIANS, DEGREES = np.pi / 180.0, 180.0 / np.pi


@pytest.mark.parametrize(
    ("change", "column", "words"),
    [
        (factor(flexion_deg=RADIANS), FLEXION, "error.*expected degrees, found .* at most 1.01;"),
        (factor(flexion_deg=2.0 * RADIANS), FLEXION, "warning.*at most 2.02;"),
        (factor(flexion_deg=-1.0), FLEXION, "error.*found -58 deg at 71 %; check unit and sign"),
        (factor(flexion_deg=60.0), FLEXION, "error.*at most 180 deg, found 3480 deg"),
        (factor(axial_force_N=1e-3), AXIAL, "error.*expected newtons, found .* at most 2.6;"),
        (factor(axial_force_N=1 / 7.35), AXIAL, "warning.*at most 354"),
        (factor(axial_force_N=-1.0), AXIAL, "error.*at least 0 "),
        (factor(axial_force_N=1e3), AXIAL, "error.*at most 20000 N, found 2.6e.06 N"),
        (factor(ap_force_N=100.0), AP, "error.*at most 5000 N, found -26500 N at 42 %; check unit"),
        (factor(ap_force_N=10.0), AP, "warning.*at most 1200 N, found -2650 N"),
        (factor(ap_force_N=1e-3), AP, "warning.*at most 0.265;"),
        (factor(internal_torque_Nm=1e3), TORQUE, "error.*found 6000 N m"),
        (factor(internal_torque_Nm=1e-3), TORQUE, "warning.*at most 0.006;"),
        (exchanged(AP, TORQUE), TORQUE, "error.*found -265 N m at 42 %; check .* and its name"),
        (exchanged(AXIAL, AP), AXIAL, "error.*at least 0 "),
        (factor(rotation_deg=RADIANS), ROTATION, "warning.*at most 0.0995;"),
        (factor(rotation_deg=DEGREES), ROTATION, "error.*at most 90 deg, found 326"),
        (factor(anterior_mm=1e-1), ANTERIOR, "warning.*at most 0.52;"),
        (factor(anterior_mm=1e3), ANTERIOR, "error.*found -5200 mm"),
    ],
)
def test_wrong_tables_are_told(told, change, column, words):
    found = told(change(walking(moved=column in (ROTATION, ANTERIOR))))
    assert re.search(words.replace(".*", f".*column {column}: .*", 1), found), found
    assert found.count("\n") == ("warning" in words)


@pytest.mark.parametrize(
    "change",
    [
        factor(),
        factor(flexion_deg=150 / 58, axial_force_N=2.0, ap_force_N=3.0, internal_torque_Nm=2.0),
        factor(ap_force_N=0.0, internal_torque_Nm=0.0),
        factor(ap_force_N=0.05, internal_torque_Nm=0.02),
        lambda table: table.assign(flexion_deg=table[FLEXION] - 12.0),
        lambda table: table.assign(flexion_deg=1.0),
        lambda table: table.assign(axial_force_N=900.0),
        lambda table: table.iloc[::5],
    ],
)
def test_sound_tables_are_silent(told, change):
    assert told(change(walking())) == ""


def test_motions_and_shipped_activities_are_silent(told):
    assert told(walking(moved=True)) == ""
    for path in ACTIVITIES.values():
        assert told(pd.read_csv(path, comment="#")) == ""


def test_the_factor_on_the_axial_force_counts_before_the_check(told):
    table = factor(axial_force_N=1 / 735)(walking())
    assert told(table, axial_scale=735.0) == ""
    assert "error" in told(walking(), axial_scale=100.0)


@pytest.mark.parametrize(
    ("column", "other", "expected"),
    [
        (FLEXION, "flexion_rad", "column flexion_rad: expected flexion_deg"),
        (AXIAL, "axial_force_kN", "column axial_force_kN: expected axial_force_N"),
        (AP, "ap_force_BW", "column ap_force_BW: expected ap_force_N"),
    ],
)
def test_columns_of_another_unit_are_named(tmp_path, column, other, expected):
    path = tmp_path / "own.csv"
    walking().rename(columns={column: other}).to_csv(path, index=False)
    with pytest.raises(InputError, match=expected):
        load_gait_cycle(path, 1.0)
