"""Sphere on a layer: elements and contact against closed forms and the exact linear solution."""

import numpy as np
import pytest

from benchmarks.axisymmetric_layer import (
    AxisymmetricLayer,
    Case,
    ConvergenceError,
    Indentation,
    edge,
    peak,
    press,
    press_linear,
    shares,
)
from benchmarks.large_strain import exact_contact
from benchmarks.layer_friction import press_slipping, press_with_friction
from foundation.base.errors import InputError

CARTILAGE = Case(10e6, 0.45, 6e-3, 27e-3)
DEPTH = 1e-3
LAME, SHEAR = CARTILAGE.lame


@pytest.fixture(scope="module")
def model():
    return AxisymmetricLayer(CARTILAGE, 0.2e-3, 9e-3)


@pytest.fixture(scope="module")
def compliance(model):
    return model.compliance()


def nominal_stress(energy, radial, axial):
    """Return the axial stress per undeformed area of a homogeneous stretch."""
    volume, square = radial**2 * axial, 2.0 * radial**2 + axial**2
    if energy == "coupled":
        return SHEAR * (axial - 1.0 / axial) + LAME * np.log(volume) / axial
    bulk = LAME + 2.0 * SHEAR / 3.0
    shearing = SHEAR * volume ** (-2.0 / 3.0) * (axial - square / (3.0 * axial))
    return shearing + bulk * (volume - 1.0) * volume / axial


@pytest.mark.parametrize("energy", ["coupled", "split"])
def test_homogeneous_stretch_has_the_stress_of_the_energy(energy):
    model = AxisymmetricLayer(CARTILAGE, 1e-3, 4e-3, energy)
    radial, axial = 1.07, 0.8
    volume = radial**2 * axial
    r, z = model.mesh.p
    dofs, state = model.basis.nodal_dofs, model.rest
    state[dofs[0]], state[dofs[1]] = (radial - 1.0) * r, (axial - 1.0) * z
    strain = np.log(volume) if energy == "coupled" else volume - 1.0
    state[model.basis.interior_dofs] = strain
    _, forces = model.equilibrium(state)
    total = forces[dofs[1, z == z.max()]].sum()
    expected = np.pi * r.max() ** 2 * nominal_stress(energy, radial, axial)
    np.testing.assert_allclose(total, expected, rtol=1e-10)
    inner = (z > 0.0) & (z < z.max()) & (r < r.max())
    assert np.abs(forces[dofs[:, inner]]).max() < 1e-10 * abs(total)
    assert np.abs(forces[model.basis.interior_dofs]).max() < 1e-10 * abs(total)


@pytest.mark.parametrize("energy", ["coupled", "split"])
def test_tangent_is_the_derivative_of_the_forces(energy):
    model = AxisymmetricLayer(CARTILAGE, 2e-3, 6e-3, energy)
    rng = np.random.default_rng(1)
    scale = np.full(model.basis.N, 0.05)
    scale[model.basis.nodal_dofs] = 1e-4
    scale[model.fixed] = 0.0
    state, along = (scale * rng.normal(size=len(scale)) for _ in range(2))
    tangent, _ = model.equilibrium(state)
    after, before = (model.equilibrium(state + h * along)[1] for h in (1e-4, -1e-4))
    slope = (after - before) / 2e-4
    np.testing.assert_allclose(tangent @ along, slope, rtol=0, atol=1e-6 * np.abs(slope).max())


def test_inverted_element_is_an_error():
    model = AxisymmetricLayer(CARTILAGE, 2e-3, 6e-3)
    state = model.rest
    state[model.dofs[1]] = -1.5 * CARTILAGE.thickness
    with pytest.raises(ConvergenceError, match="inverted"):
        model.equilibrium(state)


def test_hertz_is_the_limit_of_a_thick_layer():
    case = Case(1.0, 0.3, 1e5, 100.0)
    found = exact_contact(case, 0.01)
    hertz = 4.0 / 3.0 / (1.0 - 0.3**2) * np.sqrt(100.0) * 0.01**1.5
    np.testing.assert_allclose(found.load, hertz, rtol=1e-4)
    np.testing.assert_allclose(
        found.peak_pressure, 1.5 * hertz / np.pi, rtol=1e-4
    )  # the radius is 1
    np.testing.assert_allclose(found.contact_radius, 1.0, rtol=1e-4)


@pytest.mark.parametrize("approach", [0.5e-3, DEPTH])
def test_linear_layer_has_the_exact_force_peak_and_radius(model, compliance, approach):
    found = press_linear(model, compliance, approach)
    exact = exact_contact(CARTILAGE, approach)
    np.testing.assert_allclose(found.force, exact.load, rtol=2e-3)
    np.testing.assert_allclose(
        [peak(found), edge(found)], [exact.peak_pressure, exact.contact_radius], rtol=6e-3
    )


def test_contact_beyond_the_reach_is_an_error():
    model = AxisymmetricLayer(CARTILAGE, 0.5e-3, 4e-3)
    with pytest.raises(InputError, match="increase the reach"):
        press_linear(model, model.compliance(), DEPTH)


@pytest.mark.slow
def test_neo_hookean_layer_is_linear_at_a_small_approach():
    model = AxisymmetricLayer(CARTILAGE, 0.05e-3, 1.2e-3)
    small = press_linear(model, model.compliance(), 0.02e-3)
    large = press(model, 0.02e-3, model.rest, small.normal > 0.0)
    np.testing.assert_allclose(large.force, small.force, rtol=1e-3)
    np.testing.assert_allclose(peak(large), peak(small), rtol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("energy", "force", "pressure"), [("coupled", 0.024, 0.037), ("split", 0.036, 0.059)]
)
def test_departure_at_a_sixth_of_the_thickness(energy, force, pressure):
    model = AxisymmetricLayer(CARTILAGE, 0.25e-3, 9e-3, energy)
    small = press_linear(model, model.compliance(), DEPTH)
    large = press(model, DEPTH, model.rest, small.normal > 0.0)
    np.testing.assert_allclose(large.force / small.force - 1.0, force, rtol=0, atol=1.5e-3)
    np.testing.assert_allclose(peak(large) / peak(small) - 1.0, pressure, rtol=0, atol=1.5e-3)


@pytest.mark.slow
def test_neo_hookean_contact_is_in_equilibrium_and_does_not_cross_the_sphere(model, compliance):
    start = press_linear(model, compliance, DEPTH).normal > 0.0
    found = press(model, DEPTH, model.rest, start)
    _, forces = model.equilibrium(found.state)
    base = model.basis.nodal_dofs[1, model.mesh.p[1] == 0.0]
    np.testing.assert_allclose(forces[base].sum(), found.force, rtol=1e-7)
    height = CARTILAGE.thickness + found.state[model.dofs[1]]
    centre = CARTILAGE.thickness - DEPTH + CARTILAGE.radius
    gap = np.hypot(found.radius, height - centre) - CARTILAGE.radius
    assert gap.min() > -1e-5 * CARTILAGE.thickness
    assert (found.normal >= 0.0).all()
    assert (gap[found.normal == 0.0] >= 0.0).all()


def test_peak_and_edge_of_hertz_pressure():
    radius = np.arange(0.0, 2.0, 0.05)
    pressure = 3.0 * np.sqrt(np.maximum(1.0 - radius**2 / 1.23**2, 0.0))
    found = Indentation(radius, pressure, pressure, 0.0, np.empty(0))
    np.testing.assert_allclose(peak(found), 3.0, rtol=1e-3)
    np.testing.assert_allclose(edge(found), 1.23, rtol=1e-12)


def test_shares_add_up_to_the_cone():
    radius = np.array([0.0, 0.3, 0.5, 1.2])
    np.testing.assert_allclose(
        shares(radius, 2.0 * radius).sum(), np.pi * 1.2**2 * np.sqrt(5.0), rtol=1e-12
    )


def test_no_friction_changes_nothing(model, compliance):
    found = press_slipping(model, compliance, DEPTH, 0.0).contact
    np.testing.assert_allclose(found.force, press_linear(model, compliance, DEPTH).force, rtol=1e-9)


def test_friction_is_coulombs(model, compliance):
    depths = np.arange(1, 11) * 0.05e-3
    before, after = list(press_with_friction(model, compliance, depths, 0.04))[-2:]
    bound = 0.04 * after.contact.normal
    assert (np.abs(after.friction) <= bound * (1.0 + 1e-9)).all()
    moved = after.displacement - before.displacement
    touching = (after.contact.normal > 0.0) & (after.contact.radius > 0.0)
    sticking = touching & (np.abs(after.friction) < 0.999 * bound)
    slipping = touching & ~sticking
    assert sticking.sum() > 2
    assert slipping.sum() > 2
    assert np.abs(moved[sticking]).max() < 1e-6 * np.abs(moved[slipping]).max()
    # Nodes stick where they came into contact or slid to before, not at their place at rest.
    assert np.abs(after.displacement[sticking]).max() > 0.1 * np.abs(moved[slipping]).max()
    assert (moved[slipping] * after.friction[slipping] < 0.0).all()


def test_friction_against_the_bulging_surface_adds_force(model, compliance):
    plain, rubbing = (press_slipping(model, compliance, DEPTH, mu) for mu in (0.0, 0.04))
    assert plain.displacement[plain.contact.normal > 0.0].min() >= 0.0
    added = rubbing.contact.force / plain.contact.force - 1.0
    np.testing.assert_allclose(added, 7.3e-3, rtol=0, atol=5e-4)
