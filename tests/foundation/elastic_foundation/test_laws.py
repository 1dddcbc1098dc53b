"""Spring laws: published limits, series springs, identities for any layer."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from beds import NU, E, H
from core_probe import layer_indentation as indentation
from hypothesis import given
from hypothesis import strategies as st
from naive import confined_modulus, series_pressure
from numpy.testing import assert_allclose
from scipy.integrate import quad

from foundation.core.library import CORE, address
from foundation.elastic_foundation.laws import LinearLaw, LogarithmicLaw, ModifiedLaw, SeriesLaw
from foundation.elastic_foundation.springs import confined_excess

DEPTHS = np.array([0.0, 1e-6, 1e-5, 1e-4, 3e-4])


def test_linear_law_is_the_confined_modulus_over_thickness():
    # OpenSim-JAM's value for these parameters: 6.322 MPa per mm.
    assert LinearLaw(E, NU, H).pressure([1e-3])[0] == pytest.approx(6.322e6, rel=1e-4)
    expected = confined_modulus(E, NU) * DEPTHS / H
    np.testing.assert_allclose(LinearLaw(E, NU, H).pressure(DEPTHS), expected, rtol=1e-14)


def test_excess_of_a_confined_layer_is_about_that_under_a_ball():
    """Exactly 2.19 under a patch twice as wide as the layer (docs/theory.md)."""
    assert confined_excess(0.46) == pytest.approx(2.19, rel=0.1)


def test_blankevoort1991_logarithmic_law():
    expected = -confined_modulus(E, NU) * np.log1p(-DEPTHS / H)
    np.testing.assert_allclose(LogarithmicLaw(E, NU, H).pressure(DEPTHS), expected, rtol=1e-13)


def test_logarithmic_law_goes_on_along_its_tangent_beyond_its_strain_limit():
    law = LogarithmicLaw(E, NU, H)
    below, limit, above, far = law.pressure(np.array([0.98999, 0.99, 0.99001, 1.5]) * H)
    assert limit - below == pytest.approx(above - limit, rel=1e-2)
    assert far > above
    assert np.isfinite(far)


@pytest.mark.parametrize("radius", [5e-3, 30e-3])
def test_perezgonzalez2008_modified_law_with_f2_m_half_is_hertz(radius):
    """Johnson 1985, eq. 4.22-4.24: force, radius of the contact, half-ellipsoid pressure."""
    young, poisson, depth = 463e6, 0.46, 40e-6
    law = ModifiedLaw.hertz(young, poisson, radius)
    plane = young / (1 - poisson**2)
    contact_radius = np.sqrt(radius * depth)
    peak = 2 * plane / np.pi * np.sqrt(depth / radius)

    def pressure(r):
        return law.pressure([depth - r**2 / (2 * radius)], patch_indentation=depth)[0]

    assert pressure(0.0) == pytest.approx(peak, rel=1e-12)
    assert pressure(0.999999 * contact_radius) > 0.0 == pressure(1.000001 * contact_radius)
    for part in (0.3, 0.7, 0.95):
        expected = peak * np.sqrt(1 - part**2)
        assert pressure(part * contact_radius) == pytest.approx(expected, rel=1e-9)
    force = quad(lambda r: 2 * np.pi * r * pressure(r), 0, contact_radius)[0]
    assert force == pytest.approx(4 / 3 * plane * np.sqrt(radius) * depth**1.5, rel=1e-6)


def test_lehtoranta2011_eq46_effective_thickness_has_dref_once():
    law = ModifiedLaw(E, NU, H, f=3.0, m=0.7, reference_indentation=0.5e-3)
    bearing = 2e-4 - 3e-4 / 3.0
    expected = confined_modulus(E, NU) * bearing**0.7 / (H / 0.5e-3**0.3)
    assert law.pressure([2e-4, 3e-4])[0] == pytest.approx(float(expected), rel=1e-12)


@given(depth=st.floats(1e-7, 4e-3), young=st.floats(1e6, 1e9))
def test_unlike_layers_in_series_carry_one_pressure(depth, young):
    log, linear = LogarithmicLaw(E, NU, 3e-3), LinearLaw(young, 0.4, 3e-3)
    pressure = SeriesLaw(log, linear).pressure([depth])[0]
    layers = (lambda d: log.pressure([d])[0], lambda d: linear.pressure([d])[0])
    assert pressure == pytest.approx(series_pressure(depth, layers), rel=1e-8)


def test_modified_layers_in_series_share_the_patch_indentation():
    """Twice the same modified layer: each takes half of every spring's indentation."""
    one = ModifiedLaw(E, NU, H, f=2.5, m=0.8)
    both = SeriesLaw(one, one).pressure(2 * DEPTHS)
    np.testing.assert_allclose(both, one.pressure(DEPTHS), rtol=1e-11)


KINDS = (
    LinearLaw,
    LogarithmicLaw,
    partial(ModifiedLaw, f=3.0, m=0.7, reference_indentation=0.4e-3),
)


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_both_layers_of_a_series_are_mapped(first, second):
    h, k = np.array([2e-3, 4e-3, 9e-3]), np.array([5e-3, 3e-3, 1e-3])
    depths = np.array([1e-4, 2e-4])
    both = SeriesLaw(first(E, NU, h), second(E, NU, k)).mapped(lambda values: values[:0:-1])
    expected = SeriesLaw(first(E, NU, h[[2, 1]]), second(E, NU, k[[2, 1]]))
    np.testing.assert_allclose(both.pressure(depths), expected.pressure(depths), rtol=1e-14)
    one = SeriesLaw(first(E, NU, h), second(E, NU, H)).mapped(lambda values: values[:0:-1])
    assert one.second.thickness == H
    np.testing.assert_array_equal(one.first.thickness, h[[2, 1]])


def test_mapped_thickness_is_checked():
    law = LinearLaw(E, NU, [2e-3, 4e-3])
    with pytest.raises(ValueError, match="thickness: expected > 0 m everywhere"):
        law.mapped(lambda h: h - 2e-3)
    with pytest.raises(ValueError, match="one per spring, found shape"):
        law.mapped(lambda h: h[:, None])
    np.testing.assert_array_equal(law.thickness, [2e-3, 4e-3])


MODULI = st.floats(1e5, 1e10)
RATIOS = st.floats(0.0, 0.49)
THICKNESSES = st.floats(1e-3, 2e-2)
STRAINS = st.floats(1e-4, 1.5)
#: Without an offset: a spring's pressure follows from its own indentation alone.
LAYERS = st.one_of(
    st.builds(LinearLaw, MODULI, RATIOS, THICKNESSES),
    st.builds(LogarithmicLaw, MODULI, RATIOS, THICKNESSES),
    st.builds(
        ModifiedLaw, MODULI, RATIOS, THICKNESSES, f=st.just(np.inf), m=st.floats(0.4, 2.0),
        reference_indentation=st.floats(1e-4, 2e-3),
    ),
)  # fmt: skip
OFFSET_LAYERS = st.builds(
    ModifiedLaw, MODULI, RATIOS, THICKNESSES, f=st.floats(1.5, 10.0), m=st.floats(0.4, 2.0)
)
SERIES = st.builds(SeriesLaw, LAYERS, LAYERS)
LAWS = LAYERS | SERIES
#: Nodes and weights of Gauss-Legendre quadrature on (0, 1).
NODES, WEIGHTS = (0.5 * (part + shift) for part, shift in zip(
    np.polynomial.legendre.leggauss(24), (1.0, 0.0), strict=True))  # fmt: skip


def layers_of(law):
    return (law.first, law.second) if isinstance(law, SeriesLaw) else (law,)


def thickness(law):
    return sum(layer.thickness for layer in layers_of(law))


def energy(law, depth):
    depths, (pressure, found), own = np.array([depth]), np.empty((2, 1)), law.layers(1).record()
    CORE.law_pressures(own.address, 1, address(depths), 0, 0.0, address(pressure), address(found))
    return float(found[0])


def scaled(law, modulus=1.0, length=1.0):
    """Return the law of another modulus and another size."""
    if isinstance(law, SeriesLaw):
        return SeriesLaw(scaled(law.first, modulus, length), scaled(law.second, modulus, length))
    values = modulus * law.youngs_modulus, law.poissons_ratio, length * law.thickness
    if isinstance(law, ModifiedLaw):
        reference = length * law.reference_indentation
        return ModifiedLaw(*values, f=law.f, m=law.m, reference_indentation=reference)
    return type(law)(*values)


@given(law=LAWS | OFFSET_LAYERS, strain=STRAINS, more=st.floats(1e-6, 1.0))
def test_pressure_grows_with_indentation_and_is_zero_out_of_contact(law, strain, more):
    depth = strain * thickness(law)
    patch = (1.0 + more) * depth
    away, less, greater = law.pressure([-depth, depth, patch], patch_indentation=patch)
    assert away == 0.0 <= less < greater < np.inf


@given(layer=LAYERS, strain=STRAINS)
def test_indentation_is_the_inverse_of_pressure(layer, strain):
    depth = strain * layer.thickness
    assert_allclose(indentation(layer, layer.pressure([depth])[0]), depth, rtol=1e-11)


@given(law=LAWS, strain=st.floats(1e-3, 1.2))
def test_energy_is_the_integral_of_pressure(law, strain):
    """Between two depths well inside contact, where a steep power has no kink."""
    low, high = np.array([0.3, 1.0]) * strain * thickness(law)
    # Each side of a logarithmic layer's limit strain by itself, where its curvature jumps.
    bends = [low, *bends_between(law, low, high), high]
    work = sum((b - a) * WEIGHTS @ law.pressure(a + (b - a) * NODES) for a, b in pairwise(bends))
    # A logarithmic layer's energy is a difference of numbers of the size of its strain.
    rounding = 1e-15 * sum(layer.confined_modulus * layer.thickness for layer in layers_of(law))
    assert_allclose(energy(law, high) - energy(law, low), work, rtol=1e-6, atol=rounding)


def bends_between(law, low, high):
    layers = layers_of(law)
    logarithmic = [layer for layer in layers if isinstance(layer, LogarithmicLaw)]
    limits = [float(layer.pressure([0.99 * layer.thickness])[0]) for layer in logarithmic]
    places = [sum(indentation(layer, limit) for layer in layers) for limit in limits]
    # The pressure rises steeply before a limit: more, shorter parts there.
    parts = [place * (1.0 - gap) for place in places for gap in (0.3, 0.1, 0.03, 0.01, 0.0)]
    return sorted(part for part in parts if low < part < high)


@given(law=LAWS | OFFSET_LAYERS, strain=STRAINS, factor=st.floats(0.1, 4.0))
def test_pressure_scales_with_modulus_and_not_with_size(law, strain, factor):
    depths = strain * thickness(law) * np.array([0.6, 1.0])
    pressure = law.pressure(depths)
    assert_allclose(scaled(law, modulus=factor).pressure(depths), factor * pressure, rtol=1e-9)
    assert_allclose(scaled(law, length=factor).pressure(factor * depths), pressure, rtol=1e-9)
