"""Ligaments of OpenSim models in the frames of mesh files, in the model again, and wrapped."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.ligaments.bundle_tables import (
    LENHART_LIGAMENTS,
    ligament_rows,
    ligaments_of,
    load_ligaments,
)
from dynamics.musculoskeletal.osim_ligaments import OsimLigaments, WrapSurface
from dynamics.musculoskeletal.osim_model import OsimModel
from foundation.base.errors import InputError
from tests.dynamics.musculoskeletal.osim_texts import MODEL, ligament

TURN = "0 0 1.5707963267948966"
TIBIA, FEMUR = ("/bodyset/tibia", (0.0, 0.1, 0.6)), ("/jointset/knee/femur_offset", (1e-3, 0, 0))
WRAP = (
    "<PathWrapSet><objects><PathWrap><wrap_object>ball</wrap_object></PathWrap></objects>"
    "</PathWrapSet>"
)
BALL = (
    '<Body name="femur"><WrapObjectSet><objects><WrapEllipsoid name="ball"><xyz_body_rotation>'
    f"{TURN}</xyz_body_rotation><translation>0.1 0.05 0</translation><dimensions>0.01 0.02 0.03"
    "</dimensions></WrapEllipsoid></objects></WrapObjectSet></Body>"
)


def written(folder, *ligaments, more=(), scale="1 1 1"):
    """Write the model of a knee with ligaments, whose femoral mesh is displaced and turned."""
    text = MODEL.replace("<scale_factors>1 2 3", f"<scale_factors>{scale}").replace(
        "<mesh_file>target.stl",
        f"<location>0.1 0 0</location><orientation>{TURN}</orientation><mesh_file>target.stl",
    )
    end = "</objects></ForceSet>"
    for old, new in ((end, "".join(ligaments) + end), *more):
        text = text.replace(old, new)
    path = folder / "knee.osim"
    path.write_text(text)
    return OsimLigaments(path, ["meshes/target.stl"], ["bed.stl"])


def test_points_are_those_of_the_mesh_files_and_return_to_their_frames(tmp_path):
    beside = ligament("short", (FEMUR, FEMUR), 0.02, 1.0)
    model = written(tmp_path, ligament("ACL1", (TIBIA, FEMUR), 0.03, 700.0), beside)
    (found,) = ligaments_of(model.table())
    assert_allclose(found.femoral, [0.021, 0.09, 0.03], rtol=0.0, atol=1e-15)
    assert_allclose(found.tibial, [0.0, 0.1, 0.1], rtol=0.0, atol=1e-15)
    assert (found.rest_length, found.stiffness, found.kind) == (0.03, 700.0, "toe")
    (row,) = ligament_rows([found])
    row |= {"femoral_x_mm": 22.0, "rest_length_mm": 33.0, "stiffness_N": 900.0}
    model.write([row], tmp_path / "new.osim")
    again = OsimLigaments(tmp_path / "new.osim", ["target.stl"], ["bed.stl"])
    assert_allclose([again.table().column(name)[0] for name in row if name not in ("name", "kind")],
                    list(row.values())[2:], rtol=1e-14)  # fmt: skip
    first, second = OsimModel(tmp_path / "new.osim").forces("Blankevoort1991Ligament")
    places = [point.text for point in first.element.iter("location")]
    assert_allclose(np.array(places[1].split(), float), [2e-3, 0.0, 0.0], rtol=0.0, atol=1e-15)
    assert second.number("slack_length", 0.0) == 0.02


def test_lines_through_an_ellipsoid_are_those_nearer_than_its_radius(tmp_path):
    model = written(tmp_path, ligament("ACL1", (FEMUR, TIBIA), 0.03, 700.0, WRAP),
                    more=[('<Body name="femur"/>', BALL)])  # fmt: skip
    (ball,) = model.wraps
    assert (ball.bundle, ball.bone) == ("ACL1", 0)
    # Its axes are those of the mesh, in which the middle is at (0.05, 0, 0).
    middle, along = np.array([0.05, 0.0, 0.0]), np.array([0.0, 0.0, 0.1])
    for axis, radius in ((0, 0.01), (1, 0.02)):
        for part in (-1.01, -0.99, 0.99, 1.01):
            at = middle + part * radius * np.eye(3)[axis]
            assert ball.crossed(at - along, at + along) == (abs(part) < 1.0)
    assert not ball.crossed(middle + along, middle + 0.31 * along)
    assert ball.crossed(middle + along, middle + 0.29 * along)
    cylinder = WrapSurface("", 0, ball.placement, ball.inverse * [1.0, 1.0, 0.0])
    assert cylinder.crossed(middle + along, middle + 2.0 * along)


@pytest.mark.parametrize(
    ("ligaments", "scale", "words"),
    [
        ([], "1 1 1", "expected a Blankevoort1991Ligament of two points between femur and tibia"),
        ([], "1 2 1", "contact mesh of the femur, without scale factors, found target of target"),
    ],
)
def test_models_without_bundles_or_with_scaled_meshes_are_refused(
    tmp_path, ligaments, scale, words
):
    with pytest.raises(InputError, match=words):
        written(tmp_path, *ligaments, scale=scale).table()


def test_bundles_of_lenhart_have_the_shipped_strains_also_where_they_wrap(jam_folder):
    """The table has strains of two digits: 0.11 % of the length of the capsule."""
    pytest.importorskip("opensim")
    model = OsimLigaments(jam_folder / "models/lenhart2015/lenhart2015.osim", (), ())
    shipped = {each.name: each for each in load_ligaments(LENHART_LIGAMENTS)}
    found = ligaments_of(model.table())
    assert {each.name for each in found} == shipped.keys()
    for each in found:
        assert_allclose(each.rest_length, shipped[each.name].rest_length, rtol=1.2e-3)
        assert_allclose(each.femoral, shipped[each.name].femoral, rtol=0.0, atol=1e-7)
    ends = {each.name: (each.femoral, each.tibial) for each in found}
    crossed = [wrap.bundle for wrap in model.wraps if wrap.crossed(*ends[wrap.bundle])]
    assert (len(model.wraps), len(crossed)) == (24, 17)
