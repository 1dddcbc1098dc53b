"""Bearing surfaces of closed solids."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import KDTree
from solids import closed_insert, rounded_disc, shell

from foundation.anatomy.bearing_surface import femoral_bearing, tibial_bearing
from foundation.anatomy.walls import on_columns, without_risers
from foundation.surfaces.mesh import load_mesh
from foundation.surfaces.surface_shape import is_closed, selected
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh

COMPONENT = "grand_challenge_DM_implant/{} {}.stl"
AXES = ("-x", "y", "-z")


def test_insert_keeps_its_top():
    solid, top = closed_insert()
    assert is_closed(solid)
    bearing = tibial_bearing(solid)
    assert not is_closed(bearing)
    np.testing.assert_array_equal(
        bearing.vertices[bearing.faces], solid.vertices[solid.faces[:top]]
    )


def test_inverted_solid_is_refused():
    """Its base would face up."""
    solid, _ = closed_insert()
    with pytest.raises(MeshError, match=r"closed solid point inwards.*flip the normals"):
        tibial_bearing(TriangleMesh(solid.vertices, solid.faces[:, ::-1]))


def test_surface_without_top_is_refused():
    solid, top = closed_insert()
    top_only = TriangleMesh(solid.vertices, solid.faces[:top, ::-1])
    with pytest.raises(MeshError, match="no triangle faces up"):
        tibial_bearing(top_only)


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


def test_every_triangle_of_sheets_inserts_and_even_shells_stands_on_a_column():
    solid, top = closed_insert()
    sheet = selected(solid, np.arange(len(solid.faces)) < top)
    for body in (solid, sheet, shell(sheet, 2.5e-3)):
        assert on_columns(body, tibial_bearing(body)).all()


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
