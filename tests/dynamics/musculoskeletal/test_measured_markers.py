"""Measured markers: files, gaps, units, C3D, and causes of markers that do not fit."""

import re
from pathlib import Path

import numpy as np
import pytest
from c3d_files import Z_UP, write_c3d
from damage import files, read_or_refuse, reading
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dynamics.motion.motion_tables import MotionTable
from dynamics.musculoskeletal.measured_markers import (
    MarkerFit,
    MeasuredMarkers,
    check_upright,
    fit_notes,
    marker_fits,
    marker_notes,
    misfit,
    read_markers,
    total_rms,
)
from foundation.base.errors import InputError

NAMES, TIME = ("hip", "knee", "toe"), 0.01 * np.arange(6.0)
PLACES = np.array([[0.0, 0.9, 0.1], [0.05, 0.5, 0.1], [0.2, 0.0, 0.1]])


def walking():
    """Return markers (6, 3, 3) [m] that move forward."""
    return PLACES + np.outer(2.0 * TIME, [1.0, 0.0, 0.0])[:, None]


def write(path, positions, *, unit="mm", scale=1e3, names=NAMES, empty="nan"):
    """Write a `.trc` file of positions (6, M, 3) [m]."""

    def cell(value):
        return empty if np.isnan(value) else f"{scale * value:.9g}"

    rows = [
        "\t".join([str(k + 1), f"{at:.2f}", *map(cell, row.ravel())])
        for k, (at, row) in enumerate(zip(TIME, positions, strict=True))
    ]
    head = [
        "PathFileType\t4\t(X/Y/Z)\twalk.trc",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\t"
        "OrigNumFrames",
        f"100\t100\t{len(rows)}\t{len(names)}\t{unit}\t100\t1\t{len(rows)}",
        "Frame#\tTime\t" + "\t\t\t".join(names) + "\t\t",
        "\t\t" + "\t".join(f"{axis}{k + 1}" for k in range(len(names)) for axis in "XYZ"),
        "",
    ]
    path.write_text("\n".join([*head, *rows]) + "\n")
    return path


@pytest.mark.parametrize(
    ("unit", "scale"), [("mm", 1e3), ("m", 1.0), ("cm", 100.0), ("inch", 1.0 / 0.0254)]
)
def test_markers_are_metres_whatever_the_unit(tmp_path, unit, scale):
    found = read_markers(write(tmp_path / "walk.trc", walking(), unit=unit, scale=scale))
    assert found.names == NAMES
    np.testing.assert_allclose(found.positions, walking(), atol=1e-9)
    np.testing.assert_allclose(found.between(0.02, 0.03).time, [0.02, 0.03])
    assert marker_notes(found, NAMES, NAMES) == ()
    (tmp_path / "again.trc").write_text(found.text())
    again = read_markers(tmp_path / "again.trc")
    np.testing.assert_array_equal(again.positions, found.positions)


def gone(positions):
    positions[:, 1] = 0.0


def hidden(positions):
    positions[:, 1] = np.nan


def gap(positions):
    positions[2:4, 1] = np.nan


def zeros(positions):
    positions[2, 1] = -0.0


@pytest.mark.parametrize("empty", ["nan", "", "-nan(ind)", "1.#QNAN"])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (gone, "without a position at some or all of 6 instants: knee at 6;"),
        (hidden, "markers without a position at some or all of 6 instants: knee at 6;"),
        (gap, "markers without a position at some or all of 6 instants: knee at 2;"),
        (zeros, "without a position at some or all of 6 instants: knee at 1;"),
    ],
)
def test_markers_that_would_mislead_are_told(tmp_path, change, told, empty):
    positions = walking()
    change(positions)
    found = read_markers(write(tmp_path / "walk.trc", positions, empty=empty))
    (note,) = marker_notes(found, NAMES, NAMES)
    assert re.search(told, note), note
    assert marker_notes(found, ("hip", "toe"), NAMES) == ()  # Without a weight, it is no matter.
    (tmp_path / "again.trc").write_text(found.text())
    again = read_markers(tmp_path / "again.trc")
    np.testing.assert_array_equal(again.positions, found.positions)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("PathFileType", "Path", "begins with PathFileType"),
        ("\tmm\t", "\tfoot\t", "Units: expected one of mm, cm, m, inch, found 'foot'"),
        ("hip\t\t\tknee", "hip\t\t\thip", "each marker once, found hip twice"),
        ("2\t0.01", "2\t0.00", "expected rows at increasing instants"),
        ("\t900\t", "\t9x\t", "line 7: expected numbers, found .*'9x'"),
        ("\t900\t", "\tinf\t", "expected finite coordinates"),
        ("\t900\t", "\t900\t900\t", "line 7: expected 9 coordinates of 3 markers, found 10"),
    ],
)
def test_damaged_files_are_named(tmp_path, old, new, told):
    path = write(tmp_path / "walk.trc", walking())
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=told):
        read_markers(path)
    with pytest.raises(InputError, match="no such file; check the path of the markers"):
        read_markers(tmp_path / "none.trc")


def fits_of(tmp_path, offsets):
    """Return fits where the model is off by offsets (3,) [m] and the knee is missing once."""
    positions = walking()
    positions[2, 1] = np.nan
    measured = read_markers(write(tmp_path / "walk.trc", positions))
    model = walking() + np.array(offsets)[None, :, None] * [0.0, 0.0, 1.0]
    names = tuple(f"{name}_t{axis}" for name in NAMES for axis in "xyz")
    found = MotionTable(names, TIME[1:], model.reshape(6, 9)[1:])
    return marker_fits(found, measured, dict.fromkeys(NAMES, 1.0))


def test_distances_are_those_of_each_marker(tmp_path):
    fits = fits_of(tmp_path, [0.0, 0.03, -0.01])
    assert [fit.name for fit in fits] == ["knee", "toe", "hip"]
    assert fits[0].rms == pytest.approx(0.03)
    assert fits[0].largest == pytest.approx(0.03)
    assert [fit.missing for fit in fits] == [1, 0, 0]
    assert total_rms(fits) == pytest.approx(np.sqrt((0.03**2 + 0.01**2) / 3.0))
    assert fit_notes("walk.trc", fits) == ()


UP = np.array([0.0, 1.0, 0.0])
#: Places of the right side [m]; z is to the right.
RIGHT = {
    "Shoulder": (0.0, 1.45, 0.18),
    "Asis": (0.1, 1.0, 0.13),
    "Psis": (-0.1, 1.0, 0.06),
    "Knee": (0.03, 0.5, 0.14),
    "Heel": (-0.05, 0.05, 0.1),
    "Toe": (0.17, 0.05, 0.12),
}
PERSON = {"Thigh": np.array([0.08, 0.75, 0.15])} | {
    f"{side}_{name}": np.array([x, y, sign * z])
    for side, sign in (("R", 1.0), ("L", -1.0))
    for name, (x, y, z) in RIGHT.items()
}
PERSON_TIME = np.linspace(0.0, 1.0, 21)


def walking_person(turn=20.0):
    """Return markers of a person whose legs swing, and who walks at an angle [deg] to x."""
    c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    rotation = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    rows = []
    for t in PERSON_TIME:
        row = []
        for name, place in PERSON.items():
            swing = 0.3 * max(0.0, 1.0 - place[1]) * np.sin(2.0 * np.pi * t)
            forward = 1.2 * t + swing * (-1.0 if name.startswith("L") else 1.0)
            row.append(rotation @ (place + forward * np.eye(3)[0]))
        rows.append(row)
    return MeasuredMarkers(tuple(PERSON), PERSON_TIME, np.array(rows), Path("walk.trc"))


def changed(order=(0, 1, 2), signs=(1.0, 1.0, 1.0)):
    found = walking_person()
    positions = found.positions[:, :, list(order)] * np.array(signs)
    return MeasuredMarkers(found.names, PERSON_TIME, positions, found.source)


@pytest.mark.parametrize("turn", [0.0, 20.0, 90.0, 180.0, 250.0])
def test_a_walk_in_any_direction_has_no_fault(turn):
    check_upright(walking_person(turn), PERSON, UP)


def test_markers_of_one_leg_and_gaps_have_no_fault():
    found = walking_person()
    check_upright(found.only([n for n in found.names if n.startswith("R")]), PERSON, UP)
    found.positions[3:9, 2] = np.nan
    found.positions[:, 4] = np.nan
    check_upright(found, PERSON, UP)
    check_upright(found.only(["R_Heel"]), PERSON, UP)


@pytest.mark.parametrize(
    ("markers", "told"),
    [
        (changed(signs=(1.0, -1.0, 1.0)), "found -y upwards; turn the axes"),
        (changed(signs=(1.0, -1.0, -1.0)), "found -y upwards; turn the axes"),
        (changed((0, 2, 1), (1.0, -1.0, 1.0)), "found z upwards; turn the axes so that x is forw"),
        (changed((1, 2, 0)), "found x upwards"),
    ],
)
def test_wrong_markers_are_refused_with_their_cause(markers, told):
    with pytest.raises(InputError, match=rf"walk\.trc: expected markers .*({told})"):
        check_upright(markers, PERSON, UP)


def fit(name, *distances):
    return MarkerFit(name, 1.0, 0.0, max(distances), 0.0, 0, distances)


def test_markers_that_are_far_off_are_named():
    far = [fit("R_Heel", *[0.3] * 21), fit("L_Heel", *[0.25] * 21), fit("R_Toe", *[0.1] * 21)]
    error = str(misfit(walking_person(), tuple(far)))
    assert "found R_Heel 300 mm at 0 s, L_Heel 250 mm at 0 s (2" in error
    assert error.endswith("the weight 0 (inverse_kinematics.weights)")
    assert misfit(walking_person(), (fit("R_Heel", 0.19),)) is None


C3D_NAMES = ("hip", "knee", "toe")


def c3d_walking(count=12):
    """Return markers (F, 3, 3) [m] that move forward, in a laboratory with z up."""
    places = np.array([[0.0, 0.1, 0.9], [0.05, 0.1, 0.5], [0.2, 0.1, 0.01]])
    return places + np.outer(0.02 * np.arange(count), [1.0, 0.0, 0.0])[:, None]


@pytest.mark.parametrize("unit", ["mm", "m"])
@pytest.mark.parametrize("screen", [("+X", "+Z"), ()])
def test_markers_are_metres_with_y_up(tmp_path, unit, screen):
    path = write_c3d(
        tmp_path / "walk.c3d", c3d_walking(), labels=C3D_NAMES, unit=unit, screen=screen, first=74
    )
    found = read_markers(path.rename(tmp_path / "walk.C3D"))
    assert found.names == C3D_NAMES
    assert_allclose(found.positions, c3d_walking() @ Z_UP.T, atol=1e-7)
    assert_allclose(found.time, 0.74 + 0.01 * np.arange(12), atol=1e-9)
    assert marker_notes(found, C3D_NAMES, C3D_NAMES) == ()


@pytest.mark.parametrize("turn", [0.0, 90.0, 180.0, 260.0])
def test_who_walks_far_walks_along_x(tmp_path, turn):
    def turned(by):
        c, s = np.cos(np.radians(by)), np.sin(np.radians(by))
        places = c3d_walking(60) @ [[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]
        places[:40, 2] = np.nan
        return places

    found = read_markers(write_c3d(tmp_path / "walk.c3d", turned(turn))).positions
    assert_allclose(found, turned(turn - 90.0 * round(turn / 90.0)) @ Z_UP.T, atol=1e-6)


def test_points_without_position_or_name_are_missing(tmp_path):
    places, labels = c3d_walking(), ["P7:hip", "P7:knee", "P7:toe"]
    places[3:5, 1] = np.nan
    places[6, 2] = 0.0
    odd = np.full((12, 3, 3), 123.0)
    path = write_c3d(
        tmp_path / "walk.c3d",
        np.concatenate([places, odd], axis=1),
        labels=[*labels, "*0", "", "P7:RKneeAngles"],
        more=[("POINT", "ANGLES", ["P7:RKneeAngles"])],
    )
    found = read_markers(path)
    assert found.names == C3D_NAMES
    assert np.argwhere(found.missing).tolist() == [[3, 1], [4, 1], [6, 2]]
    assert np.isnan(found.positions[6, 2]).all()
    (note,) = marker_notes(found, C3D_NAMES, C3D_NAMES)
    assert "without a position at some or all of 12 instants: knee at 2, toe at 1" in note
    two = write_c3d(tmp_path / "two.c3d", c3d_walking(), labels=["A:hip", "B:hip", "B:toe"])
    assert read_markers(two).names == ("A:hip", "B:hip", "B:toe")


@given(data=st.data())
@reading
def test_a_damaged_file_is_read_or_refused(tmp_path, data):
    path = write_c3d(tmp_path / "whole.c3d", c3d_walking(3), labels=C3D_NAMES)
    content = data.draw(files(path.read_bytes()))
    markers = read_or_refuse(read_markers, tmp_path / "damaged.c3d", content, InputError)
    if markers is not None:
        assert markers.positions.shape == (len(markers.time), len(markers.names), 3)
