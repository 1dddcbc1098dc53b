"""Frames of femurs and tibias: known shapes, any position, real knees, and shapes that are none."""

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation
from solids import closed_insert

from foundation.anatomy.bearing_search import find_tibial_bearing
from foundation.anatomy.femoral_frame import femoral_frame, trochlear_lead
from foundation.anatomy.tibial_frame import shape_of, sloped, tibial_frame
from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.mesh import load_mesh
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh

GRAND_CHALLENGE = "grand_challenge_DM_implant/Femoral Component {}.stl"
LENHART = "jam_lenhart2015_knee/ACLC01-R-femur-cart{}"


@pytest.fixture(scope="module")
def femur():
    """Return condyles with posterior radius 22 mm about the origin, and a larger distal radius."""
    return CondylarImplant().tessellate(1e-3)[0]


def moved(mesh, turn, shift):
    return TriangleMesh(mesh.vertices @ turn.T + shift, mesh.faces, mesh.name)


def test_axis_of_known_condyles(femur):
    frame = femoral_frame(femur)
    np.testing.assert_allclose(frame.origin, 0.0, atol=2e-6)
    angles = Rotation.from_matrix(frame.rotation).as_rotvec()
    np.testing.assert_allclose(angles[:2], 0.0, atol=1e-9)
    assert abs(angles[2]) < np.radians(1.0)
    assert "22.0 and 22.0 mm" in frame.evidence["flexion axis"].reason


@pytest.mark.parametrize("seed", range(2))
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


def test_origin_is_midway_between_condyles_of_unequal_radius(femur):
    """A larger lateral condyle must not draw the origin to one side."""
    vertices = np.array(femur.vertices)
    lateral = vertices[:, 2] > 0.0
    vertices[lateral, :2] *= 1.12
    frame = femoral_frame(TriangleMesh(vertices, femur.faces, "unequal"))
    assert abs(frame.origin[2]) < 1.5e-3


def scaled(mesh, size):
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


# ---- tibias --------------------------------------------------------------------------------------

INSERT = "grand_challenge_DM_implant/Tibial Insert {}.stl"
TIBIA = "jam_lenhart2015_knee/ACLC01-R-tibia-cart{}"
FORWARD = np.array([1.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def tibia():
    return CondylarImplant().tessellate(1e-3)[1]


def test_frame_of_a_symmetric_insert(tibia):
    frame = tibial_frame(tibia, FORWARD)
    np.testing.assert_allclose(frame.rotation, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(frame.origin[[0, 2]], 0.0, atol=1e-9)
    assert frame.evidence["anterior"].certainty == "sure"
    assert tibial_frame(tibia).evidence["anterior"].certainty == "unknown"


@pytest.mark.parametrize("seed", range(2))
def test_frame_of_a_tibia_goes_with_the_mesh(tibia, seed):
    rng = np.random.default_rng(seed)
    turn, shift = Rotation.random(random_state=rng).as_matrix(), rng.uniform(-1.3, 1.3, 3)
    mesh = TriangleMesh(tibia.vertices @ turn.T + shift, tibia.faces)
    own, other = tibial_frame(tibia, FORWARD), tibial_frame(mesh, turn @ FORWARD)
    np.testing.assert_allclose(other.rotation @ turn, own.rotation, atol=1e-9)
    np.testing.assert_allclose(other.origin, turn @ own.origin + shift, atol=1e-9)


def test_slope_lowers_the_posterior_rim(tibia):
    level, sloping = (tibial_frame(tibia, FORWARD, slope) for slope in (0.0, np.radians(7.0)))
    np.testing.assert_allclose(sloping.rotation, sloped(level.rotation, np.radians(7.0)))
    own = sloping.of(tibia.vertices)
    fall = np.polyfit(own[:, 0], own[:, 1], 1)[0]
    assert np.degrees(np.arctan(fall)) == pytest.approx(7.0, abs=0.5)


@pytest.mark.parametrize(
    ("file", "axes", "slope", "within"),
    [
        (INSERT.format("contact"), ("-x", "y", "-z"), 0.0, 1.7),
        (INSERT.format("decimated"), ("-x", "y", "-z"), 0.0, 0.5),
        (TIBIA.format(".obj"), ("x", "y", "z"), 7.7, 6.0),
    ],
)
def test_real_tibias_have_the_axes_of_their_body(knee_data, file, axes, slope, within):
    mesh = find_tibial_bearing(load_mesh(knee_data / file, axes=axes, check=False)).mesh
    anterior = FORWARD if "cart" in file else None
    frame = tibial_frame(mesh, anterior, np.radians(slope))
    turn = Rotation.from_matrix(frame.rotation)
    assert np.degrees(turn.magnitude()) < within
    assert frame.evidence["anterior"].certainty == "sure"
    assert shape_of(mesh, frame.rotation).medial_left > (0.4 if "cart" in file else 0.04)


@pytest.mark.parametrize("file", [INSERT.format("contact"), TIBIA.format(".obj")])
def test_inverted_normals_are_found(knee_data, file):
    mesh = load_mesh(knee_data / file, check=False)
    with pytest.raises(MeshError, match=r"below its plateaus.*normals are inverted: flip"):
        tibial_frame(TriangleMesh(mesh.vertices, mesh.faces[:, ::-1]))


# ---- closed inserts ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_bearing_surface_of_a_closed_insert(seed):
    solid, top = closed_insert()
    turn = Rotation.random(random_state=seed).as_matrix()
    bearing = find_tibial_bearing(TriangleMesh(solid.vertices @ turn.T, solid.faces)).mesh
    assert len(bearing.faces) == top
    up = turn @ [0.0, 1.0, 0.0]
    assert (bearing.normals @ up).min() > 0.3
