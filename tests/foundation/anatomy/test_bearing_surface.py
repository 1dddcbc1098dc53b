"""Bearing surfaces of closed solids."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import KDTree
from solids import closed_insert

from foundation.anatomy.bearing_surface import femoral_bearing, tibial_bearing
from foundation.surfaces.mesh import load_mesh
from foundation.surfaces.surface_shape import is_closed
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
