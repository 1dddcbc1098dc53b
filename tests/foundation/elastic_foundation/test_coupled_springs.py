"""Coupled springs against exact layers, Hertz's contact, identities and independent springs."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import shapes
from beds import IMPLANT, implant_model
from scipy.optimize import brentq
from some_slow import first_of, first_rows

from foundation.base.errors import InputError, PoseError
from foundation.base.flags import FlagKind
from foundation.base.loads import AREA, AXIAL_FORCE, COMPARTMENTS, PEAK_PRESSURE
from foundation.base.pose import Pose, twist_jacobian
from foundation.elastic_foundation.laws import CoupledLaw, LinearLaw, ModifiedLaw, SeriesLaw
from foundation.elastic_foundation.model import Dissipation, ElasticFoundation
from foundation.surfaces.triangle_mesh import TriangleMesh
from tests.oracles.exact_layer import CASES, exact_contact, paraboloid
from tests.oracles.flat_layer import ball, flat_bed

E, NU, H = 463e6, 0.46, 8e-3


def flat_contact(law, radii, half, cells=48):
    """Rigid paraboloid on a flat layer that is medial but for one triangle; touch is at 0."""
    plate = shapes.plate(2 * half, cells)
    femur = shapes.swept(
        lambda x, z: x**2 / (2 * radii[0]) + z**2 / (2 * radii[1]), half, cells, cells, half
    )
    labels = np.zeros(len(plate.faces), np.int8)
    labels[0] = 1
    return ElasticFoundation(femur, plate, law, compartments=labels)


@cache
def implant(law="coupled", edge=1.5e-3):
    """Built-in implant with a law of its insert, and its shape."""
    kind = {"coupled": CoupledLaw, "linear": LinearLaw}[law]
    return IMPLANT, implant_model(kind(E, NU, H), edge=edge)


def pressed(count=3, depth=0.1e-3):
    """Poses of the built-in implant in contact."""
    shape, model = implant()
    drawn = shapes.pressed_poses(shape, 20, seed=3, deepest=depth)
    touching = [p for p in drawn if (model.loads(p.array[None]).values[0, :, 1] > 50.0).all()]
    return touching[:count]


@pytest.mark.parametrize("case", first_of([CASES[0], CASES[3], CASES[2]]), ids=lambda c: c.name)
def test_a_flat_layer_bears_as_exact_contact(case):
    layer = case.layer
    exact = exact_contact(layer, paraboloid(*case.radii), load=case.load, cells=64)
    model = flat_bed(case, exact)
    pose = Pose(0, 0, 0, 0.1e-3, -exact.approach, 0.2e-3)
    loads, jacobian, depth = model.compartment_loads(pose, "medial")
    assert loads[AXIAL_FORCE] == pytest.approx(case.load, rel=0.01)
    assert loads[PEAK_PRESSURE] == pytest.approx(exact.peak_pressure, rel=0.01)
    assert loads[AREA] == pytest.approx(exact.area, rel=0.025)
    assert -jacobian[1, 4] == pytest.approx(exact.stiffness, rel=0.025)
    assert depth[0] == pytest.approx(exact.approach, rel=1e-3)
    linear = model.with_law(LinearLaw(layer.youngs_modulus, layer.poissons_ratio, layer.thickness))
    assert linear.compartment_loads(pose, "medial")[0][AXIAL_FORCE] > 1.3 * case.load


def test_a_thin_layer_bears_as_independent_springs():
    """The cells of the lattice are larger than the layer is thick."""
    for thickness in (2e-3, 1e-3):
        radius = 0.2**2 / (8 * thickness)  # the same patch under the same strain
        model = flat_contact(CoupledLaw(10e6, 0.2, thickness), (radius, radius), 30e-3)
        pose = Pose(superior=-0.02 * thickness)
        coupled = model.compartment_loads(pose, "medial")[0]
        linear = model.with_law(LinearLaw(10e6, 0.2, thickness))
        springs = linear.compartment_loads(pose, "medial")[0]
        assert coupled[AXIAL_FORCE] == pytest.approx(springs[AXIAL_FORCE], rel=0.01)
        assert coupled[PEAK_PRESSURE] == pytest.approx(springs[PEAK_PRESSURE], rel=0.01)
        # The edge is found as if the squared pressure rose linearly: 12 % too near here.
        assert coupled[AREA] == pytest.approx(springs[AREA], rel=0.15)


@cache
def conservative():
    """Built-in implant whose loads are the gradient of the energy."""
    _, model = implant()
    return ElasticFoundation(
        model.femur, model.tibia, model.law, compartments=model.compartments, conservative=True
    )


@pytest.mark.parametrize("kind", ["along the normals", "conservative"])
def test_jacobian_is_that_of_a_lattice_that_stays(kind):
    model = conservative() if kind == "conservative" else implant()[1]
    steps = np.array([1e-4, 1e-4, 1e-4, 5e-6, 1e-6, 5e-6])
    for pose in pressed():
        jacobian = model.compartment_loads(pose, "medial")[1]
        numeric = np.empty((6, 6))
        for k, step in enumerate(steps):
            rows = np.tile(pose.array, (2, 1))
            rows[:, k] += step, -step
            first, second = model.loads(rows).values[:, 0, :6]
            numeric[:, k] = (first - second) / (2 * step)
        largest = np.abs(numeric).max(axis=1, keepdims=True)
        assert np.abs((jacobian - numeric) / largest).max() < 0.15
        assert jacobian[1, 4] == pytest.approx(numeric[1, 4], rel=0.06)


def test_two_equal_layers_are_one_of_half_the_modulus():
    radii = (0.2, 0.2)
    one = flat_contact(CoupledLaw(0.5 * E, NU, H), radii, 12e-3)
    layer = CoupledLaw(E, NU, H)
    pose = Pose(superior=-0.05e-3)
    expected = one.compartment_loads(pose, "medial")
    found = one.with_law(SeriesLaw(layer, layer)).compartment_loads(pose, "medial")
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6, atol=1.0)


def test_pressures_on_the_triangles_bear_the_force():
    _, model = implant()
    for pose in pressed():
        state, loads = model.spring_state(pose), model.loads(pose)
        axial = state.pressure * model.tibia.areas * model.tibia.normals[:, 1]
        total = loads.medial.force[1] + loads.lateral.force[1]
        assert axial.sum() == pytest.approx(total, rel=0.03)
        assert state.pressure.max() == pytest.approx(
            max(loads.medial.peak_pressure, loads.lateral.peak_pressure), rel=0.03
        )
        assert not state.pressure[state.indentation <= 0.0].any()


def test_loads_are_smooth_over_the_height():
    """Nodes enter and leave contact; the lattice grows with the patch, so that few do."""
    _, model = implant()
    pose = pressed(1)[0]
    heights = pose.superior + np.linspace(-15e-6, 15e-6, 61)
    rows = np.tile(pose.array, (61, 1))
    rows[:, 4] = heights
    force = model.loads(rows).values[:, 0, AXIAL_FORCE]
    centred = (heights - pose.superior) / 15e-6
    smooth = np.polynomial.Polynomial.fit(centred, force, 4)(centred)
    assert np.abs(force - smooth).max() < 2e-3 * force.max()


@pytest.mark.parametrize("depth", first_of([1e-6, 1e-4, 1e-5, 3e-5], 2))
def test_light_touches_bear_a_load_wherever_they_are(depth):
    """Slivers at the rim, of less extent than a triangle, are of independent springs."""
    shape, model = implant(edge=2e-3)
    linear = implant("linear", 2e-3)[1]
    generator = np.random.default_rng(2)
    unlike = 0
    for _ in range(40):
        moves = generator.uniform(-1.0, 1.0, 5) * (0.03, 0.15, 8e-3, 0.0, 2e-3)
        home = shape.home_pose(generator.uniform(0.0, 1.2)).array
        pose = Pose.from_array(home + np.array([0.0, *moves]))
        for side in COMPARTMENTS:
            touch = brentq(
                lambda y, pose=pose, side=side: (
                    linear.indentation(replace(pose, superior=y), side) - 0.5e-6
                ),
                pose.superior - 5e-3,
                pose.superior + 5e-3,
                xtol=1e-9,
            )
            at = replace(pose, superior=touch - depth)
            loads, jacobian, _ = model.compartment_loads(at, side)
            assert loads[AXIAL_FORCE] > 0.0
            assert jacobian[1, 4] < 0.0
            alone = linear.compartment_loads(at, side)[0]
            if abs(loads[AXIAL_FORCE] / alone[AXIAL_FORCE] - 1.0) > 1e-6:
                unlike += 1
                continue
            own = linear.compartments == COMPARTMENTS.index(side)
            pressures = (each.spring_state(at).pressure[own] for each in (model, linear))
            np.testing.assert_allclose(*pressures, rtol=1e-9)
    # The deeper, the fewer patches are slivers.
    assert unlike >= {1e-6: 10, 1e-5: 60, 3e-5: 70, 1e-4: 78}[depth]


@pytest.mark.parametrize(("lateral", "tolerance"), [(-0.452e-3, 0.15), (-1.5e-3, 0.01)])
def test_the_rim_of_a_femur_beside_a_ridge_bears_as_on_a_fine_lattice(lateral, tolerance):
    """Lines of nodes on the ridge miss the femur, or meet its far side, as on an eminence."""
    radius, rim, height, width, beside = 56.016e-3, 12.412e-3, 6.748e-3, 3.412e-3, 15.217e-3
    femur = shapes.swept(lambda x, z: radius - np.sqrt(radius**2 - x**2 - z**2), rim, 40, 40, 12e-3)
    down = shapes.swept(
        lambda x, z: height * np.exp(-(((z - beside) / width) ** 2)), 15e-3, 40, 40, 15e-3
    )
    tibia = TriangleMesh(down.vertices, down.faces[:, ::-1], "tibia")
    whole = np.zeros(len(tibia.faces), dtype=np.int8)
    forces = [
        ElasticFoundation(
            femur,
            tibia,
            CoupledLaw(10e6, 0.45, 3.603e-3, nodes_across=across),
            compartments=whole,
            compartment_names=("medial",),
        ).compartment_loads(Pose(superior=-0.754e-3, lateral=lateral), "medial")[0][AXIAL_FORCE]
        for across in (8, 12, 32)
    ]
    np.testing.assert_allclose(forces[:2], forces[2], rtol=tolerance)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"surface": "flat"}, 'expected "curved"'),
        ({"dissipation": Dissipation(friction=0.1)}, "dissipation"),
    ],
)
def test_what_only_independent_springs_have_is_refused(options, message):
    _, model = implant()
    with pytest.raises(InputError, match=message):
        ElasticFoundation(
            model.femur, model.tibia, CoupledLaw(E, NU, H), compartments=model.compartments,
            **options,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("ratio", "thickness", "size", "radius"),
    first_rows(
        [
            (0.49, 2e-3, 3.5, 0.1),
            (0.46, 2.5e-3, 3.5, 0.1),
            (0.499, 2.5e-3, 5.0, 0.3),
            (0.48, 2e-3, 6.0, 0.3),
            (0.45, 2e-3, 5.0, 0.3),
            (0.3, 1e-3, 8.0, 0.3),
        ],
        2,
    ),
)
def test_a_layer_under_a_wide_patch_bears_as_exact_contact(ratio, thickness, size, radius):
    case, exact = ball(ratio, thickness, size, radius)
    model = flat_bed(case, exact)
    pose = Pose(0, 0, 0, 0.1e-3, -exact.approach, 0.2e-3)
    loads, jacobian, _ = model.compartment_loads(pose, "medial")
    assert loads[AXIAL_FORCE] == pytest.approx(exact.load, rel=0.005)
    assert loads[PEAK_PRESSURE] == pytest.approx(exact.peak_pressure, rel=0.005)
    assert loads[AREA] == pytest.approx(exact.area, rel=0.04)
    assert -jacobian[1, 4] == pytest.approx(exact.stiffness, rel=0.05)
    assert model.loads(pose).flags == ()
    state = model.spring_state(pose)
    assert state.pressure @ model.tibia.areas == pytest.approx(exact.load, rel=0.01)


def test_independent_springs_say_how_much_too_stiff_they_are():
    for numbers in ((0.47, 1e-3, 8.0, 0.3), (0.49, 2e-3, 3.5, 0.1), (0.4999, 2e-3, 8.0, 0.3)):
        case, exact = ball(*numbers)
        layer = case.layer
        linear = flat_bed(case, exact).with_law(
            LinearLaw(layer.youngs_modulus, layer.poissons_ratio, layer.thickness)
        )
        loads = linear.loads(Pose(superior=-exact.approach))
        (flag,) = loads.flags
        assert flag.cause == (FlagKind.STIFF_SPRINGS, "medial")
        assert flag.values[1] == pytest.approx(loads.force[1] / case.load, rel=0.12)


@pytest.mark.parametrize("ratio", [0.3, 0.45, 0.46])
def test_ordinary_springs_are_not_flagged(ratio):
    case, exact = ball(ratio, 3e-3, 2.0, 0.1)
    model = flat_bed(case, exact)
    for law in (LinearLaw(10e6, ratio, 3e-3), ModifiedLaw.hertz(10e6, 0.499, 0.1)):
        assert model.with_law(law).loads(Pose(superior=-exact.approach)).flags == ()


def test_conservative_loads_are_the_gradient_of_the_energy():
    model = conservative()
    steps = np.array([1e-4, 1e-4, 1e-4, 5e-6, 1e-6, 5e-6])
    for pose in pressed(1):
        gradient = np.empty(6)
        for k, step in enumerate(steps):
            rows = np.tile(pose.array, (2, 1))
            rows[:, k] += step, -step
            energies = [model.stored_energy(Pose.from_array(row), "medial") for row in rows]
            gradient[k] = (energies[0] - energies[1]) / (2 * step)
        wrench = model.compartment_loads(pose, "medial")[0][:6]
        expected = -wrench @ twist_jacobian(pose)
        # Lengths of a lever and of the knee bring moments and forces to one size.
        size = np.array([0.02] * 3 + [1.0] * 3) * np.linalg.norm(wrench[:3])
        assert np.abs((gradient - expected) / size).max() < 0.02


def test_a_layer_too_thin_for_the_patch_is_told():
    _, model = implant()
    thin = model.with_law(CoupledLaw(E, NU, H, thickness_factor=1e-6))
    with pytest.raises(PoseError, match=r"not positive definite .* found an overlap of 0\.\d+ mm"):
        thin.loads(pressed(1)[0])
