"""Two deformable layers: the femoral compliance between moving points of contact."""

import numpy as np
import pytest
import shapes
from scipy.special import j0

from foundation.base.flags import Flag, FlagKind
from foundation.base.pose import Pose
from foundation.core.library import CORE, address
from foundation.finite_element.femoral_layer import flat_layer
from foundation.finite_element.layer import ElasticLayer, ThicknessBase
from foundation.finite_element.model import FiniteElementContact
from foundation.surfaces.mesh import TriangleMesh
from tests.oracles.exact_layer_compliance import Layer

E, NU, T = 10e6, 0.45, 3e-3


def joined(medial, lateral):
    faces = np.concatenate([medial.faces, lateral.faces + len(medial.vertices)])
    return TriangleMesh(np.concatenate([medial.vertices, lateral.vertices]), faces, "joined")


def bowl(radius, half, cells=12):
    """Return a part of a paraboloid that faces down."""
    return shapes.swept(lambda x, z: (x**2 + z**2) / (2.0 * radius), half, cells, cells, half)


def model(medial, femur_layer=None, half=9e-3, **options):
    """Return a flat layer under a femur; the lateral plates do not touch."""
    far = (0.0, 0.0, 0.1)
    tibia = joined(shapes.plate(2.0 * half, 8), shapes.plate(12e-3, 4, far))
    femur = joined(medial, shapes.plate(12e-3, 4, (0.0, 5e-3, 0.1), up=False))
    layer = ElasticLayer(E, NU, ThicknessBase(T))
    return FiniteElementContact(
        femur, tibia, layer, femur_layer=femur_layer, spacing=1e-3,
        compartments=tibia.centroids[:, 2] > 0.05, **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def contact():
    """A femoral paraboloid of 200 mm with a layer on an equal flat layer."""
    return model(bowl(0.2, 12e-3), ElasticLayer(E, NU, ThicknessBase(T)))


POSE = Pose(0.01, -0.004, 0.3, 0.3e-3, -0.15e-3, 0.2e-3)


def test_subtracted_layer_agrees_with_the_exact_compliance():
    points = np.array([[0.0, 0.0, 0.0], [2e-3, 0.0, 1e-3]])
    matrix = np.zeros((2, 2))
    flat = flat_layer(ElasticLayer(E, NU, ThicknessBase(T)), points, np.full(2, T), np.ones(2))
    CORE.subtract_flat(flat.address, address(matrix))
    r = np.hypot(2e-3, 1e-3)
    layer = Layer(E, NU, T)
    rest = layer.deficit_transform(j0, np.array([r]))[0]
    assert -matrix[0, 1] == pytest.approx((1.0 / r - rest) / (np.pi * layer.plane_modulus), 1e-6)
    assert matrix[0, 1] == matrix[1, 0]


def test_force_does_not_depend_on_the_femoral_nodes(contact):
    layer, pose = ElasticLayer(E, NU, ThicknessBase(T)), Pose(superior=-0.15e-3)
    forces = [contact.loads(pose).medial.force[1]]
    other = model(bowl(0.2, 12e-3), layer, femur_spacing=1.3e-3)
    forces.append(other.loads(pose).medial.force[1])
    assert np.ptp(forces) < 6e-3 * np.mean(forces)


def test_jacobian(contact):
    def wrench(q):
        return contact.loads(q).medial.wrench

    jacobian = contact.loads(POSE, 1).total_jacobian
    steps = np.diag([1e-7] * 3 + [2e-9] * 3)
    differences = np.array(
        [(wrench(POSE.array + e) - wrench(POSE.array - e)) / (2.0 * e.sum()) for e in steps]
    ).T
    scale = np.abs(differences).max(axis=0)
    assert np.abs((jacobian - differences) / scale).max() < 1e-6


def test_contact_beyond_the_femoral_nodes_is_flagged():
    wide = model(
        shapes.plate(50e-3, 10, up=False), ElasticLayer(E, NU, ThicknessBase(T)), femur_spacing=2e-3
    )
    aside = Pose(superior=-0.01e-3, lateral=12e-3)
    assert Flag(FlagKind.END_OF_FEMORAL_NODES, "medial") in wide.loads(aside).flags
    assert wide.compartment_flags(aside, "medial") != ()
    assert wide.compartment_flags(Pose(superior=-0.01e-3), "medial") == ()
