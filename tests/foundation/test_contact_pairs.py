"""Contact models of one, two and three named compartments over the same surfaces."""

import numpy as np
import pytest
import shapes
from beds import IMPLANT, POLYETHYLENE

from foundation.base.errors import InputError
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import CoupledLaw, LogarithmicLaw, ModifiedLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.finite_element.base import PlaneBase
from foundation.finite_element.layer import ElasticLayer
from foundation.finite_element.model import FiniteElementContact

E, NU, H = 10e6, 0.45, 3e-3
PUNCH, PLATE = shapes.ellipsoid((30e-3,) * 3, 3), shapes.plate(40e-3, 16)
POSE = Pose(superior=30e-3 - 0.4e-3)
ONE = ("patellofemoral",)
SIDES_OF_PLATE = (PLATE.centroids[:, 2] > 0.0).astype(int)
FEMUR, INSERT, SIDES = IMPLANT.tessellate(2.5e-3)
PRESSED = np.array([pose.array for pose in shapes.pressed_poses(IMPLANT, 12, seed=3)])


@pytest.mark.slow
@pytest.mark.parametrize("law", [LogarithmicLaw(E, NU, H), CoupledLaw(E, NU, H)])
def test_a_bed_of_one_compartment_bears_what_its_halves_bear(law):
    """The plane between the halves lies outside the patch, so that one half bears everything."""
    whole = ElasticFoundation(PUNCH, PLATE, law, compartment_names=ONE)
    beside = (PLATE.centroids[:, 2] > 12e-3).astype(int)
    halves = ElasticFoundation(PUNCH, PLATE, law, compartments=beside)
    assert whole.compartment_names == ONE
    assert not whole.compartments.any()
    found, jacobian = whole.loads_and_jacobian(POSE)
    assert found.compartments == ONE
    expected, slope = halves.loads_and_jacobian(POSE)
    np.testing.assert_allclose(found.wrench, expected.wrench, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(jacobian, slope, rtol=1e-7, atol=1e-3)
    np.testing.assert_allclose(whole.stored_energy(POSE), halves.stored_energy(POSE), rtol=1e-9)
    np.testing.assert_array_equal(
        whole.spring_state(POSE).pressure > 0.0, halves.spring_state(POSE).pressure > 0.0
    )
    batch = whole.evaluate_batch(POSE.array[None], threads=2)
    assert batch.shape == (1, 1, 12)
    np.testing.assert_array_equal(batch[0, 0], whole.compartment_loads(POSE, "patellofemoral")[0])


def test_three_compartments_of_a_bed_add_up_to_two():
    """The lateral plateau is cut once more; springs of an independent law do not notice."""
    law = LogarithmicLaw(*POLYETHYLENE)
    two = ElasticFoundation(FEMUR, INSERT, law, surface="flat", compartments=SIDES)
    behind = SIDES + ((SIDES == 1) & (INSERT.centroids[:, 0] < 0.0))
    names = ("medial", "front", "back")
    three = ElasticFoundation(
        FEMUR, INSERT, law, surface="flat", compartments=behind, compartment_names=names
    )
    both, parts = two.evaluate_batch(PRESSED), three.evaluate_batch(PRESSED)
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
    loads, jacobian = model.loads_and_jacobian(POSE)
    assert loads.compartments == ONE
    assert loads.patellofemoral.force[1] > 1.0
    own, slope, _ = model.compartment_loads(POSE, "patellofemoral")
    np.testing.assert_array_equal(loads.values[0], own)
    np.testing.assert_array_equal(jacobian, slope)
    assert model.evaluate_batch(POSE.array[None]).shape == (1, 1, 12)
    assert model.spring_state(POSE).pressure.max() > 0.3 * own[7]
    energies = [model.stored_energy(POSE, name) for name in (None, "patellofemoral")]
    assert energies[0] == energies[1] > 0.0


@pytest.mark.parametrize(
    ("labels", "names", "message"),
    [
        (None, ("a", "b", "c"), "since there are 3"),
        (SIDES_OF_PLATE, ("a", "b", "c"), r"found none that is c \(2\)"),
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
