"""Prescribed motions: spline, derivatives and tables."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.mechanics.chains import PrescribedMotion, load_motion

TIME = np.linspace(0.0, 1.0, 11)


def test_a_quintic_is_exact_with_its_derivatives():
    polynomials = [np.polynomial.Polynomial([1.0, -2.0, 0.5, 3.0, -1.0, 2.0]), None]
    polynomials[1] = np.polynomial.Polynomial([0.3, 1.0])
    motion = PrescribedMotion(TIME, np.column_stack([each(TIME) for each in polynomials]))
    for time in (0.0, 0.137, 0.5, 1.0):
        for order, found in enumerate(motion.at(time)):
            expected = [each.deriv(order)(time) for each in polynomials]
            assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_the_acceleration_converges_at_order_four():
    errors = []
    for rows in (41, 81):
        time = np.linspace(0.0, 1.0, rows)
        motion = PrescribedMotion(time, np.sin(6.0 * time)[:, None])
        instants = np.linspace(0.3, 0.7, 101)
        found = np.array([motion.at(each)[2][0] for each in instants])
        errors.append(np.abs(found + 36.0 * np.sin(6.0 * instants)).max())
    assert_allclose(np.log2(errors[0] / errors[1]), 4.0, rtol=0.0, atol=0.2)
    assert errors[1] < 1e-4


def test_times_outside_the_table_are_refused_but_for_rounding():
    motion = PrescribedMotion(TIME, TIME[:, None])
    assert_allclose(motion.at(1.0 + 1e-12)[0], 1.0, rtol=1e-11)
    for time in (-1e-6, 1.001, np.nan):
        with pytest.raises(ValueError, match=r"time: expected 0 to 1 s, which the table covers"):
            motion.at(time)


HEADER = "time_s,shank_deg,other,thigh_rad,x_mm,y_m"
ROWS = [f"{0.1 * i:.1f},{10 * i},a,{0.2 * i},{5 * i},{0.01 * i}" for i in range(6)]


def write(path, header: str = HEADER, rows: list[str] = ROWS):
    path.write_text("\n".join(["# angles", header, *rows]) + "\n", encoding="utf-8")
    return path


def test_table_in_si_units_and_the_order_asked_for(tmp_path):
    path = write(tmp_path / "angles.csv")
    angles, base = load_motion(path, ("thigh", "shank")), load_motion(path, ("x", "y"))
    assert_allclose(angles.time, np.arange(6) / 10.0, rtol=1e-15)
    assert_allclose(angles.values[:, 0], 0.2 * np.arange(6), rtol=1e-14)
    assert_allclose(angles.values[:, 1], np.deg2rad(10.0 * np.arange(6)), rtol=1e-14)
    assert_allclose(base.values, np.outer(np.arange(6), [0.005, 0.01]), rtol=1e-14)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("time_s", "time", r"column time_s: expected once"),
        ("shank_deg", "shank", r"one column of shank_deg, shank_rad, .* found 0"),
        ("other", "shank_rad", r"one column of shank_deg, shank_rad, .* found 2"),
        ("other", "shank_deg", r"one column of shank_deg, shank_rad, .* found 2"),
        ("0.3,30", "0.3,thirty", r"column shank_deg: expected a finite number, found thirty"),
        ("0.3,30", "0.3,nan", r"line 6, column shank_deg: expected a finite number"),
        ("0.3,30,a,0.6000000000000001,15,0.03", "0.3", r"column shank_deg: .* found an empty cell"),
        ("0.3,30", "0.1,30", r"motion: time: expected increasing times"),
        ("0.3,30", "# 0.3,30", r"motion: time: expected at least 6 rows, found 5"),
    ],
)
def test_bad_files_are_named(tmp_path, old, new, message):
    path = write(tmp_path / "bad.csv")
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=r"bad\.csv.*" + message):
        load_motion(path, ("shank",))
