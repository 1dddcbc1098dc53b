"""Contacts of OpenSim models: meshes, sides and layers."""

import numpy as np
import pytest
import trimesh
from shapes import plate

from dynamics.musculoskeletal.osim_model import OsimModel
from foundation.base.pose import Pose
from pipeline.originals.articular_contacts import (
    ContactSurfaces,
    articular_contacts,
    contact_law,
)
from pipeline.studies.muscle_walks.frames import contact_sides
from pipeline.studies.muscle_walks.setup import side_notes
from tests.dynamics.musculoskeletal.legs import leg_model, turn_of
from tests.dynamics.musculoskeletal.test_leg_sides import TURNS


def plateaus(folder, turn):
    """Write a tibia of two plateaus, the right one the larger, and a femur, in turned axes."""
    corners = np.array([[-1.0, 0.0, -1.0], [-1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, -1.0]])
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    left = corners * (0.018, 0.0, 0.012) - (0.0, 0.0, 0.02)
    right = corners * (0.02, 0.0, 0.014) + (0.0, 0.0, 0.02)
    below = np.vstack([left, right]) @ turn
    above = (corners * (0.025, 0.0, 0.035) + (0.0, 0.001, 0.0)) @ turn
    for name, vertices, triangles in (
        ("tibia", below, np.vstack([faces, faces + 4])),
        ("femur", above, faces[:, ::-1]),
    ):
        trimesh.Trimesh(vertices, triangles, process=False).export(folder / f"{name}.stl")


@pytest.mark.parametrize("turned", TURNS)
@pytest.mark.parametrize("right", [True, False])
def test_medial_is_towards_the_midline_whatever_the_axes_of_the_mesh(tmp_path, right, turned):
    ends = ("_r", "_l") if right else ("_l", "_r")
    plateaus(tmp_path, turn_of(turned))
    model = leg_model(tmp_path, right=right, end=ends[0], other=ends[1], turned=turned)
    (contact,) = articular_contacts(model, surface="flat")
    bed = contact.model.tibia
    assert contact.model.compartment_names == ("medial", "lateral")
    at_right = bed.centroids[:, 2] > 0.0
    np.testing.assert_array_equal(contact.model.compartments, at_right if right else ~at_right)
    # Frames of bed and target are those of the upright body.
    np.testing.assert_allclose(contact.pose(np.zeros(6)).array, [0, 0, 0, 0, 0.4, 0], atol=1e-9)
    np.testing.assert_allclose(bed.normals[:, 1], 1.0, atol=1e-6)
    side = contact_sides(model, [contact])["tf"]
    assert (side.leg, side.medial) == (("right", "left") if right else ("left", "right"))
    assert side_notes(model, [contact]) == ()


def test_a_mesh_mirrored_by_its_factors_is_that_of_the_other_leg(tmp_path):
    beds = {}
    for leg, ends in (("right", ("_r", "_l")), ("left", ("_l", "_r"))):
        folder = tmp_path / leg
        folder.mkdir()
        plateaus(folder, np.eye(3))
        model = leg_model(folder, right=leg == "right", end=ends[0], other=ends[1])
        text = model.path.read_text()
        if leg == "left":
            text = text.replace("<mesh_file>", "<scale_factors>1 1 -1</scale_factors><mesh_file>")
        model.path.write_text(text)
        (contact,) = articular_contacts(OsimModel(model.path), surface="flat")
        beds[leg] = contact.model
    right, left = beds["right"].tibia, beds["left"].tibia
    np.testing.assert_allclose(left.centroids, right.centroids * (1.0, 1.0, -1.0), atol=1e-9)
    np.testing.assert_allclose(left.normals, right.normals * (1.0, 1.0, -1.0), atol=1e-9)
    np.testing.assert_array_equal(beds["left"].compartments, beds["right"].compartments)


#: Half widths of the femur, and least and largest thickness of its layer [m].
WIDE, LONG, THIN, THICK = 0.025, 0.035, 2e-3, 4e-3
BED = 5e-3
BACK = (
    "<use_variable_thickness>true</use_variable_thickness><mesh_back_file>bone.stl"
    "</mesh_back_file><min_thickness>1e-3</min_thickness><max_thickness>1e-2</max_thickness>"
)


def grid(wide, long, cells):
    """Return places (K, 2) and triangles, facing up, of a rectangle."""
    mesh = plate(2.0, cells)
    return mesh.vertices[:, [0, 2]] * (wide, long), mesh.faces


@pytest.fixture
def model(tmp_path):
    """Return plateaus under a femur whose layer grows forwards, with its bone above."""
    below, faces = grid(0.018, 0.012, 6)
    plateaus = [
        np.column_stack([below[:, 0], np.zeros(len(below)), below[:, 1] + side])
        for side in (-0.02, 0.02)
    ]
    above, femoral = grid(WIDE, LONG, 10)
    layer = THIN + (THICK - THIN) * (above[:, 0] + WIDE) / (2.0 * WIDE)
    femur = np.column_stack([above[:, 0], np.zeros(len(above)), above[:, 1]])
    bone = femur + layer[:, None] * (0.0, 1.0, 0.0)
    for name, vertices, triangles in (
        ("tibia", np.vstack(plateaus), np.vstack([faces, faces + len(below)])),
        ("femur", femur, femoral[:, ::-1]),
        ("bone", bone, femoral[:, ::-1]),
    ):
        trimesh.Trimesh(vertices, triangles, process=False).export(tmp_path / f"{name}.stl")
    path = leg_model(tmp_path, right=True).path
    file = "<mesh_file>femur.stl</mesh_file>"
    path.write_text(path.read_text().replace(file, file + BACK))
    return OsimModel(path)


def test_the_layer_of_a_target_is_measured_by_triangle(model):
    (contact,) = model.contacts
    surfaces = ContactSurfaces(model)
    law, excess = contact_law(contact, surfaces)
    femur = surfaces.mesh(contact.target)
    wanted = THIN + (THICK - THIN) * (femur.centroids[:, 0] + WIDE) / (2.0 * WIDE)
    # Lumped: both layers are one.
    np.testing.assert_allclose(law.thickness + excess, BED + wanted, atol=1e-7)
    assert np.average(excess, weights=femur.areas) == pytest.approx(0.0, abs=1e-12)
    assert surfaces.mesh(contact.target) is femur


@pytest.mark.parametrize("surface", ["curved", "flat"])
def test_springs_are_those_of_the_thickness_over_them(model, surface):
    """Under even overlap, the pressure follows the layer."""
    (contact,) = articular_contacts(model, surface=surface)
    bed, overlap = contact.model, 1e-4
    pose = Pose(superior=-overlap)
    state, x = bed.spring_state(pose), bed.tibia.centroids[:, 0]
    layer = BED + THIN + (THICK - THIN) * (x + WIDE) / (2.0 * WIDE)
    wanted = state.pressure.mean() * (1.0 / layer) / (1.0 / layer).mean()
    np.testing.assert_allclose(state.pressure, wanted, rtol=3e-3 if surface == "curved" else 2e-2)
    assert np.ptp(state.pressure) > 0.1 * state.pressure.mean()
