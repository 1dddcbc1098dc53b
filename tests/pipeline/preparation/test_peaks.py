"""Peak pressures that stop `init`: out of proportion, or more than the layer bears."""

from __future__ import annotations

import numpy as np
import pytest
import shapes
from beds import LAW
from solids import joined

from foundation.base.pose import Pose
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.preparation.peaks import PeakError, check_peaks

RADIUS, STRENGTH = 25e-3, 60e6
DEPTHS = np.array([0.1e-3, 0.3e-3, 0.5e-3])


def check(model: ElasticFoundation, strength: float = STRENGTH) -> None:
    check_peaks(model, poses(), model.evaluate_batch(poses()), strength)


def poses() -> np.ndarray:
    return np.array([Pose(flexion=0.2, superior=RADIUS - depth).array for depth in DEPTHS])


def pressed(tibia: TriangleMesh) -> ElasticFoundation:
    labels = np.zeros(len(tibia.faces), dtype=np.int8)
    femur = shapes.ellipsoid([RADIUS] * 3, 4)
    return ElasticFoundation(femur, tibia, LAW, compartments=labels, compartment_names=("medial",))


def bumped(height: float) -> TriangleMesh:
    """A plate of springs 1 mm apart, of which one vertex stands out."""
    plate = shapes.plate(30e-3, 30)
    vertices = plate.vertices.copy()
    vertices[np.argmin(np.linalg.norm(vertices, axis=1)), 1] = height
    return TriangleMesh(vertices, plate.faces)


def test_smooth_contact_is_silent():
    check(pressed(shapes.plate(30e-3, 30)))


def test_peak_out_of_proportion_is_named_with_its_place():
    with pytest.raises(PeakError, match="ridge, spike or bump") as raised:
        check(pressed(bumped(1.5e-3)))
    assert "12 deg of flexion" not in str(raised.value)
    assert "11 deg of flexion" in str(raised.value)
    assert np.linalg.norm(raised.value.place[[0, 2]]) < 1e-3


def test_spring_through_the_femur_is_named_with_its_cause():
    corners = [[-6e-3, 0.3e-3, -1e-3], [-6e-3, 0.3e-3, 1e-3], [-6e-3, 1.5e-3, 0.0]]
    upright = TriangleMesh(np.array(corners), np.array([[0, 1, 2]]))
    with pytest.raises(PeakError, match="mm sideways through the femur") as raised:
        check(pressed(joined(shapes.plate(30e-3, 30), upright)))
    np.testing.assert_allclose(raised.value.place, [-6e-3, 0.7e-3, 0.0], atol=1e-6)
    assert "see the cross in" in str(raised.value.seen_in("here.png"))


def test_pressure_beyond_the_material_names_layer_and_unit():
    model = pressed(shapes.plate(30e-3, 30))
    most = max(model.evaluate(Pose.from_array(row)).medial.peak_pressure for row in poses())
    check(model, 1.01 * most)
    with pytest.raises(PeakError, match="more than the layer bears; check its thickness"):
        check(model, 0.99 * most)
