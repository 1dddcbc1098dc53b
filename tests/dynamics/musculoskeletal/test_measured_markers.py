"""Measured markers: gaps, zeros, units, and distances from the markers of a model."""

import re

import numpy as np
import pytest

from dynamics.motion.motion_tables import MotionTable
from dynamics.musculoskeletal.measured_markers import (
    fit_notes,
    marker_fits,
    marker_notes,
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


@pytest.mark.parametrize(
    ("unit", "scale", "likely"),
    [("m", 1e3, "millimetres"), ("mm", 1.0, "metres"), ("m", 100.0, "centimetres")],
)
def test_a_wrong_unit_is_refused(tmp_path, unit, scale, likely):
    path = write(tmp_path / "walk.trc", walking(), unit=unit, scale=scale)
    with pytest.raises(InputError, match=rf"with the unit {unit} .* look like {likely}, stated"):
        read_markers(path)


def test_markers_at_one_place_are_refused(tmp_path):
    path = write(tmp_path / "walk.trc", np.ones_like(walking()))
    with pytest.raises(InputError, match=r"found 0 m with the unit mm.*check the columns"):
        read_markers(path)


def gone(positions):
    positions[:, 1] = 0.0


def hidden(positions):
    positions[:, 1] = np.nan


def gap(positions):
    positions[2:4, 1] = np.nan


def zeros(positions):
    positions[2, 1] = -0.0


def still(positions):
    positions[:, 1] = positions[0, 1]


@pytest.mark.parametrize("empty", ["nan", "", "-nan(ind)", "1.#QNAN"])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (gone, "walk.trc: knee: stored as 0, 0, 0 throughout"),
        (hidden, "walk.trc: knee: without a position throughout"),
        (gap, "markers without a position at some of 6 instants: knee at 2;"),
        (zeros, "without a position or stored as 0, 0, 0 at some of 6 instants: knee at 1;"),
        (still, "walk.trc: knee: at the same place throughout while the other markers move"),
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
