"""Bearing surfaces of sheets, shells, closed solids and whole bones in any position."""

import numpy as np
import pytest
from scipy.spatial import KDTree
from shapes import plate
from solids import (
    bone,
    closed_insert,
    joined,
    rounded_disc,
    shell,
    stray_pieces,
    taken,
    turned,
    whole_femur,
)

from foundation import CondylarImplant
from foundation.anatomy.bearing_search import (
    BONE,
    OPEN,
    SHELL,
    find_femoral_bearing,
    find_tibial_bearing,
)
from foundation.anatomy.bearing_surface import femoral_bearing, tibial_bearing
from foundation.anatomy.femoral_frame import femoral_frame
from foundation.anatomy.walls import on_columns, without_risers
from foundation.surfaces.mesh import load_mesh
from foundation.surfaces.surface_shape import is_closed, selected
from foundation.surfaces.triangle_mesh import TriangleMesh

CARTILAGE = "jam_lenhart2015_knee/ACLC01-R-{}-cart.obj"


def plateau():
    solid, top = closed_insert()
    return selected(solid, np.arange(len(solid.faces)) < top)


def cartilage(knee_data, body):
    return load_mesh(knee_data / CARTILAGE.format(body), check=False)


def with_cavity(body, *, outwards):
    """A bone with the wall of its cavity, 3 % smaller."""
    middle = 0.5 * (body.vertices.min(axis=0) + body.vertices.max(axis=0))
    faces = body.faces if outwards else body.faces[:, ::-1]
    return joined(body, TriangleMesh(middle + 0.97 * (body.vertices - middle), faces))


# ---- shells --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("stray", [False, True])
def test_outer_wall_of_a_tibial_shell(seed, stray):
    sheet = plateau()
    closed = shell(sheet, 2.5e-3)
    mesh = turned(stray_pieces(closed) if stray else closed, seed)
    found = find_tibial_bearing(mesh)
    assert found.kind == SHELL
    np.testing.assert_array_equal(np.flatnonzero(taken(found.mesh, mesh)), range(len(sheet.faces)))


def test_steps_of_a_segmentation_stay_in_the_wall():
    """Heights in steps of 0.7 mm: the risers face sideways, the surface does not."""
    closed = shell(plateau(), 3e-3)
    fine = closed.vertices.copy()
    fine[:, 1] = 0.7e-3 * np.round(fine[:, 1] / 0.7e-3)
    stepped = TriangleMesh(fine, closed.faces)
    bearing = tibial_bearing(stepped)
    top = np.arange(len(closed.faces)) < len(plateau().faces)
    kept = taken(bearing, stepped)
    assert kept[top].mean() > 0.95
    assert kept[~top].mean() < 0.08


def test_femoral_shell_has_the_frame_of_its_outer_wall(knee_data):
    sheet = cartilage(knee_data, "femur")
    mesh = stray_pieces(shell(sheet, 2.5e-3))
    found = find_femoral_bearing(mesh)
    kept, walls = taken(found.mesh, mesh), len(sheet.faces)
    assert found.kind == SHELL
    assert mesh.areas[:walls][kept[:walls]].sum() > 0.995 * sheet.areas.sum()
    assert not kept[walls : 2 * walls].any()
    turn = femoral_frame(found.mesh).rotation @ femoral_frame(sheet).rotation.T
    assert np.degrees(np.arccos(0.5 * (np.trace(turn) - 1.0))) < 0.2


# ---- whole bones ---------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [25e-3, 80e-3, 350e-3])
@pytest.mark.parametrize("cut", [True, False])
def test_plateau_of_a_tibia_with_a_shaft(length, cut):
    sheet = plateau()
    mesh = turned(bone(sheet, -1.0, length, cut=cut), seed=int(1e3 * length))
    found = find_tibial_bearing(mesh)
    kept, top = taken(found.mesh, mesh), len(sheet.faces)
    assert found.kind == BONE or length < 30e-3
    assert mesh.areas[:top][kept[:top]].sum() > 0.98 * sheet.areas.sum()
    assert found.mesh.areas.sum() < 1.2 * sheet.areas.sum()


@pytest.mark.parametrize("outwards", [True, False])
def test_wall_of_the_cavity_is_left_out(outwards):
    body = bone(plateau(), -1.0, 80e-3)
    expected = find_tibial_bearing(body)
    found = find_tibial_bearing(with_cavity(body, outwards=outwards))
    assert found.kind == BONE
    np.testing.assert_array_equal(found.mesh.centroids, expected.mesh.centroids)


@pytest.mark.parametrize("length", [65e-3, 350e-3])
def test_condyles_of_a_femur_with_a_shaft(length):
    pytest.importorskip("vtkmodules", reason="VTP needs vtk (the vtp extra)")
    placed = whole_femur(length)
    found = find_femoral_bearing(placed)
    assert found.kind == BONE
    assert found.frame.rotation[2, 2] > np.cos(np.radians(1.0))
    assert found.frame.rotation[0, 0] > np.cos(np.radians(20.0))
    assert np.linalg.norm(found.frame.origin) < 4e-3
    bearing = femoral_bearing(placed)
    assert bearing.vertices[:, 1].max() < 50e-3
    below = placed.centroids[placed.normals[:, 1] < -0.8]
    lowest = below[below[:, 1] < -15e-3]
    assert len(lowest) > 100
    assert (KDTree(bearing.centroids).query(lowest)[0] < 1e-9).all()
    anywhere = find_femoral_bearing(turned(placed, seed=2))
    assert len(anywhere.mesh.faces) == len(found.mesh.faces)


def test_open_surfaces_are_whole():
    femur, tibia, _ = CondylarImplant().tessellate(2e-3)
    for sheet, find in ((femur, find_femoral_bearing), (tibia, find_tibial_bearing)):
        found = find(sheet)
        assert (found.mesh, found.kind) == (sheet, OPEN)


COMPONENT = "grand_challenge_DM_implant/{} {}.stl"
AXES = ("-x", "y", "-z")


@pytest.mark.parametrize("slope", [-0.4, 0.0, 0.3])
def test_rounded_edge_of_a_shell_stands_on_no_column(slope):
    """The flat wall bears, level or on a slope, and so does the edge where it hardly turns."""
    disc, flat = rounded_disc(15e-3, 1.2e-3, slope)
    wall = tibial_bearing(disc)
    kept = on_columns(disc, wall)
    cosines = wall.normals @ [-np.sin(slope), np.cos(slope), 0.0]
    turned_by = np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))
    top = (KDTree(disc.vertices[flat]).query(wall.vertices)[0] < 1e-9)[wall.faces].all(axis=1)
    assert (turned_by > 60.0).sum() > 100
    assert not kept[turned_by > 60.0].any()
    assert wall.areas[top & ~kept].sum() < 0.08 * wall.areas[top].sum()
    if slope == 0.0:
        assert kept[turned_by < 10.0].all()
        assert not kept[turned_by > 15.0].any()


def test_no_column_carries_behind_the_crests_beside_the_notch():
    """Both plateaus rise to crests 5 mm from mid-width, and fall steeply to the notch."""
    flat = plate(40e-3, 40)
    across = np.abs(flat.vertices[:, 2]) - 5e-3
    height = np.where(across > 0.0, -0.3, 1.7) * across
    sheet = TriangleMesh(flat.vertices + height[:, None] * [0.0, 1.0, 0.0], flat.faces)
    np.testing.assert_array_equal(
        on_columns(shell(sheet, 2e-3), sheet), np.abs(sheet.centroids[:, 2]) > 5e-3
    )


def test_a_shard_on_a_smooth_surface_is_left_out():
    """One vertex stands out by twice the width of its triangles, as a voxel may leave it."""
    sheet = tibial_bearing(closed_insert()[0])
    assert len(without_risers(sheet).faces) == len(sheet.faces)
    vertices = sheet.vertices.copy()
    middle = int(KDTree(vertices).query(sheet.centroid)[1])
    around = (sheet.faces == middle).any(axis=1)
    vertices[middle] += [0.0, 2.0 * np.sqrt(sheet.areas[around].max()), 0.0]
    kept = without_risers(TriangleMesh(vertices, sheet.faces))
    assert around.sum() // 2 <= len(sheet.faces) - len(kept.faces) <= around.sum()


def test_every_triangle_of_sheets_inserts_and_even_shells_stands_on_a_column():
    solid, top = closed_insert()
    sheet = selected(solid, np.arange(len(solid.faces)) < top)
    for body in (solid, sheet, shell(sheet, 2.5e-3)):
        assert on_columns(body, tibial_bearing(body)).all()


@pytest.mark.parametrize(
    ("body", "extract", "least"),
    [("Femoral Component", femoral_bearing, 0.95), ("Tibial Insert", tibial_bearing, 0.99)],
)
def test_solid_and_published_contact_surface_agree(knee_data, body, extract, least):
    """Every point of the published bearing surface lies on that extracted from the solid."""
    solid = load_mesh(knee_data / COMPONENT.format(body, "decimated"), axes=AXES, check=False)
    published = load_mesh(knee_data / COMPONENT.format(body, "contact"), axes=AXES, check=False)
    bearing = extract(solid)
    assert is_closed(solid)
    assert bearing.areas.sum() < 0.6 * solid.areas.sum()
    distance, _ = KDTree(bearing.centroids).query(published.centroids)
    assert (distance < 1.5e-3).mean() > least
