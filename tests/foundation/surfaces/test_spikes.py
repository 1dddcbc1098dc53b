"""Spikes of a surface are levelled; what is no spike stays."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from foundation.implant import CondylarImplant
from foundation.surfaces.repair import repaired
from foundation.surfaces.spikes import level_spikes
from foundation.surfaces.triangle_mesh import TriangleMesh

_, TIBIA, _ = CondylarImplant().tessellate(1e-3)
#: A vertex in the middle of a plateau.
TIP = int(np.argmin(np.linalg.norm(TIBIA.vertices[:, [0, 2]] - [0.0, 20e-3], axis=1)))
NORMAL = TIBIA.normals[(TIBIA.faces == TIP).any(axis=1)].mean(axis=0)


def spiked(height: float, radius: float) -> TriangleMesh:
    """Return the tibia with a cone of a height and a radius [m]; radius 0 for one vertex."""
    away = np.linalg.norm(TIBIA.vertices - TIBIA.vertices[TIP], axis=1)
    cone = np.maximum(0.0, 1.0 - away / radius) if radius else away == 0.0
    return TriangleMesh(TIBIA.vertices + np.outer(cone * height, NORMAL), TIBIA.faces)


@pytest.mark.parametrize(
    ("height", "radius"), [(5e-3, 0.0), (1e-3, 0.0), (-2e-3, 0.0), (5e-3, 3e-3)]
)
def test_spikes_are_levelled(height, radius):
    found = level_spikes(spiked(height, radius))
    assert found.spikes == 1
    assert_allclose(found.height, abs(height), rtol=0.1, atol=0.0)
    assert_allclose(found.mesh.vertices, TIBIA.vertices, rtol=0.0, atol=0.08 * abs(height))


def test_the_repair_tells_height_and_place():
    mesh = spiked(5e-3, 0.0)
    (text,) = repaired(mesh, 20e-6, "tibia").repairs
    place = ", ".join(f"{1e3 * x:.1f}" for x in mesh.vertices[TIP])
    assert re.fullmatch(rf"1 spike levelled, .* (4\.9|5) mm off .*, at \({place}\) mm", text)


def test_a_smooth_surface_and_a_box_stay():
    assert level_spikes(TIBIA).mesh is TIBIA
    import trimesh

    box = trimesh.creation.box((0.03, 0.02, 0.04)).subdivide().subdivide()
    mesh = TriangleMesh(np.asarray(box.vertices), np.asarray(box.faces), "box")
    assert level_spikes(mesh).mesh is mesh
