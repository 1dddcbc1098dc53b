"""The place of a contact that carries no load, and the likely fault there."""

import numpy as np
import shapes

from foundation.base.pose import Pose
from foundation.elastic_foundation import ElasticFoundation, LinearLaw
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.preparation.pressed_place import likely_fault

BALL = shapes.ellipsoid(20e-3 * np.ones(3), 3)
LAW = LinearLaw(5e6, 0.45, 2e-3)


def bed(tibia: TriangleMesh) -> ElasticFoundation:
    names = ("ball",)
    return ElasticFoundation(
        BALL, tibia, LAW, compartments=np.zeros(len(tibia.faces)), compartment_names=names
    )


def test_a_spike_is_the_likely_fault_at_its_place():
    plate = shapes.plate(30e-3, 30)
    points = plate.vertices.copy()
    tip = np.argmin(np.linalg.norm(points - [5e-3, 0.0, 3e-3], axis=1))
    away = np.linalg.norm(points - points[tip], axis=1)
    points[:, 1] += 2e-3 * np.exp(-((away / 1.6e-3) ** 2))
    spiked = TriangleMesh(points, plate.faces, "spiked")
    text = likely_fault(bed(spiked), Pose(superior=20e-3), "ball")
    x, _, z = 1e3 * points[tip]
    assert "a spike" in text
    place = [float(word) for word in text.split("(")[1].split(")")[0].split(",")]
    np.testing.assert_allclose([place[0], place[2]], [x, z], rtol=0.0, atol=1.5)


def test_a_load_that_is_too_large_is_told_as_such():
    text = likely_fault(bed(shapes.plate(30e-3, 60)), Pose(superior=20e-3), "ball")
    assert "lower space.load_N" in text
    assert "a spike" not in text


def test_without_contact_nothing_is_told():
    assert likely_fault(bed(shapes.plate(30e-3, 4)), Pose(superior=50e-3), "ball") == ""
