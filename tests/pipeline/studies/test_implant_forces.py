"""Tables of implant forces: stated columns, units, signs and times, and errors of known sizes."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from foundation.base.errors import InputError
from pipeline.studies.implant_forces import (
    ImplantForcesConfig,
    at_times,
    compare_with_implant,
    comparison_lines,
    read_implant_forces,
)

WEIGHT, POUND = 686.3, 4.4482216152605
TIME = np.arange(0.75, 3.92, 1.0 / 120.0)
BOTH = {"medial": "medial", "lateral": "lateral"}


def stride(time):
    """Return a force with two peaks a stride, up to 1900 N."""
    part = np.mod((np.asarray(time) - 0.3) / 1.3, 1.0)
    peaks = [
        np.exp(-0.5 * ((part - at) / width) ** 2) for at, width in ((0.18, 0.07), (0.48, 0.06))
    ]
    return 100.0 + 1800.0 * (peaks[0] + 0.6 * peaks[1])


FORCE = stride(TIME)
MEDIAL = FORCE * (0.6 + 0.1 * np.sin(TIME))
LATERAL = FORCE - MEDIAL


def read(path, **keys):
    return read_implant_forces(ImplantForcesConfig(file=str(path), **keys), WEIGHT)


def text(path, header, columns, separator=",", end=""):
    rows = [
        separator.join(f"{value:.6f}" for value in row) + end for row in zip(*columns, strict=True)
    ]
    path.write_text("\n".join([*header, *rows]) + "\n", encoding="utf-8")
    return path


def assert_parts(found, *, rtol=1e-5):
    assert_allclose(found.time, TIME, atol=1e-6)
    assert_allclose(found.parts["total"], FORCE, rtol=rtol)
    assert_allclose(found.parts["medial"], MEDIAL, rtol=rtol)
    assert_allclose(found.parts["lateral"], LATERAL, rtol=rtol)
    assert not found.warnings


def test_second_implant_of_the_grand_challenge(tmp_path):
    zero = 0.0 * TIME
    moment = (MEDIAL - 0.5 * FORCE) / POUND / 0.9
    columns = (TIME, zero + 1.2, zero - 2.0, FORCE / POUND, moment, zero, zero, zero, FORCE)
    header = ["\ufeffTime(sec),Fx,Fy,Fz,Tx,Ty,Tz,GON,GRFz"]
    path = text(tmp_path / "DM_knee_forces.csv", header, columns, end=",")
    found = read(path, layout="grand_challenge", medial={"Fz": 0.5, "Tx": 0.9})
    assert_parts(found)
    assert found.facts == (
        "forces in lbf", "total force: Fz", "medial force: 0.5 Fz + 0.9 Tx"
    )  # fmt: skip
    assert set(read(path, layout="grand_challenge").parts) == {"total"}


@pytest.mark.parametrize("separator", ["\t", ";", "   "])
def test_orthoload(tmp_path, separator):
    """Fz is negative in compression; a force N at x lateral of the stem has My = x N."""
    frontal = (0.5 * FORCE - MEDIAL) * 0.046
    names = ["Time [s]", "Fx [N]", "Fy [N]", "Fz [N]", "Mx [Nm]", "My [Nm]", "Mz [Nm]"]
    zero = 0.0 * TIME
    columns = (TIME, zero, zero + 100.0, -FORCE, zero, frontal, zero)
    header = ["OrthoLoad, knee of a person whose trial was medial thrust gait", "", "s N"]
    path = text(tmp_path / "k1l.txt", [*header, separator.join(names)], columns, separator)
    assert_parts(read(path, layout="orthoload", medial={"Fz": -0.5, "My": -1.0 / 0.046}))
    assert_parts(
        read(path, time="Time [s]", total={"Fz [N]": -1.0}, lateral={"Fz": -0.5, "My": 1 / 0.046})
    )


@pytest.mark.parametrize(
    ("unit", "factor", "told"),
    [
        ("N", 1.0 / POUND, "0.62 body weights, expected 1.25 to 5.5; .* now N .*2.77 in lbf"),
        ("N", 1.0 / WEIGHT, "0.00 body weights, .* 4.03 in kN or 2.77 in BW"),
    ],
)
def test_a_wrong_unit_is_told_with_the_right_one(tmp_path, unit, factor, told):
    path = text(tmp_path / "f.csv", ["time,total"], (TIME, FORCE * factor))
    [warning] = [
        each for each in read(path, total="total", unit=unit).warnings if "largest" in each
    ]
    assert pytest.approx(2.768, abs=1e-3) == FORCE.max() / WEIGHT
    assert re.search(told, warning), warning


def test_a_wrong_sign_is_told(tmp_path):
    path = text(tmp_path / "f.csv", ["time,Fz"], (TIME, -FORCE))
    with pytest.raises(
        InputError, match=r"positive in compression, found -\d+ N on average; invert"
    ):
        read(path, total="Fz")
    assert_allclose(read(path, total={"Fz": -1.0}).parts["total"], FORCE, rtol=1e-5)


def test_rows_without_numbers_are_gaps(tmp_path):
    path = text(tmp_path / "f.csv", ["time,Fz,note"], (TIME, FORCE, 0.0 * TIME))
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[100:160] = [line.split(",")[0] + ",,off" for line in lines[100:160]]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = read(path, total="Fz")
    middle, early = TIME[129], TIME[20]
    at = at_times(np.array([early, middle, 9.0]), found.time, found.parts["total"])
    assert at[0] == pytest.approx(stride(early), rel=1e-6)
    assert np.isnan(at[1:]).all()
    path.write_text("\n".join([*lines[:50], *lines]), encoding="utf-8")
    with pytest.raises(InputError, match="expected increasing times, found a step of -"):
        read(path, total="Fz")


WALK = np.arange(2.305, 3.62, 0.01)


def compared(path, predicted, **keys):
    config = ImplantForcesConfig(file=str(path), total="Fz", **keys)
    return compare_with_implant(config, WALK, {"total": predicted}, WEIGHT, "c")


@pytest.mark.parametrize("shift", [0.0, -20.0])
def test_times(tmp_path, shift):
    path = text(tmp_path / "f.csv", ["time,Fz"], (TIME - shift, FORCE))
    found = compared(path, stride(WALK), shift_s=shift)
    assert found.comparison.parts["total"].rms_N < 15.0
    assert found.comparison.instants == len(WALK)
    assert not found.warnings


def test_a_wrong_shift_is_told(tmp_path):
    path = text(tmp_path / "g.csv", ["time,Fz"], (TIME + 50.0, FORCE))
    with pytest.raises(
        InputError, match=r"from 2.305 to 3.615 s, .* found 50.75 .* state .*shift_s"
    ):
        compared(path, stride(WALK))


def test_errors_have_their_definitions(tmp_path):
    path = text(tmp_path / "f.csv", ["time,medial,lateral"], (TIME, MEDIAL, LATERAL))
    config = ImplantForcesConfig(file=str(path), **BOTH)
    at = TIME[180:340:2]
    medial, force = np.interp(at, TIME, MEDIAL), np.interp(at, TIME, FORCE)
    predicted = {"total": 1.1 * force, "medial": medial + 50.0, "lateral": force - medial}
    found = compare_with_implant(config, at, predicted, 700.0, "c")
    rows = found.comparison.parts
    assert rows["total"].rms_N == pytest.approx(0.1 * np.sqrt((force**2).mean()), rel=1e-5)
    r2 = 1.0 - (0.01 * force**2).sum() / ((force - force.mean()) ** 2).sum()
    assert rows["total"].r2 == pytest.approx(r2, rel=1e-5)
    assert rows["medial"].rms_BW == pytest.approx(50.0 / 700.0, rel=1e-5)
    assert rows["medial"].mean_error_N == pytest.approx(50.0, rel=1e-5)
    assert rows["lateral"].rms_N == pytest.approx(0.0, abs=1e-3)
    assert rows["total"].predicted_peak_N == pytest.approx(1.1 * force.max(), rel=1e-5)
    assert rows["total"].measured_peak_at_s == pytest.approx(at[force.argmax()])
    assert list(found.table()) == [
        "time_s",
        *(f"{kind}_{part}_N" for kind in ("measured", "predicted") for part in rows),
    ]
    assert comparison_lines(found.comparison)[0] == (
        "measured forces of f.csv: forces in N; medial force: medial; lateral force: lateral"
    )
