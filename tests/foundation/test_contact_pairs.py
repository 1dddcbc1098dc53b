"""Contact pairs: models of one, two and three named compartments, and the places of pressures."""

import numpy as np
import pytest
import shapes
from beds import IMPLANT, POLYETHYLENE, model_of
from shapes import ellipsoid, plate

from foundation.base.errors import InputError
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import LogarithmicLaw, ModifiedLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.finite_element.layer import ElasticLayer, PlaneBase
from foundation.finite_element.model import FiniteElementContact

E, NU, H = 10e6, 0.45, 3e-3
PUNCH, PLATE = shapes.ellipsoid((30e-3,) * 3, 3), shapes.plate(40e-3, 16)
POSE = Pose(superior=30e-3 - 0.4e-3)
ONE = ("patellofemoral",)
SIDES_OF_PLATE = (PLATE.centroids[:, 2] > 0.0).astype(int)
FEMUR, INSERT, SIDES = IMPLANT.tessellate(2.5e-3)
PRESSED = np.array([pose.array for pose in shapes.pressed_poses(IMPLANT, 12, seed=3)])


def test_three_compartments_of_a_bed_add_up_to_two():
    """The lateral plateau is cut once more; springs of an independent law do not notice."""
    law = LogarithmicLaw(*POLYETHYLENE)
    two = ElasticFoundation(FEMUR, INSERT, law, surface="flat", compartments=SIDES)
    behind = SIDES + ((SIDES == 1) & (INSERT.centroids[:, 0] < 0.0))
    names = ("medial", "front", "back")
    three = ElasticFoundation(
        FEMUR, INSERT, law, surface="flat", compartments=behind, compartment_names=names
    )
    both, parts = two.loads(PRESSED).values, three.loads(PRESSED).values
    assert parts.shape == (12, 3, 12)
    np.testing.assert_array_equal(parts[:, 0], both[:, 0])
    forces = parts[:, 1, :7] + parts[:, 2, :7]
    np.testing.assert_allclose(forces, both[:, 1, :7], rtol=1e-12, atol=1e-12)
    assert (parts[:, 1:, 6].min(axis=1) > 0.0).any()


def test_offsets_of_patches_reach_the_elements_of_their_compartment():
    """The offset of the modified law differs by patch; the order of the names does not matter."""
    law = ModifiedLaw(*POLYETHYLENE, f=3.0, m=1.2)
    pair = ElasticFoundation(FEMUR, INSERT, law, compartments=SIDES)
    turned = ElasticFoundation(
        FEMUR, INSERT, law, compartments=1 - SIDES, compartment_names=("lateral", "medial")
    )
    pose = Pose.from_array(PRESSED[0])
    a, b = pair.spring_state(pose), turned.spring_state(pose)
    np.testing.assert_allclose(a.pressure, b.pressure, rtol=1e-9, atol=1e-3)
    found = [each.loads(pose)["lateral"].array for each in (pair, turned)]
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-9)


def test_finite_elements_of_one_compartment():
    layer = ElasticLayer(E, NU, PlaneBase(-H))
    model = FiniteElementContact(PUNCH, PLATE, layer, spacing=2e-3, compartment_names=ONE)
    loads = model.loads(POSE, 1)
    assert loads.compartments == ONE
    assert loads.patellofemoral.force[1] > 1.0
    own, slope, _ = model.compartment_loads(POSE, "patellofemoral")
    np.testing.assert_array_equal(loads.values[0], own)
    np.testing.assert_array_equal(loads.total_jacobian, slope)
    assert model.loads(POSE.array[None]).values.shape == (1, 1, 12)
    assert model.spring_state(POSE).pressure.max() > 0.3 * own[7]
    energies = [model.stored_energy(POSE, name) for name in (None, "patellofemoral")]
    assert energies[0] == energies[1] > 0.0


@pytest.mark.parametrize(
    ("labels", "names", "message"),
    [
        (None, ("a", "b", "c"), "since there are 3"),
        (SIDES_OF_PLATE, ("a", "b", "c"), r"found none of c \(number 2\)"),
        (SIDES_OF_PLATE, ONE, r"expected only 0 \(patellofemoral\)"),
        (None, ONE, r"compartment: .*patellofemoral"),
    ],
)
def test_labels_that_do_not_suit_the_names_are_refused(labels, names, message):
    law = LogarithmicLaw(E, NU, H)
    with pytest.raises(InputError, match=message):
        ElasticFoundation(
            PUNCH, PLATE, law, compartments=labels, compartment_names=names
        ).indentation(POSE, "medial")


def test_springs_give_pressures_at_the_triangles_of_a_compartment():
    model = model_of(ellipsoid((30e-3,) * 3, 2), plate(60e-3, 8))
    pose = Pose(superior=29e-3, lateral=10e-3)
    places, whole = model.pressure_places("lateral"), model.spring_state(pose)
    found = model.place_state(pose, "lateral")
    np.testing.assert_array_equal(places.triangles, np.flatnonzero(model.compartments == 1))
    np.testing.assert_array_equal(places.points, model.tibia.centroids[places.triangles])
    np.testing.assert_array_equal(found.pressure, whole.pressure[places.triangles])
    np.testing.assert_array_equal(found.indentation, whole.indentation[places.triangles])
    assert found.pressure.max() > 0.0
    assert places.corners is None
    with pytest.raises(InputError, match="compartment"):
        model.place_state(pose, "upper")
