"""Peak pressures and places that stop `init`, and the likely fault there."""

from __future__ import annotations

import numpy as np
import pytest
import shapes
from beds import LAW
from solids import joined

from foundation.base.loads import MEAN_PRESSURE, PEAK_PRESSURE
from foundation.base.pose import Pose
from foundation.elastic_foundation import ElasticFoundation, LinearLaw
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.preparation.peaks import PeakError, check_peaks
from pipeline.preparation.pressed_place import likely_fault

RADIUS, STRENGTH = 25e-3, 60e6
DEPTHS = np.array([0.1e-3, 0.3e-3, 0.5e-3])


def check(model: ElasticFoundation, strength: float = STRENGTH) -> None:
    check_peaks(model, poses(), model.evaluate_batch(poses()), strength)


def poses() -> np.ndarray:
    return np.array([Pose(flexion=0.2, superior=RADIUS - depth).array for depth in DEPTHS])


def pressed(tibia: TriangleMesh, radius: float = RADIUS) -> ElasticFoundation:
    labels = np.zeros(len(tibia.faces), dtype=np.int8)
    femur = shapes.ellipsoid([radius] * 3, 4)
    return ElasticFoundation(femur, tibia, LAW, compartments=labels, compartment_names=("medial",))


def test_smooth_contact_is_silent():
    check(pressed(shapes.plate(30e-3, 30)))


def test_peak_out_of_proportion_is_named_with_its_place():
    model = pressed(shapes.plate(30e-3, 30))
    loads = model.evaluate_batch(poses())
    loads[-1, 0, PEAK_PRESSURE] = 7.9 * loads[-1, 0, MEAN_PRESSURE]
    check_peaks(model, poses(), loads, STRENGTH)
    loads[-1, 0, PEAK_PRESSURE] = 8.1 * loads[-1, 0, MEAN_PRESSURE]
    with pytest.raises(PeakError, match="ridge, spike or bump") as raised:
        check_peaks(model, poses(), loads, STRENGTH)
    assert "11 deg of flexion" in str(raised.value)
    assert np.linalg.norm(raised.value.place[[0, 2]]) < 1e-3


def test_spring_through_the_femur_is_named_with_its_cause():
    """An upright facet beside a small ball, whose line leaves the ball on the other side."""
    radius, x, y = 8e-3, -6.6e-3, 3.7e-3
    corners = [[x, y - 0.4e-3, -1e-3], [x, y - 0.4e-3, 1e-3], [x, y + 0.8e-3, 0.0]]
    upright = TriangleMesh(np.array(corners), np.array([[0, 1, 2]]))
    model = pressed(joined(shapes.plate(30e-3, 30), upright), radius)
    at = np.array([Pose(superior=radius - 0.5e-3).array])
    with pytest.raises(PeakError, match="mm sideways through the femur") as raised:
        check_peaks(model, at, model.evaluate_batch(at), 1e12)
    np.testing.assert_allclose(raised.value.place, [x, y, 0.0], atol=1e-6)
    assert "see the cross in" in str(raised.value.seen_in("here.png"))


def test_pressure_beyond_the_material_names_layer_and_unit():
    model = pressed(shapes.plate(30e-3, 30))
    most = max(model.evaluate(Pose.from_array(row)).medial.peak_pressure for row in poses())
    check(model, 1.01 * most)
    with pytest.raises(PeakError, match="more than the layer bears; check its thickness"):
        check(model, 0.99 * most)


BALL = shapes.ellipsoid(20e-3 * np.ones(3), 3)
THIN = LinearLaw(5e6, 0.45, 2e-3)


def bed(tibia: TriangleMesh) -> ElasticFoundation:
    names = ("ball",)
    return ElasticFoundation(
        BALL, tibia, THIN, compartments=np.zeros(len(tibia.faces)), compartment_names=names
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
