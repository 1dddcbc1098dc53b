"""Frame of a femur: known condyles, any position, real knees, and shapes that are no femur."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation
from some_slow import first_of

from foundation.anatomy.femoral_frame import femoral_frame, strip_offset, trochlear_lead
from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.mesh import load_mesh
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh

GRAND_CHALLENGE = "grand_challenge_DM_implant/Femoral Component {}.stl"
LENHART = "jam_lenhart2015_knee/ACLC01-R-femur-cart{}"


@pytest.fixture(scope="module")
def femur() -> TriangleMesh:
    """Return condyles with posterior radius 22 mm about the origin, and a larger distal radius."""
    return CondylarImplant().tessellate(1e-3)[0]


def moved(mesh: TriangleMesh, turn: np.ndarray, shift: np.ndarray) -> TriangleMesh:
    return TriangleMesh(mesh.vertices @ turn.T + shift, mesh.faces, mesh.name)


def test_axis_of_known_condyles(femur):
    frame = femoral_frame(femur)
    np.testing.assert_allclose(frame.origin, 0.0, atol=2e-6)
    angles = Rotation.from_matrix(frame.rotation).as_rotvec()
    np.testing.assert_allclose(angles[:2], 0.0, atol=1e-9)
    assert abs(angles[2]) < np.radians(1.0)
    assert "22.0 and 22.0 mm" in frame.evidence["flexion axis"].reason


@pytest.mark.parametrize("seed", first_of(range(6)))
def test_frame_goes_with_the_mesh(femur, seed):
    rng = np.random.default_rng(seed)
    turn = Rotation.random(random_state=rng).as_matrix()
    shift = rng.uniform(-1.3, 1.3, 3)
    own, other = femoral_frame(femur), femoral_frame(moved(femur, turn, shift))
    np.testing.assert_allclose(other.rotation @ turn, own.rotation, atol=1e-9)
    np.testing.assert_allclose(other.origin, turn @ own.origin + shift, atol=1e-9)
    assert other.of(moved(femur, turn, shift).vertices) == pytest.approx(
        own.of(femur.vertices), abs=1e-9
    )


@pytest.mark.slow
def test_one_radius_leaves_the_anterior_side_open():
    femur = CondylarImplant.single_radius(25e-3).tessellate(1e-3)[0]
    found = femoral_frame(femur).evidence
    assert found["anterior"].certainty == found["zero of flexion"].certainty == "unknown"
    frame = femoral_frame(femur, np.array([0.9, 0.1, 0.0]))
    assert frame.evidence["anterior"].certainty == "sure"
    along = np.array([0.9, 0.1, 0.0])
    np.testing.assert_allclose(frame.rotation[0], along / np.linalg.norm(along), atol=1e-9)
    with pytest.raises(MeshError, match="no two posterior condyles"):
        femoral_frame(femur, np.array([-1.0, 0.0, 0.0]))


@pytest.mark.parametrize(
    ("file", "axes"),
    [
        (GRAND_CHALLENGE.format("contact"), ("-x", "y", "-z")),
        (GRAND_CHALLENGE.format("decimated"), ("-x", "y", "-z")),
        (LENHART.format(".obj"), ("x", "y", "z")),
        (LENHART.format("-coarse.stl"), ("x", "y", "z")),
    ],
)
def test_real_femurs_have_the_axes_of_their_body(knee_data, file, axes):
    """The files state anatomical axes: the flexion axis is within 3 deg, its zero within 5 deg."""
    mesh = load_mesh(knee_data / file, axes=axes, check=False)
    frame = femoral_frame(mesh)
    turn = np.degrees(Rotation.from_matrix(frame.rotation).as_euler("xyz"))
    assert np.abs(turn[:2]).max() < 3.0
    assert abs(turn[2]) < 5.0
    assert {found.certainty for found in frame.evidence.values()} == {"sure", "likely"}
    inverted = TriangleMesh(mesh.vertices, mesh.faces[:, ::-1])
    with pytest.raises(MeshError, match=r"normals of the femur point inwards.*flip the normals"):
        femoral_frame(inverted)


def test_open_surface_and_solid_have_one_axis(knee_data):
    frames = [
        femoral_frame(load_mesh(knee_data / GRAND_CHALLENGE.format(kind), check=False))
        for kind in ("contact", "decimated")
    ]
    assert frames[0].rotation[2] == pytest.approx(frames[1].rotation[2], abs=1e-4)
    assert frames[0].origin == pytest.approx(frames[1].origin, abs=1e-3)


@pytest.mark.parametrize(
    ("file", "axes"),
    [
        (GRAND_CHALLENGE.format("contact"), ("-x", "y", "-z")),
        (GRAND_CHALLENGE.format("decimated"), ("-x", "y", "-z")),
        (LENHART.format("-coarse.stl"), ("x", "y", "z")),
    ],
)
def test_lateral_part_of_the_trochlea_is_the_larger_one(knee_data, file, axes):
    mesh = load_mesh(knee_data / file, axes=axes, check=False)
    assert trochlear_lead(mesh, femoral_frame(mesh)) > 0.25
    left = mesh.mirrored()
    assert trochlear_lead(left, femoral_frame(left)) < -0.25


def test_symmetric_trochlea_tells_no_side(femur):
    assert abs(trochlear_lead(femur, femoral_frame(femur))) < 0.02


def test_strip_of_the_trochlea_goes_with_the_axes(knee_data):
    mesh = load_mesh(knee_data / LENHART.format("-coarse.stl"), check=False)
    assert strip_offset(mesh, np.eye(3)) == pytest.approx(-strip_offset(mesh, -np.eye(3)))


def test_origin_is_midway_between_condyles_of_unequal_radius(femur):
    """A larger lateral condyle must not draw the origin to one side."""
    vertices = np.array(femur.vertices)
    lateral = vertices[:, 2] > 0.0
    vertices[lateral, :2] *= 1.12
    frame = femoral_frame(TriangleMesh(vertices, femur.faces, "unequal"))
    assert abs(frame.origin[2]) < 1.5e-3


def scaled(mesh: trimesh.Trimesh, size: float) -> TriangleMesh:
    return TriangleMesh(size * mesh.vertices, mesh.faces, "thing")


@pytest.mark.parametrize(
    ("mesh", "words"),
    [
        (scaled(trimesh.creation.icosphere(3), 30e-3), "bends equally in all directions"),
        (scaled(trimesh.creation.box((1, 1, 1)).subdivide(), 60e-3), "bends equally"),
        (scaled(trimesh.creation.cylinder(1, 9, sections=64), 6e-3), "no two"),
    ],
)
def test_other_things_are_no_femur(mesh, words):
    with pytest.raises(MeshError, match=words):
        femoral_frame(mesh)
