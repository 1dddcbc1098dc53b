"""The mirror image of a contact is the contact of the mirrored surfaces."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.musculoskeletal.mirrored_contact import MirroredContact, MirroredGradient
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import LinearLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.triangle_mesh import TriangleMesh

FACES = np.array([[0, 1, 2], [0, 2, 3]])
CORNERS = np.array([[-1.0, 0.0, -1.0], [-1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, -1.0]])
POSE = Pose(0.02, 0.01, -0.03, 0.001, -0.0004, 0.002)
MIRRORED = Pose(0.02, -0.01, 0.03, 0.001, -0.0004, -0.002)


def springs(mirrored):
    """Return a bed of a narrow left and a wide right plateau, and its target; or their images."""
    left = CORNERS * (0.018, 0.0, 0.01) - (0.0, 0.0, 0.02)
    right = CORNERS * (0.02, 0.0, 0.014) + (0.002, 0.0, 0.02)
    bed = TriangleMesh(np.vstack([left, right]), np.vstack([FACES, FACES + 4]))
    target = TriangleMesh(CORNERS * (0.03, 0.0, 0.04), FACES[:, ::-1])
    if mirrored:
        bed, target = bed.mirrored(), target.mirrored()
    labels = np.array([0, 0, 1, 1], dtype=np.int8)
    law = LinearLaw(1e7, 0.45, thickness=0.006)
    return ElasticFoundation(target, bed, law, surface="flat", compartments=labels)


def test_loads_and_derivative_are_those_of_mirrored_surfaces():
    found, jacobian = MirroredContact(springs(False)).loads_and_jacobian(MIRRORED)
    wanted, expected = springs(True).loads_and_jacobian(MIRRORED)
    assert wanted.medial.force[1] > 10.0
    assert wanted.lateral.force[1] > 10.0
    for name in ("medial", "lateral", "total"):
        assert_allclose(found[name].array, wanted[name].array, rtol=1e-12, atol=1e-12)
    assert_allclose(jacobian, expected, rtol=1e-9, atol=1e-6)
    alone = MirroredContact(springs(False)).loads(MIRRORED)
    assert_allclose(alone.wrench, found.wrench, rtol=1e-14)


def test_a_mirrored_gradient_reverses_z_and_moments_about_x_and_y():
    class Energy:
        def wrench(self, pose):
            assert_allclose(pose.array, POSE.array)
            return np.arange(1.0, 7.0)

    assert MirroredGradient(Energy()).wrench(MIRRORED) == pytest.approx([1, 2, -3, -4, -5, 6])
