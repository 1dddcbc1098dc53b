"""Contact of the layer: accuracy, derivatives, energy, invariance, flags."""

from copy import deepcopy
from dataclasses import replace

import layers
import numpy as np
import pytest
from differences import differences, pose_differences
from hexahedral_blocks import sparse_compliance
from scipy.spatial.transform import Rotation
from shapes import pressed_poses, turned_pose

from foundation.base.errors import InputError
from foundation.base.flags import Flag, FlagKind
from foundation.base.pose import Pose, generalised_force, generalised_force_jacobian
from foundation.finite_element.base import ThicknessBase
from foundation.finite_element.condensation import compliance
from foundation.finite_element.layer import ElasticLayer
from foundation.finite_element.model import FiniteElementContact
from foundation.surfaces.mesh import TriangleMesh
from tests.oracles.exact_layer import exact_contact, paraboloid
from tests.oracles.exact_layer_axisymmetric import press_ball
from tests.oracles.flat_layer import FlatLayer


@pytest.fixture(scope="module")
def implant():
    shape, model = layers.implant()
    return shape, model, pressed_poses(shape, 4, deepest=0.15e-3)


def in_contact(model, poses):
    found = [pose for pose in poses if model.evaluate(pose).force[1] > 10.0]
    assert found
    return found


def test_flat_layer_agrees_with_the_exact_solution():
    found = layers.flat().at_load(1000.0, turn=0.5, x=0.3e-3)
    exact = exact_contact(layers.POLYETHYLENE, paraboloid(*layers.RADII), load=1000.0, cells=64)
    assert found.approach == pytest.approx(exact.approach, rel=0.02)
    assert found.peak_pressure == pytest.approx(exact.peak_pressure, rel=0.03)
    assert found.area == pytest.approx(exact.area, rel=0.06)
    assert found.stiffness == pytest.approx(exact.stiffness, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("poissons_ratio", [0.3, 0.45, 0.49])
def test_a_ball_agrees_with_the_integral_equation(poissons_ratio):
    layer = replace(layers.POLYETHYLENE, poissons_ratio=poissons_ratio)
    exact = press_ball(layer, 0.1, load=1000.0)
    a = exact.contact_radius
    model = FlatLayer(layer, (0.1, 0.1), spacing=a / 10, half=(1.2 * a, 1.2 * a))
    found = model.at_load(1000.0)
    assert found.approach == pytest.approx(exact.approach, rel=3e-3)
    assert found.peak_pressure == pytest.approx(exact.peak_pressure, rel=5e-3)
    assert found.area == pytest.approx(exact.area, rel=1.5e-2)
    # A secant: the stiffness has a step where a node touches, here where a ring of nodes does.
    low, high = (model.force(part * found.approach) for part in (0.95, 1.05))
    stiffness = (high - low) / (0.1 * found.approach)
    assert stiffness == pytest.approx(exact.stiffness, rel=1.5e-2)


def test_jacobian_is_the_derivative_of_the_wrench(implant):
    _, model, poses = implant
    for pose in in_contact(model, poses):
        loads, jacobian = model.loads_and_jacobian(pose)
        slopes = pose_differences(lambda p: model.evaluate(p).wrench, pose, 1e-8)
        scale = abs(jacobian).max(axis=1, keepdims=True)
        np.testing.assert_allclose(slopes / scale, jacobian / scale, rtol=0, atol=1e-5)
        general = generalised_force_jacobian(pose, loads.wrench, jacobian)
        size = np.sqrt(abs(np.diag(general)))
        general /= np.outer(size, size)
        np.testing.assert_allclose(general, general.T, rtol=0, atol=1e-8)


def test_generalised_forces_are_minus_the_slopes_of_the_energy(implant):
    _, model, poses = implant
    for pose in in_contact(model, poses):
        slopes = differences(lambda x: model.stored_energy(Pose.from_array(x)), pose.array, 1e-7)
        force = generalised_force(pose, model.evaluate(pose).wrench)
        np.testing.assert_allclose(-slopes, force, rtol=0, atol=2e-5 * abs(force).max())
        parts = [model.stored_energy(pose, name) for name in ("medial", "lateral")]
        assert sum(parts) == pytest.approx(model.stored_energy(pose))


def test_nothing_out_of_contact(implant):
    shape, model, _ = implant
    home = shape.home_pose(0.3)
    loads, jacobian = model.loads_and_jacobian(replace(home, superior=home.superior + 5e-3))
    assert not loads.wrench.any()
    assert not jacobian.any()
    assert loads.area == loads.peak_pressure == 0.0
    assert np.isnan(loads.centre_of_pressure).all()
    assert loads.flags == ()
    assert model.stored_energy(replace(home, superior=1.0)) == 0.0


def test_ways_of_evaluation_agree_and_history_does_not_matter(implant):
    _, model, poses = implant
    rows = np.array([pose.array for pose in poses])
    one = model.evaluate_batch(rows)
    assert np.array_equal(one, model.evaluate_batch(rows, threads=2), equal_nan=True)
    assert np.array_equal(one, model.evaluate_batch(rows[::-1])[::-1], equal_nan=True)
    for row, pose in zip(one, poses, strict=True):
        loads = model.evaluate(pose)
        assert np.array_equal(row, [loads.medial.array, loads.lateral.array], equal_nan=True)
        for side, name in enumerate(("medial", "lateral")):
            own, _, depth = model.compartment_loads(pose, name)
            assert np.array_equal(own, row[side], equal_nan=True)
            assert (depth >= 0.0).all()
            assert (depth[0] > 0.0) == (row[side][1] > 0.0)


def test_a_copy_without_its_handles_gives_the_same_loads(implant):
    _, model, poses = implant
    copy = deepcopy(model)
    for pose in poses:
        assert np.array_equal(copy.evaluate(pose).wrench, model.evaluate(pose).wrench)
    assert copy.digest == model.digest


@pytest.mark.slow
def test_mirror_image_of_the_implant(implant):
    _, model, poses = implant
    other = FiniteElementContact(
        model.femur.mirrored(), model.tibia.mirrored(), model.layer, spacing=2e-3,
        compartments=1 - model.compartments,
    )  # fmt: skip
    sign = np.array([1, -1, -1, 1, 1, -1])
    for pose in poses:
        image = other.evaluate(Pose.from_array(pose.array * sign))
        loads = model.evaluate(pose)
        expected = loads.force * (1, 1, -1)
        np.testing.assert_allclose(image.force, expected, rtol=0, atol=1e-4 * abs(expected).max())
        assert image.medial.force[1] == pytest.approx(loads.lateral.force[1], rel=1e-4, abs=0.1)


@pytest.mark.slow
def test_both_bodies_moved_together():
    still = layers.plates()
    turn = Rotation.from_rotvec([0.2, -0.4, 0.3]).as_matrix()
    step = np.array([0.03, -0.02, 0.05])
    tibia = still.tibia
    moved = TriangleMesh(tibia.vertices @ turn.T + step, tibia.faces, "moved")
    model = FiniteElementContact(
        still.femur, moved, still.layer, spacing=2e-3, compartments=still.compartments
    )
    pose = Pose(superior=0.04 + 6e-3 - 0.5e-3, lateral=20.3e-3, anterior=0.4e-3)
    new = turned_pose(turn @ pose.rotation_matrix, 0.0)
    place = turn @ pose.translation + step
    new = replace(new, anterior=place[0], superior=place[1], lateral=place[2])
    first, second = still.evaluate(pose), model.evaluate(new)
    assert first.force[1] > 1.0
    assert np.linalg.norm(second.force) == pytest.approx(np.linalg.norm(first.force), rel=1e-2)
    assert second.area == pytest.approx(first.area, rel=0.1)
    np.testing.assert_allclose(
        second.centre_of_pressure, turn @ first.centre_of_pressure + step, atol=0.1e-3
    )


def test_contact_at_the_rim_and_at_the_end_of_the_nodes_is_flagged():
    model = layers.plates()
    inside = Pose(superior=0.0452, lateral=20.5e-3)
    assert model.evaluate(inside).flags == ()
    pose = replace(inside, anterior=10e-3)
    flags = model.evaluate(pose).flags
    assert Flag(FlagKind.RIM, "lateral") in flags
    # The loads at the rim are an answer.
    assert model.compartment_flags(pose, "lateral") == ()
    candidates = np.abs(model.tibia.centroids[:, 0]) < 5e-3
    part = layers.plate_contact(candidates=candidates)
    flags = part.evaluate(replace(inside, anterior=6e-3)).flags
    end = Flag(FlagKind.END_OF_NODES, "lateral")
    assert end in flags
    assert part.compartment_flags(replace(inside, anterior=6e-3), "lateral") == (end,)
    assert part.compartment_flags(replace(inside, anterior=6e-3), "medial") == ()


def test_nodes_that_are_no_candidates_still_bear():
    whole = layers.plates()
    part = layers.plate_contact(candidates=np.abs(whole.tibia.centroids[:, 0]) < 6e-3, growth=1.0)
    pose = Pose(superior=0.0457, lateral=20e-3)
    assert len(part.layers[1].candidates) < len(whole.layers[1].candidates)
    assert part.evaluate(pose).force[1] == pytest.approx(whole.evaluate(pose).force[1], rel=0.02)
    with pytest.raises(
        InputError, match="candidates: expected triangles of the lateral compartment, found none"
    ):
        layers.plate_contact(candidates=whole.compartments == 0)


def test_too_few_nodes_are_refused():
    with pytest.raises(
        InputError, match=r"plates: 16 nodes 5 mm apart .* expected at least 25"
    ) as caught:
        layers.plate_contact(spacing=5e-3)
    assert str(caught.value).endswith("; decrease spacing")


def test_deep_contact_is_flagged():
    model = layers.plate_contact(ThicknessBase(1e-3))
    flags = model.evaluate(Pose(superior=0.046 - 1.2e-3, lateral=20e-3)).flags
    assert (FlagKind.LARGE_STRAIN, "lateral") in [flag.cause for flag in flags]


def test_pressures_of_the_triangles_carry_the_load():
    model = layers.plates()
    pose = Pose(superior=0.0453, lateral=20e-3)
    state, loads = model.spring_state(pose), model.evaluate(pose)
    assert state.pressure.min() >= 0.0
    carried = state.pressure @ model.tibia.areas
    assert carried == pytest.approx(loads.force[1], rel=0.05)
    assert not state.pressure[model.compartments == 0].any()


def test_triangles_interpolate_from_the_nodes():
    model = layers.plates()
    pose = Pose(superior=0.0453, lateral=20e-3)
    places, nodes = model.pressure_places("lateral"), model.place_state(pose, "lateral")
    assert nodes.pressure @ places.areas == pytest.approx(model.evaluate(pose).force[1], rel=0.02)
    assert nodes.indentation.max() == pytest.approx(model.indentation(pose, "lateral"))
    found = (places.shares * nodes.pressure[places.corners]).sum(axis=1)
    truth = model.spring_state(pose).pressure[places.triangles]
    assert truth.max() > 0.0
    np.testing.assert_allclose(found, truth, atol=1e-9 * truth.max())


def test_float32_compliance_changes_little():
    exact, short = layers.plates(), layers.plate_contact(precision="float32")
    pose = Pose(superior=0.0453, lateral=20e-3)
    assert short.evaluate(pose).force[1] == pytest.approx(exact.evaluate(pose).force[1], rel=1e-6)
    assert short.size.storage == exact.size.storage / 2


def test_condensed_layer_agrees_with_a_sparse_solver():
    body = layers.plates().layers[0].body
    found, expected = compliance(body), sparse_compliance(body)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * expected.max())


def test_twice_the_modulus_doubles_the_force():
    soft = layers.plates()
    layer = ElasticLayer(20e6, 0.45, ThicknessBase(6e-3))
    stiff = FiniteElementContact(
        soft.femur, soft.tibia, layer, spacing=2e-3, compartments=soft.compartments
    )
    pose = Pose(superior=0.0455, lateral=20e-3)
    np.testing.assert_allclose(
        stiff.evaluate(pose).force, 2.0 * soft.evaluate(pose).force, rtol=1e-9
    )
    assert stiff.digest != soft.digest
