"""Proposed frames and side of a pair of meshes: placements, mirrored knees, open questions."""

import re

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation
from solids import joined, shell
from some_slow import first_of
from studies import export

from foundation.base.errors import InputError
from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.mesh import load_mesh
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh
from pipeline.cli.main import main
from pipeline.preparation.alignment import frame_keys, propose_alignment
from pipeline.preparation.mesh_keys import axis_of

LENHART = ("jam_lenhart2015_knee/ACLC01-R-{}-cart-coarse.stl", "femur", "tibia")
GRAND_CHALLENGE = (
    "grand_challenge_DM_implant/{} contact.stl",
    "Femoral Component",
    "Tibial Insert",
)
SOLIDS = ("grand_challenge_DM_implant/{} decimated.stl", "Femoral Component", "Tibial Insert")
PAIRS = (LENHART, GRAND_CHALLENGE, SOLIDS)
QUARTER = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def turned(*angles):
    return Rotation.from_euler("xyz", angles, degrees=True).as_matrix()


#: Rotations and shifts [m] of femur and tibia.
PLACEMENTS = {
    "scanner": ((turned(10, -40, 70), (0.3, -0.7, 1.3)),) * 2,
    "swapped axes": ((QUARTER, (0, 0, 0)),) * 2,
    "apart": ((turned(5, 8, -12), (0.05, 0.02, 0.4)), (turned(-8, 14, 9), (-0.2, 0.1, 0.0))),
    "independent": ((turned(100, 30, -60), (0.5, 0, 0.4)), (turned(-60, 44, 170), (-0.2, 0.1, 0))),
}


def pair_of(knee_data, names):
    return {
        body: load_mesh(knee_data / names[0].format(name), check=False)
        for body, name in zip(("femur", "tibia"), names[1:], strict=True)
    }


def placed(mesh, turn, shift):
    return TriangleMesh(mesh.vertices @ turn.T + np.asarray(shift), mesh.faces, mesh.name)


def mirrored(mesh):
    return TriangleMesh(mesh.vertices * [-1.0, 1.0, 1.0], mesh.faces[:, ::-1], mesh.name)


def in_frame(mesh, frame):
    return frame.of(mesh.vertices)


@pytest.mark.parametrize("names", first_of(PAIRS, 2), ids=["cartilage", "implant", "solids"])
@pytest.mark.parametrize("placement", first_of(PLACEMENTS, 2))
def test_knees_do_not_depend_on_their_placement(knee_data, names, placement):
    meshes = pair_of(knee_data, names)
    moved = {
        body: placed(meshes[body], *place)
        for body, place in zip(meshes, PLACEMENTS[placement], strict=True)
    }
    own, other = propose_alignment(meshes), propose_alignment(moved)
    assert (other.side, other.surfaces) == (own.side, own.surfaces) == ("right", own.surfaces)
    for body, mesh in meshes.items():
        np.testing.assert_allclose(
            in_frame(moved[body], other.frames[body]), in_frame(mesh, own.frames[body]), atol=1e-8
        )


@pytest.mark.parametrize("names", first_of(PAIRS, 2), ids=["cartilage", "implant", "solids"])
def test_mirrored_knees_are_left_knees(knee_data, names):
    meshes = pair_of(knee_data, names)
    own = propose_alignment(meshes)
    left = {body: mirrored(mesh) for body, mesh in meshes.items()}
    other = propose_alignment(left)
    assert other.side == "left"
    for body, mesh in meshes.items():
        np.testing.assert_allclose(
            in_frame(left[body], other.frames[body]) * [1.0, 1.0, -1.0],
            in_frame(mesh, own.frames[body]),
            atol=1e-8,
        )


def test_file_names_against_a_certain_shape_ask(knee_data):
    meshes = pair_of(knee_data, LENHART)
    with pytest.raises(InputError, match=r"names say left, .* add --side right or --side left"):
        propose_alignment(meshes, named_side="left")
    assert propose_alignment(meshes, named_side="left", side_stated=True).side == "left"


def test_a_body_that_is_mirrored_alone_is_asked_about(knee_data):
    """Shape and axes of nearly parallel files contradict each other; in one scan, places decide."""
    cartilage = pair_of(knee_data, LENHART)
    other = TriangleMesh(
        cartilage["tibia"].vertices * [1.0, 1.0, -1.0], cartilage["tibia"].faces[:, ::-1], "other"
    )
    scan, apart = (placed(other, turned(8, 20, 0), x) for x in ((0.0, 0.0, 0.0), (0.05, -0.04, 0)))
    with pytest.raises(InputError, match="--tibia-anterior"):
        propose_alignment(cartilage | {"tibia": apart})
    frame = propose_alignment(cartilage | {"tibia": scan}).frames["tibia"]
    assert frame.evidence["anterior"] == ("sure", "both files are of one scan")
    assert frame.rotation[0] @ turned(8, 20, 0)[:, 0] > 0.9


def test_symmetric_implants_take_the_direction_of_each_other():
    meshes = dict(zip(("femur", "tibia"), CondylarImplant().tessellate(1e-3)[:2], strict=True))
    alignment = propose_alignment(meshes)
    assert alignment.side is None
    assert "parallel to the femur" in alignment.frames["tibia"].evidence["anterior"].reason
    meshes["tibia"] = placed(meshes["tibia"], turned(0, 70, 0), (0, 0, 0))
    with pytest.raises(InputError, match="--tibia-anterior"):
        propose_alignment(meshes)


@pytest.mark.parametrize("seed", first_of(range(5)))
def test_keys_make_the_frame(tmp_path, shapes, seed):
    """A mesh loaded with the keys is in the proposed frame."""
    rng = np.random.default_rng(seed)
    turn, shift = Rotation.random(random_state=rng).as_matrix(), rng.uniform(-1.0, 1.0, 3)
    mesh = placed(shapes["tibia"], turn, shift)
    frame = propose_alignment(
        {"femur": placed(shapes["femur"], turn, shift), "tibia": mesh},
        {"femur": turn[:, 0], "tibia": turn[:, 0]},
    ).frames["tibia"]
    keys = frame_keys(frame)
    file = export(mesh, tmp_path / "tibia.ply")
    loaded = load_mesh(
        file,
        axes=keys["axes"],
        rotation=np.radians(keys["rotation_deg"]),
        origin=1e-3 * np.array(keys["origin_mm"]),
    )
    # The keys have four decimals, the file single precision.
    np.testing.assert_allclose(loaded.vertices, frame.of(mesh.vertices), atol=5e-7)


def with_shaft(femur, turn):
    """A femur [m] and the tube of a shaft, 100 mm long, up the second axis of a turn."""
    tube = trimesh.creation.cylinder(radius=14e-3, height=0.1, sections=40)
    tube = tube.subdivide().subdivide().subdivide()
    points = (tube.vertices + np.array([0.0, 0.0, 0.09])) @ QUARTER @ turn.T
    return joined(femur, TriangleMesh(points, np.asarray(tube.faces)))


@pytest.mark.parametrize("flexed", [-12.0, 0.0, 9.0])
def test_the_shaft_of_a_bone_tells_the_zero_of_flexion(shapes, flexed):
    """The axis to the head is 2 deg behind the shaft, however the shaft leans to the side."""
    forward = {body: np.array([1.0, 0.0, 0.0]) for body in shapes}
    without = propose_alignment(shapes, forward).frames["femur"]
    frame = without.rotation.T
    bone = with_shaft(shapes["femur"], frame @ turned(5, 0, flexed))
    found = propose_alignment(shapes, forward, bone=bone).frames["femur"]
    turn = Rotation.from_matrix(without.rotation @ found.rotation.T).as_rotvec(degrees=True)
    np.testing.assert_allclose(turn, [0.0, 0.0, flexed + 2.0], atol=0.2)
    np.testing.assert_array_equal(found.origin, without.origin)
    assert "direction of the shaft, within 5 deg" in found.evidence["zero of flexion"].reason


def test_the_zero_of_cartilage_shells_is_that_of_natural_knees(knee_data):
    sheets = pair_of(knee_data, LENHART)
    shells = {body: shell(mesh, 2e-3) for body, mesh in sheets.items()}
    own, found = (propose_alignment(each).frames["femur"] for each in (sheets, shells))
    turn = Rotation.from_matrix(own.rotation @ found.rotation.T).as_rotvec(degrees=True)
    np.testing.assert_allclose(turn, [0.0, 0.0, 15.0], atol=0.5)
    assert "within 22 deg" in own.evidence["zero of flexion"].reason
    assert "within 8 deg" in found.evidence["zero of flexion"].reason


# ---- the commands --------------------------------------------------------------------------------


def test_a_question_names_its_answers(tmp_path, monkeypatch, capsys):
    """A symmetric insert that is turned about its axis: either end may be anterior."""
    monkeypatch.chdir(tmp_path)
    meshes = dict(zip(("femur", "tibia"), CondylarImplant().tessellate(2e-3)[:2], strict=True))
    meshes["tibia"] = placed(meshes["tibia"], turned(0, 70, 0), (0, 0, 0))
    for body, mesh in meshes.items():
        export(mesh, tmp_path / f"{body}.stl")
    assert main(["init", "--material", "polyethylene"]) == 2
    told = capsys.readouterr().err
    answers = re.findall(r"--tibia-anterior=(-?[xyz])", told)
    assert sorted(answers) == ["-z", "z"]
    forward = [
        propose_alignment(meshes, {"tibia": axis_of(answer)}).frames["tibia"].rotation[0]
        for answer in answers
    ]
    np.testing.assert_allclose(forward[0], -forward[1], atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--unit", "m"], ["in m, bounding box diagonal", "use --femur-unit mm"]),
        (["--slope-deg", "200"], ["--slope-deg: expected -20 to 30, found 200"]),
        (["--tibia-anterior", "y"], ["--tibia-anterior is 90 deg off the anterior axis"]),
        (["--axes", "x,y,z", "--slope-deg", "5"], ["--slope-deg has no effect with --axes"]),
    ],
)
def test_answers_that_cannot_be(tmp_path, monkeypatch, shapes, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    for body, mesh in shapes.items():
        export(mesh, tmp_path / f"{body}.stl", scale=1e3)
    assert main(["init", "--material", "polyethylene", *arguments]) == 2
    told = capsys.readouterr().err
    for word in words:
        assert word in told
    assert not (tmp_path / "mine.toml").exists()


@pytest.mark.parametrize(
    ("shift", "words"), [(0.05, r"lies 4\d mm from .*--femur-bone"), (0.0, "no shaft is seen")]
)
def test_bones_that_tell_no_zero_are_refused(shapes, shift, words):
    femur = shapes["femur"]
    bone = TriangleMesh(femur.vertices + np.array([0.0, shift, 0.0]), femur.faces, "bone")
    with pytest.raises(MeshError, match=words):
        propose_alignment(shapes, {body: np.array([1.0, 0.0, 0.0]) for body in shapes}, bone=bone)
