"""Contact of the layer: accuracy, derivatives, energy, invariance, flags, node spacing."""

from dataclasses import replace

import layers
import numpy as np
import pytest
from differences import differences, pose_differences
from shapes import pressed_poses
from some_slow import first_of

from foundation.base.errors import InputError
from foundation.base.flags import Flag, FlagKind
from foundation.base.pose import Pose, generalised_force, generalised_force_jacobian
from foundation.finite_element.layer import ElasticLayer, PlaneBase, ThicknessBase
from foundation.finite_element.model import FiniteElementContact, extrapolated, spacing_error
from foundation.surfaces.triangle_mesh import TriangleMesh
from tests.oracles.exact_layer import exact_contact, paraboloid
from tests.oracles.flat_layer import flat_elements


@pytest.fixture(scope="module")
def implant():
    shape, model = layers.implant()
    return shape, model, pressed_poses(shape, 4, deepest=0.15e-3)


def in_contact(model, poses):
    found = [pose for pose in poses if model.loads(pose).force[1] > 10.0]
    assert found
    return found


def test_flat_layer_agrees_with_the_exact_solution():
    found = layers.flat().at_load(1000.0, turn=0.5, x=0.3e-3)
    exact = exact_contact(layers.POLYETHYLENE, paraboloid(*layers.RADII), load=1000.0, cells=64)
    assert found.approach == pytest.approx(exact.approach, rel=0.02)
    assert found.peak_pressure == pytest.approx(exact.peak_pressure, rel=0.03)
    assert found.area == pytest.approx(exact.area, rel=0.06)
    assert found.stiffness == pytest.approx(exact.stiffness, rel=0.05)


def test_jacobian_is_the_derivative_of_the_wrench(implant):
    _, model, poses = implant
    for pose in in_contact(model, poses):
        loads = model.loads(pose, 1)
        slopes = pose_differences(lambda p: model.loads(p).wrench, pose, 1e-8)
        scale = abs(loads.total_jacobian).max(axis=1, keepdims=True)
        np.testing.assert_allclose(slopes / scale, loads.total_jacobian / scale, rtol=0, atol=1e-5)
        general = generalised_force_jacobian(pose, loads.wrench, loads.total_jacobian)
        size = np.sqrt(abs(np.diag(general)))
        general /= np.outer(size, size)
        # Forces act along normals between corners, which differ from those of the patches.
        np.testing.assert_allclose(general, general.T, rtol=0, atol=0.1)


def test_generalised_forces_are_minus_the_slopes_of_the_energy(implant):
    _, model, poses = implant
    for pose in in_contact(model, poses):
        slopes = differences(lambda x: model.stored_energy(Pose.from_array(x)), pose.array, 1e-7)
        force = generalised_force(pose, model.loads(pose).wrench)
        np.testing.assert_allclose(-slopes, force, rtol=0, atol=1e-4 * abs(force).max())
        parts = [model.stored_energy(pose, name) for name in ("medial", "lateral")]
        assert sum(parts) == pytest.approx(model.stored_energy(pose))


def test_forces_have_no_jump_where_the_femur_ends():
    """Half of the step halves the largest change along a slide of a rim over the nodes."""
    ball = layers.plates().femur
    faces = ball.faces[ball.centroids[:, 0] < 3e-3]
    model = layers.plate_contact(femur=TriangleMesh(ball.vertices, faces, "cap"))

    def changes(steps):
        slide = np.linspace(-2e-3, 2e-3, steps + 1)
        poses = [replace(INSIDE, superior=0.0448, anterior=x) for x in slide]
        return abs(np.diff([model.loads(pose).force for pose in poses], axis=0)).max()

    fine, coarse = changes(80), changes(40)
    assert fine > 0.05
    assert fine < 0.6 * coarse


def test_nothing_out_of_contact(implant):
    shape, model, _ = implant
    home = shape.home_pose(0.3)
    loads = model.loads(replace(home, superior=home.superior + 5e-3), 1)
    assert not loads.wrench.any()
    assert not loads.total_jacobian.any()
    assert loads.area == loads.peak_pressure == 0.0
    assert np.isnan(loads.centre_of_pressure).all()
    assert loads.flags == ()
    assert model.stored_energy(replace(home, superior=1.0)) == 0.0


def test_ways_of_evaluation_agree_and_history_does_not_matter(implant):
    _, model, poses = implant
    rows = np.array([pose.array for pose in poses])
    one = model.loads(rows).values
    assert np.array_equal(one, model.loads(rows, threads=2).values, equal_nan=True)
    assert np.array_equal(one, model.loads(rows[::-1]).values[::-1], equal_nan=True)
    for row, pose in zip(one, poses, strict=True):
        loads = model.loads(pose)
        assert np.array_equal(row, [loads.medial.array, loads.lateral.array], equal_nan=True)
        for side, name in enumerate(("medial", "lateral")):
            own, _, depth = model.compartment_loads(pose, name)
            assert np.array_equal(own, row[side], equal_nan=True)
            assert (depth >= 0.0).all()
            assert (depth[0] > 0.0) == (row[side][1] > 0.0)


def test_contact_at_the_rim_and_at_the_end_of_the_nodes_is_flagged():
    model = layers.plates()
    inside = Pose(superior=0.0452, lateral=20.5e-3)
    assert model.loads(inside).flags == ()
    pose = replace(inside, anterior=10e-3)
    flags = model.loads(pose).flags
    assert Flag(FlagKind.RIM, "lateral") in flags
    # The loads at the rim are an answer.
    assert model.compartment_flags(pose, "lateral") == ()
    candidates = np.abs(model.tibia.centroids[:, 0]) < 5e-3
    part = layers.plate_contact(candidates=candidates)
    flags = part.loads(replace(inside, anterior=6e-3)).flags
    end = Flag(FlagKind.END_OF_NODES, "lateral")
    assert end in flags
    assert part.compartment_flags(replace(inside, anterior=6e-3), "lateral") == (end,)
    assert part.compartment_flags(replace(inside, anterior=6e-3), "medial") == ()


def test_the_sides_of_a_layer_of_a_thickness_are_held():
    held, free = layers.plates(), layers.plate_contact(PlaneBase())
    inside = Pose(superior=0.0459, lateral=20.5e-3)
    at_rim = replace(inside, anterior=10e-3)
    ratios = [held.loads(p).force[1] / free.loads(p).force[1] for p in (inside, at_rim)]
    assert ratios[0] == pytest.approx(1.0, abs=0.05)
    assert ratios[1] > 1.5


def test_nodes_that_are_no_candidates_still_bear():
    whole = layers.plates()
    part = layers.plate_contact(candidates=np.abs(whole.tibia.centroids[:, 0]) < 6e-3, growth=1.0)
    pose = Pose(superior=0.0457, lateral=20e-3)
    assert len(part.layers[1].candidates) < len(whole.layers[1].candidates)
    assert part.loads(pose).force[1] == pytest.approx(whole.loads(pose).force[1], rel=0.02)
    with pytest.raises(
        InputError, match="candidates: expected triangles of the lateral compartment, found none"
    ):
        layers.plate_contact(candidates=whole.compartments == 0)


def test_deep_contact_is_flagged():
    model = layers.plate_contact(ThicknessBase(1e-3))
    flags = model.loads(Pose(superior=0.046 - 1.2e-3, lateral=20e-3)).flags
    assert (FlagKind.LARGE_STRAIN, "lateral") in [flag.cause for flag in flags]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (PlaneBase(), PlaneBase()),
        (ThicknessBase(np.full(242, 6e-3)), ThicknessBase(np.full(242, 5.3e-3))),
        (ThicknessBase(6e-3), ThicknessBase(6e-3)),
    ],
)
def test_evenly_worn_layer_is_the_layer_of_the_lower_surface(before, after):
    model, pose, worn = layers.plate_contact(before), Pose(superior=0.0448, lateral=20e-3), 0.7e-3
    tibia = model.tibia
    lower = replace(tibia, vertices=tibia.vertices - np.array([0.0, worn, 0.0]))
    layer = ElasticLayer(10e6, 0.45, after)
    expected = FiniteElementContact(
        model.femur, lower, layer, spacing=2e-3, compartments=model.compartments
    )
    found = model.worn(np.full(len(tibia.faces), worn))
    assert expected.loads(pose).force[1] > 0.0
    np.testing.assert_allclose(
        found.loads(pose).total.array, expected.loads(pose).total.array, rtol=1e-8, atol=1e-9
    )
    np.testing.assert_allclose(model.layer_thickness, 6e-3, rtol=1e-9)
    with pytest.raises(InputError, match="depth: expected less than the thickness, found 6"):
        model.worn(np.full(len(tibia.faces), 6.1e-3))


def test_triangles_interpolate_from_the_nodes():
    model = layers.plates()
    pose = Pose(superior=0.0453, lateral=20e-3)
    places, nodes = model.pressure_places("lateral"), model.place_state(pose, "lateral")
    assert nodes.pressure @ places.areas == pytest.approx(model.loads(pose).force[1], rel=0.02)
    assert nodes.indentation.max() == pytest.approx(model.indentation(pose, "lateral"))
    found = (places.shares * nodes.pressure[places.corners]).sum(axis=1)
    truth = model.spring_state(pose).pressure[places.triangles]
    assert truth.max() > 0.0
    np.testing.assert_allclose(found, truth, atol=1e-9 * truth.max())


INSIDE = Pose(superior=0.0452, lateral=20.5e-3)


@pytest.mark.parametrize("ratio", [2.0, 1.5])
def test_what_falls_with_the_square_of_the_spacing_is_extrapolated_exactly(ratio):
    limit, slope = np.array([3.0, -2.0]), np.array([0.7, 5.0])
    found = extrapolated(limit + slope * ratio**2, limit + slope, ratio)
    np.testing.assert_allclose(found, limit, rtol=1e-14)


@pytest.mark.parametrize(
    "layer",
    first_of([
        (0.4999, 1.5e-3, 3.0, 0.1, 0.75e-3),
        (0.499, 1.5e-3, 3.0, 0.1, 0.75e-3),
        (0.47, 1e-3, 8.0, 0.3, 2e-3),
    ]),
)  # fmt: skip
def test_coarse_nodes_of_a_thin_or_nearly_incompressible_layer_are_flagged(layer):
    force, area, flags = flat_elements(*layer)
    ((most_force, most_area),) = (
        flag.values[-2:] for flag in flags if flag.kind is FlagKind.COARSE_NODES
    )
    assert abs(100.0 * force) < 1.2 * most_force
    assert -100.0 * area < 1.2 * most_area


@pytest.mark.parametrize("ratio", first_of([0.46, 0.45]))
def test_ordinary_layers_are_not_flagged(ratio):
    force, _, flags = flat_elements(ratio, 3e-3, 2.0, 0.1, 1e-3)
    assert flags == ()
    assert force == pytest.approx(0.0, abs=0.01)


def test_poses_at_a_rim_are_counted():
    at_rim = replace(INSIDE, anterior=10e-3)
    assert [layers.plates().peaks_at_rim(pose, "lateral") for pose in (INSIDE, at_rim)] == [0, 1]
    assert spacing_error(layers.plates(), [INSIDE, at_rim, at_rim]).unresolved == 2
