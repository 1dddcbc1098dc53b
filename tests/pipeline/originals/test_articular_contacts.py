"""Mesh files that stand for those of an OpenSim model; sides of the compartments."""

import numpy as np
import pytest
import trimesh

from dynamics.musculoskeletal import OsimModel
from pipeline.originals.articular_contacts import articular_contacts
from pipeline.studies.muscle_walks.sides import contact_sides, side_notes
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
