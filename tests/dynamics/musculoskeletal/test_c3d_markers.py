"""Markers of C3D files: units, axes, names, gaps, and files that are cut off or damaged."""

import sys

import numpy as np
import pytest
from c3d_files import Z_UP, write_c3d
from damage import files, read_or_refuse, reading
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dynamics import load_gait_cycle
from dynamics.motion.c3d import read_ground
from dynamics.motion.motion_tables import read_motion_table
from dynamics.musculoskeletal.external_loads import read_external_loads
from dynamics.musculoskeletal.measured_markers import marker_notes, read_markers
from foundation.base.errors import InputError
from foundation.surfaces import load_mesh

pytest.importorskip("ezc3d", reason="C3D files need ezc3d (the c3d extra)")

NAMES = ("hip", "knee", "toe")


def walking(count=12):
    """Return markers (F, 3, 3) [m] that move forward, in a laboratory with z up."""
    places = np.array([[0.0, 0.1, 0.9], [0.05, 0.1, 0.5], [0.2, 0.1, 0.01]])
    return places + np.outer(0.02 * np.arange(count), [1.0, 0.0, 0.0])[:, None]


@pytest.mark.parametrize("unit", ["mm", "m"])
@pytest.mark.parametrize("screen", [("+X", "+Z"), ()])
def test_markers_are_metres_with_y_up(tmp_path, unit, screen):
    path = write_c3d(
        tmp_path / "walk.c3d", walking(), labels=NAMES, unit=unit, screen=screen, first=74
    )
    found = read_markers(path.rename(tmp_path / "walk.C3D"))
    assert found.names == NAMES
    assert_allclose(found.positions, walking() @ Z_UP.T, atol=1e-7)
    assert_allclose(found.time, 0.74 + 0.01 * np.arange(12), atol=1e-9)
    assert marker_notes(found, NAMES, NAMES) == ()


@pytest.mark.parametrize("turn", [0.0, 90.0, 180.0, 260.0])
def test_who_walks_far_walks_along_x(tmp_path, turn):
    def turned(by):
        c, s = np.cos(np.radians(by)), np.sin(np.radians(by))
        places = walking(60) @ [[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]
        places[:40, 2] = np.nan
        return places

    found = read_markers(write_c3d(tmp_path / "walk.c3d", turned(turn))).positions
    assert_allclose(found, turned(turn - 90.0 * round(turn / 90.0)) @ Z_UP.T, atol=1e-6)


def test_points_without_position_or_name_are_missing(tmp_path):
    places, labels = walking(), ["P7:hip", "P7:knee", "P7:toe"]
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
    assert found.names == NAMES
    assert np.argwhere(found.missing).tolist() == [[3, 1], [4, 1], [6, 2]]
    assert np.argwhere(found.at_origin).tolist() == [[6, 2]]
    (note,) = marker_notes(found, NAMES, NAMES)
    assert "stored as 0, 0, 0 at some of 12 instants: knee at 2, toe at 1" in note
    two = write_c3d(tmp_path / "two.c3d", walking(), labels=["A:hip", "B:hip", "B:toe"])
    assert read_markers(two).names == ("A:hip", "B:hip", "B:toe")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"labels": ["hip", "hip", "toe"]}, "POINT:LABELS: expected each marker once, found hip"),
        ({"labels": ["*1", "*2", ""]}, "POINT:LABELS: expected each marker once, found no marker"),
        ({"more": [("POINT", "UNITS", ["foot"])]}, "POINT:UNITS: expected one of mm, cm, m, inch"),
        (
            {"more": [("POINT", "UNITS", ["m"])]},
            "look like millimetres, stated as metres: ",
        ),
    ],
)
def test_markers_that_are_not_described_are_named(tmp_path, change, told):
    path = write_c3d(tmp_path / "walk.c3d", walking(), **({"labels": NAMES} | change))
    with pytest.raises(InputError, match=told) as error:
        read_markers(path)
    assert str(path) in str(error.value)


@given(data=st.data())
@reading
def test_a_damaged_file_is_read_or_refused(tmp_path, data):
    path = write_c3d(tmp_path / "whole.c3d", walking(3), labels=NAMES)
    content = data.draw(files(path.read_bytes()))
    markers = read_or_refuse(read_markers, tmp_path / "damaged.c3d", content, InputError)
    if markers is not None:
        assert markers.positions.shape == (len(markers.time), len(markers.names), 3)


def test_a_c3d_file_is_no_other_file(tmp_path):
    path = write_c3d(tmp_path / "walk.c3d", walking(), labels=NAMES)
    table = r"walk\.c3d: expected a table as text, found a C3D file, which has markers and force pl"
    with pytest.raises(InputError, match=table):
        read_motion_table(path)
    with pytest.raises(InputError, match=table):
        load_gait_cycle(path, 1.0)
    with pytest.raises(InputError, match=r"expected force plates, found none .* a table of forces"):
        read_ground(path)
    with pytest.raises(InputError, match=r"expected ExternalLoads \(.xml\), found a C3D file"):
        read_external_loads(path)
    with pytest.raises(InputError, match=r"a C3D file has markers and forces, and no mesh"):
        load_mesh(path)


def test_without_ezc3d_a_sentence_names_the_extra(tmp_path, monkeypatch):
    path = write_c3d(tmp_path / "walk.c3d", walking(), labels=NAMES)
    monkeypatch.setitem(sys.modules, "ezc3d", None)
    told = r'walk\.c3d: C3D files need ezc3d, .* pip install "knee-contact\[c3d\]"; or export'
    with pytest.raises(InputError, match=told):
        read_markers(path)
