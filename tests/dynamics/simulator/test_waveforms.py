"""Gait cycles and their tables: own columns, shipped activities.

Numbers in the layout of the standard are invented, not those of the standard.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics import KneeSimulator
from dynamics.simulator.waveform_tables import (
    ACTIVITIES,
    WAVEFORM_COLUMNS,
    load_gait_cycle,
)
from foundation.base.pose import Pose

COLUMNS = (*WAVEFORM_COLUMNS, "ap_force_N", "internal_torque_Nm")


def table(rows=21):
    percent = np.linspace(0.0, 100.0, rows)
    angle = 2.0 * np.pi * percent / 100.0
    signals = (30 - 30 * np.cos(angle), 1000 + 800 * np.cos(angle), 50 * np.sin(angle))
    return dict(zip(COLUMNS, (percent, *signals, 3 * np.cos(angle)), strict=True))


def moved(rows=21):
    """AP and rotation moved instead of loaded."""
    columns = table(rows)
    columns["anterior_mm"] = columns.pop("ap_force_N") / 10.0
    columns["rotation_deg"] = columns.pop("internal_torque_Nm")
    return columns


@pytest.fixture
def write(tmp_path):
    def to_file(columns, head="# a comment\n"):
        path = tmp_path / "waves.csv"
        rows = zip(*columns.values(), strict=True)
        lines = [",".join(columns), *(",".join(str(v) for v in row) for row in rows)]
        path.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
        return path

    return to_file


def test_spline_follows_harmonics_with_rate_and_acceleration(write):
    cycle = load_gait_cycle(write(table(101)), 1.25)
    t = np.linspace(0.0, 1.25, 333)
    w = 2.0 * np.pi / 1.25
    amplitude = np.radians(30.0)
    expected = amplitude * np.stack([1 - np.cos(w * t), w * np.sin(w * t), w * w * np.cos(w * t)])
    # Errors of a cubic spline: h^4, h^3 and h^2 of the harmonic at h = 0.063 rad.
    for found, wanted, rtol in zip(
        cycle.motion("flexion", t), expected, (1e-7, 1e-5, 1e-3), strict=True
    ):
        assert_allclose(found, wanted, rtol=0.0, atol=rtol * np.abs(wanted).max())
    assert_allclose(cycle.applied(t)[:, 0], 1000 + 800 * np.cos(w * t), rtol=1e-6)


@pytest.mark.parametrize("time", [0.01, 0.2, 0.44, 0.89, 2.1])
def test_inputs_of_the_equations_are_those_of_the_cycle(write, time):
    """Values in the library, and rates against differences of the spline."""
    cycle = load_gait_cycle(write(moved()), 0.9)
    neutral = Pose(rotation=0.01, anterior=2e-3)
    problem = KneeSimulator().problem(*cycle.pieces(neutral), cycle.prescribed)
    values, rates = (each[0] for each in problem.inputs(np.array([time])))

    def wanted(at):
        pose = Pose(
            cycle.at(at)[0],
            rotation=0.01 + cycle.motion("rotation", at)[0],
            anterior=2e-3 + cycle.motion("anterior", at)[0],
        )
        return np.concatenate([pose.array, cycle.applied(at)])

    assert_allclose(values, wanted(time), rtol=1e-12, atol=1e-15)
    slope = (wanted(time + 1e-6) - wanted(time - 1e-6)) / 2e-6
    assert_allclose(rates, slope, rtol=1e-6, atol=1e-6 * np.abs(slope).max())


def test_scaled_multiplies_the_loads_alone(write):
    cycle = load_gait_cycle(write(table()), 1.0)
    doubled = cycle.scaled(axial=2.0, ap=0.5, torque=-1.0)
    assert_allclose(doubled.applied(0.3), cycle.applied(0.3) * [2.0, 0.5, -1.0, 1.0], rtol=1e-12)
    assert_allclose(doubled.motion("flexion", 0.3), cycle.motion("flexion", 0.3), rtol=1e-15)


def test_a_table_may_have_an_adduction_torque(write):
    columns = table()
    wave = 20.0 * np.sin(2e-2 * np.pi * columns["gait_percent"])
    cycle = load_gait_cycle(write(columns | {"adduction_torque_Nm": wave}), 1.0)
    assert_allclose(cycle.applied(np.array([0.0, 0.25, 0.75]))[:, 3], [0.0, 20.0, -20.0], atol=1e-9)
    assert cycle.at(0.25)[1].adduction_torque == pytest.approx(20.0)
    assert load_gait_cycle(write(columns), 1.0).adduction_torque is None


def change(name, index, value):
    def apply(columns):
        columns[name] = columns[name].astype(object)
        columns[name][index] = value

    return apply


@pytest.mark.parametrize(
    ("spoil", "column", "words"),
    [
        (
            lambda c: c.pop("ap_force_N"),
            "ap_force_N",
            r"either this column.*or anterior_mm .*, found neither",
        ),
        (lambda c: c.pop("axial_force_N"), "axial_force_N", "once.*found 0 times in gait_percent"),
        (lambda c: c.update(anterior_mm=c["ap_force_N"]), "ap_force_N", "found ap_force_N and ant"),
        (lambda c: c.update(rotation_deg=c["flexion_deg"]), "internal_torque_Nm", "and rotation"),
        (change("gait_percent", 3, 9.0), "gait_percent", "increasing values, found 9 after 10"),
        (change("gait_percent", -1, 99.0), "gait_percent", "0 to 100, found 0 to 99"),
        (change("axial_force_N", 4, "nan"), "axial_force_N", "finite number, found nan"),
        (change("axial_force_N", 4, ""), "axial_force_N", "finite number, found an empty"),
        (change("axial_force_N", 4, "1 kN"), "axial_force_N", "finite number, found 1 kN"),
        (change("axial_force_N", 10, -20.0), "axial_force_N", "found -20 N at 50 %"),
        (change("flexion_deg", -1, 9.0), "flexion_deg", "equal first and last values"),
        (change("internal_torque_Nm", 10, 90.0), "internal_torque_Nm", "smooth enough"),
        (change("flexion_deg", 10, 500.0), "flexion_deg", "at most 180"),
        (
            lambda c: c.update(flexion_deg=np.radians(c["flexion_deg"])),
            "flexion_deg",
            "expected degrees, found",
        ),
    ],
)
def test_bad_tables_are_refused_by_file_and_column(write, spoil, column, words):
    columns = table()
    spoil(columns)
    with pytest.raises(ValueError, match=rf"waves\.csv, (line 7, )?column {column}: .*{words}"):
        load_gait_cycle(write(columns), 1.0)


def test_prescribed_motions_come_in_millimetres_and_degrees(write):
    cycle = load_gait_cycle(write(moved()), 1.0)
    assert cycle.prescribed == ("flexion", "rotation", "anterior")
    assert cycle.ap_force is None
    assert cycle.internal_torque is None
    assert_allclose(cycle.anterior.max(), 5e-3, rtol=1e-12)
    assert_allclose(cycle.rotation.max(), np.radians(3.0), rtol=1e-12)
    assert_allclose(cycle.applied(0.3)[1:], 0.0, rtol=0.0, atol=0.0)
    # Scaling is of loads alone.
    doubled = cycle.scaled(axial=2.0, ap=7.0, torque=7.0)
    assert_allclose(doubled.motion("anterior", 0.3), cycle.motion("anterior", 0.3), rtol=1e-15)
    with pytest.raises(ValueError, match=r"coordinate: expected one of.*found 'lateral'"):
        cycle.motion("lateral", 0.0)


def test_empty_table_and_bad_period(write, tmp_path):
    empty = tmp_path / "empty.csv"
    empty.write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"empty\.csv: expected a header and rows"):
        load_gait_cycle(empty, 1.0)
    with pytest.raises(ValueError, match="period: expected > 0 s"):
        load_gait_cycle(write(table()), 0.0)
    with pytest.raises(ValueError, match="at least 5 rows"):
        load_gait_cycle(write(table(4)), 1.0)
    with pytest.raises(FileNotFoundError):
        load_gait_cycle(tmp_path / "none.csv", 1.0)


#: Weight of 75 kg [N].
WEIGHT = 75.0 * 9.80665
#: Peak axial force in body weights (Kutzner et al. 2010), range of its instants [%], and range of
#: flexion [deg].
PUBLISHED = {
    "stair_ascent": (3.16, (10.0, 25.0), (8.0, 94.0)),
    "stair_descent": (3.46, (40.0, 60.0), (8.0, 91.0)),
    "squat": (2.53, (49.0, 51.0), (5.0, 90.0)),
    "deep_flexion": (2.53, (49.0, 51.0), (5.0, 120.0)),
}


@pytest.fixture(params=PUBLISHED)
def pattern(request):
    return request.param, load_gait_cycle(ACTIVITIES[request.param], period_s=1.0)


def test_peaks_and_ranges_are_the_published_ones(pattern):
    name, cycle = pattern
    peak, (early, late), flexion = PUBLISHED[name]
    assert cycle.axial_force.max() / WEIGHT == pytest.approx(peak, rel=1e-4)
    assert early <= cycle.percent[cycle.axial_force.argmax()] <= late
    found = np.degrees([cycle.flexion.min(), cycle.flexion.max()])
    assert_allclose(found, flexion, atol=0.01)
