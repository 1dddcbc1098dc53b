"""Frame of a tibia: known plateaus, any position, real knees, closed inserts, and other shapes."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation
from solids import closed_insert

from foundation.anatomy.bearing_search import OPEN, find_tibial_bearing
from foundation.anatomy.tibial_frame import shape_of, sloped, tibial_frame
from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.mesh import load_mesh
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh

GRAND_CHALLENGE = "grand_challenge_DM_implant/Tibial Insert {}.stl"
LENHART = "jam_lenhart2015_knee/ACLC01-R-tibia-cart{}"
FORWARD = np.array([1.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def tibia() -> TriangleMesh:
    return CondylarImplant().tessellate(1e-3)[1]


def test_frame_of_a_symmetric_insert(tibia):
    frame = tibial_frame(tibia, FORWARD)
    np.testing.assert_allclose(frame.rotation, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(frame.origin[[0, 2]], 0.0, atol=1e-9)
    assert frame.evidence["anterior"].certainty == "sure"
    assert tibial_frame(tibia).evidence["anterior"].certainty == "unknown"


@pytest.mark.parametrize("seed", range(6))
def test_frame_goes_with_the_mesh(tibia, seed):
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
        (GRAND_CHALLENGE.format("contact"), ("-x", "y", "-z"), 0.0, 1.7),
        (GRAND_CHALLENGE.format("decimated"), ("-x", "y", "-z"), 0.0, 0.5),
        (LENHART.format(".obj"), ("x", "y", "z"), 7.7, 6.0),
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


@pytest.mark.parametrize("file", [GRAND_CHALLENGE.format("contact"), LENHART.format(".obj")])
def test_inverted_normals_are_found(knee_data, file):
    mesh = load_mesh(knee_data / file, check=False)
    with pytest.raises(MeshError, match=r"below its plateaus.*normals are inverted: flip"):
        tibial_frame(TriangleMesh(mesh.vertices, mesh.faces[:, ::-1]))


def test_two_plateaus_have_no_notch(knee_data):
    """The gap between separate plateaus is open on both sides."""
    mesh = load_mesh(knee_data / LENHART.format(".obj"), check=False)
    assert shape_of(mesh, np.eye(3)).notch == 0.0
    assert tibial_frame(mesh).evidence["anterior"].certainty == "unknown"


# ---- closed inserts ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_bearing_surface_of_a_closed_insert(seed):
    solid, top = closed_insert()
    turn = Rotation.random(random_state=seed).as_matrix()
    bearing = find_tibial_bearing(TriangleMesh(solid.vertices @ turn.T, solid.faces)).mesh
    assert len(bearing.faces) == top
    up = turn @ [0.0, 1.0, 0.0]
    assert (bearing.normals @ up).min() > 0.3


def test_open_surfaces_stay_as_they_are(tibia):
    found = find_tibial_bearing(tibia)
    assert (found.mesh, found.kind) == (tibia, OPEN)


def box(*sides: float) -> TriangleMesh:
    body = trimesh.creation.box(sides).subdivide().subdivide()
    return TriangleMesh(body.vertices, body.faces, "box")


@pytest.mark.parametrize("height", [12e-3, 60e-3])
def test_closed_solids_that_are_no_tibia(height):
    with pytest.raises(MeshError, match="no side of this body is a plateau"):
        find_tibial_bearing(box(50e-3, height, 75e-3))


def test_one_plateau_is_no_tibia(tibia):
    one = tibia.centroids[:, 2] < 0.0
    with pytest.raises(MeshError, match="no two plateaus beside each other"):
        tibial_frame(TriangleMesh(tibia.vertices, tibia.faces[one]))
