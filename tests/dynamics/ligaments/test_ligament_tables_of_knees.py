"""Ligament tables of right and left knees: frames, sides by names, units, place about the bones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics.csv_table import read_csv_table
from dynamics.ligaments.bundle_tables import (
    LENHART_LIGAMENTS,
    far_attachments,
    load_ligaments,
    stated_side,
    unfit_strains,
)
from dynamics.ligaments.bundles import pack
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from foundation.surfaces.mesh import placement

ENDS = ("femoral", "tibial")


@pytest.fixture
def table(tmp_path):
    """Return a function that writes the shipped table with changed cells, row by row."""

    def write(change, names=None):
        shipped = read_csv_table(LENHART_LIGAMENTS)
        lines = [",".join(shipped.names)]
        for _, row in shipped.rows():
            if names is None or row["name"].startswith(names):
                lines.append(",".join(str(cell) for cell in (row | change(row)).values()))
        path = tmp_path / "own.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


def scaled(factors, ends=ENDS):
    """Return a change of the coordinates of the ends by factors of x, y, z."""

    def change(row):
        return {
            f"{end}_{axis}_mm": float(row[f"{end}_{axis}_mm"]) * factor
            for end in ends
            for axis, factor in zip("xyz", factors, strict=True)
        }

    return change


@pytest.mark.parametrize(
    ("side", "names"),
    [
        ("medial", ["MCLd1", "dMCL1", "MCLa2", "supMCL", "r_MCL", "POL1", "TCL", "LCM_1"]),
        ("medial", ["medial collateral", "Innenband", "Lig. collaterale tibiale"]),
        (
            "lateral",
            ["LCL3", "FCL", "PFL2", "ALS1", "ITB", "ALL", "lateral_collateral", "Außenband"],
        ),
        ("lateral", ["Lig. collaterale fibulare", "äußeres Seitenband"]),
        (None, ["ACLpl1", "PCLal2", "ACL anteromedial", "posterolateral bundle", "pCAP3", "one"]),
        (None, ["medial part of the VKB", "lateral meniscofemoral", "collateral", "B12"]),
    ],
)
def test_names_state_sides(side, names):
    assert {name: stated_side(name) for name in names} == dict.fromkeys(names, side)


def test_the_table_of_a_left_knee_is_the_mirror_image_of_that_of_the_right(table):
    left = load_ligaments(table(scaled((1, 1, -1))), side="left")
    for one, other in zip(pack(left), pack(load_ligaments(LENHART_LIGAMENTS)), strict=True):
        assert_array_equal(one, other)


def test_attachments_take_the_way_of_the_meshes_to_the_bones(table):
    axes, origin = ("-z", "y", "x"), np.array([0.01, -0.2, 0.03])
    turn, place = np.array([[0, 0, -1], [0, 1, 0], [1, 0, 0]]), placement(axes, np.zeros(3), origin)

    def of_file(row):
        point = np.array([float(row[f"femoral_{axis}_mm"]) for axis in "xyz"])
        changed = turn.T @ point + 1e3 * origin
        return {f"femoral_{axis}_mm": value for axis, value in zip("xyz", changed, strict=True)}

    found = pack(load_ligaments(table(of_file), femur=place))
    for one, other in zip(found, pack(load_ligaments(LENHART_LIGAMENTS)), strict=True):
        assert_allclose(one, other, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_table_of_the_other_side_is_told(table, side):
    path = table(scaled((1, 1, 1 if side == "left" else -1)))
    message = r"own\.csv: ligament MCLd1: expected on the medial side .* 37 mm .*25 bundles.*mirror"
    with pytest.raises(InputError, match=message):
        load_ligaments(path, side=side)


def test_one_bundle_on_the_wrong_side_is_told(table):
    path = table(lambda row: scaled((1, 1, -1))(row) if row["name"] == "LCL2" else {})
    message = r"ligament LCL2: expected on the lateral side .* 46 mm on the other side; check"
    with pytest.raises(InputError, match=message):
        load_ligaments(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (scaled((1e-3, 1e-3, 1e-3)), r"line 2, column reference_strain: rest length: .* >= 5 mm"),
        (scaled((1e3, 1e3, 1e3)), r"line 2, column reference_strain: rest length: .* <= 500 mm"),
        (
            lambda row: {"reference_strain": 100 * float(row["reference_strain"])},
            r"line 2, column reference_strain: expected >= -0\.5 and <= 0\.5, found 4",
        ),
        (lambda row: {"stiffness_N": 1e9}, r"line 2, column stiffness_N: .* <= 1e\+06"),
    ],
)
def test_other_units_are_told(table, change, message):
    with pytest.raises(InputError, match=r"own\.csv, " + message):
        load_ligaments(table(change))


def boxes(low, high):
    """Return two corners of a box in place of the surfaces of both bones [mm]."""
    return {end: 1e-3 * np.array([low[end], high[end]]) for end in ENDS}


# Those of the cartilage that the table belongs to.
CARTILAGE = boxes(
    {"femoral": (-24, -23, -33), "tibial": (-18, -30, -30)},
    {"femoral": (45, 25, 34), "tibial": (22, -16, 36)},
)


def test_attachments_near_the_bones_are_no_finding():
    assert far_attachments(load_ligaments(LENHART_LIGAMENTS), CARTILAGE) == ""
    assert far_attachments((), CARTILAGE) == ""


@pytest.mark.parametrize(
    ("change", "ends", "told"),
    [
        ((9, 1, 1), ("femoral",), "the femoral attachment of MCLp1 at [-72.5, -7.1, -34.8] mm"),
        ((1, -1, 1), ("tibial",), "the tibial attachment of MCLs4 at [6.5, 74.8, -17.3] mm"),
        ((1, 2, 1), ("tibial",), "the tibial attachment of MCLs4 at [6.5, -149.7, -17.3] mm"),
    ],
)
def test_attachments_far_from_the_bones_are_told(table, change, ends, told):
    names = told.split()[4]
    own = load_ligaments(table(scaled(change, ends), names))
    text = far_attachments(own, CARTILAGE)
    assert f"expected attachments near the bones, found {told}" in text


@pytest.mark.parametrize(("superior", "told"), [(0.0, ""), (0.03, "0.93"), (-0.02, "-0.60")])
def test_bundles_torn_or_slack_along_a_path_are_told(table, superior, told):
    bundles = load_ligaments(table(lambda row: {"reference_strain": 0.0}, "MCLd1"))
    poses = np.array([Pose(superior=superior).array])
    text = unfit_strains(bundles, poses)
    assert bool(text) == bool(told)
    assert f"found {told} in MCLd1" in text or not told
    assert unfit_strains((), poses) == ""
