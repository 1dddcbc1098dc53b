"""Spring laws: published limits, series springs, and what is refused."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from beds import NU, E, H
from hypothesis import given
from hypothesis import strategies as st
from naive import confined_modulus, series_pressure
from scipy.integrate import quad

from foundation.elastic_foundation.laws import LinearLaw, LogarithmicLaw, ModifiedLaw, SeriesLaw

DEPTHS = np.array([0.0, 1e-6, 1e-5, 1e-4, 3e-4])


def test_linear_law_is_the_confined_modulus_over_thickness():
    # OpenSim-JAM's value for these parameters: 6.322 MPa per mm.
    assert LinearLaw(E, NU, H).pressure([1e-3])[0] == pytest.approx(6.322e6, rel=1e-4)
    expected = confined_modulus(E, NU) * DEPTHS / H
    np.testing.assert_allclose(LinearLaw(E, NU, H).pressure(DEPTHS), expected, rtol=1e-14)


def test_blankevoort1991_logarithmic_law():
    expected = -confined_modulus(E, NU) * np.log1p(-DEPTHS / H)
    np.testing.assert_allclose(LogarithmicLaw(E, NU, H).pressure(DEPTHS), expected, rtol=1e-13)


def test_logarithmic_law_is_the_linear_one_at_small_strain():
    ratio = LogarithmicLaw(E, NU, H).pressure([1e-9])[0] / LinearLaw(E, NU, H).pressure([1e-9])[0]
    assert ratio == pytest.approx(1.0, rel=1e-6)


def test_logarithmic_law_goes_on_along_its_tangent_beyond_its_strain_limit():
    law = LogarithmicLaw(E, NU, H)
    below, limit, above, far = law.pressure(np.array([0.98999, 0.99, 0.99001, 1.5]) * H)
    assert limit - below == pytest.approx(above - limit, rel=1e-2)
    assert far > above
    assert np.isfinite(far)


def test_perezgonzalez2008_modified_law_with_infinite_f_and_unit_m_is_the_original():
    modified = ModifiedLaw(E, NU, H, f=np.inf, m=1.0, reference_indentation=0.37e-3)
    np.testing.assert_allclose(
        modified.pressure(DEPTHS), LinearLaw(E, NU, H).pressure(DEPTHS), rtol=1e-14
    )


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
    assert law.effective_thickness == pytest.approx(H / 0.5e-3**0.3, rel=1e-14)
    bearing = 2e-4 - 3e-4 / 3.0
    expected = confined_modulus(E, NU) * bearing**0.7 / law.effective_thickness
    assert law.pressure([2e-4, 3e-4])[0] == pytest.approx(float(expected), rel=1e-12)


def test_modified_law_does_not_bear_outside_its_smaller_patch():
    law = ModifiedLaw(E, NU, H, f=2.0, m=0.5)
    assert list(law.pressure([1e-4, 0.49e-4, 0.51e-4]) > 0) == [True, False, True]


def test_two_linear_layers_are_springs_in_series():
    first, second = LinearLaw(10e6, 0.45, 3e-3), LinearLaw(25e6, 0.3, 2e-3)
    k1, k2 = confined_modulus(10e6, 0.45) / 3e-3, confined_modulus(25e6, 0.3) / 2e-3
    expected = k1 * k2 / (k1 + k2) * DEPTHS
    np.testing.assert_allclose(SeriesLaw(first, second).pressure(DEPTHS), expected, rtol=1e-13)


def test_equal_layers_in_series_are_one_layer_of_both_thicknesses():
    for law in (LinearLaw, LogarithmicLaw):
        halves = SeriesLaw(law(E, NU, H / 2), law(E, NU, H / 2))
        np.testing.assert_allclose(
            halves.pressure(DEPTHS), law(E, NU, H).pressure(DEPTHS), rtol=1e-11
        )


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


def test_thickness_per_spring():
    thickness = np.array([2e-3, 4e-3])
    pressure = LinearLaw(E, NU, thickness).pressure([1e-4, 1e-4])
    assert pressure[0] == pytest.approx(2 * pressure[1], rel=1e-14)


LAYERS = (
    LinearLaw,
    LogarithmicLaw,
    partial(ModifiedLaw, f=3.0, m=0.7, reference_indentation=0.4e-3),
)


@pytest.mark.parametrize("law", LAYERS)
def test_mapped_law_is_the_same_law_on_other_thicknesses(law):
    """Values of three vertices carried to two springs, as a contact model does."""
    at_vertices, weights = np.array([2e-3, 4e-3, 9e-3]), np.array([[0.5, 0.5, 0.0], [0, 0.2, 0.8]])
    mapped = law(E, NU, at_vertices).mapped(lambda h: weights @ h)
    assert type(mapped) is type(law(E, NU, H))
    expected = law(E, NU, [3e-3, 8e-3])
    depths = np.array([1e-4, 2e-4])
    np.testing.assert_allclose(mapped.pressure(depths), expected.pressure(depths), rtol=1e-14)


@pytest.mark.parametrize("law", LAYERS)
def test_one_thickness_for_all_springs_is_not_mapped(law):
    uniform = law(E, NU, H)
    assert uniform.mapped(lambda _: pytest.fail("a number has no places to map")) is uniform


@pytest.mark.parametrize("first", LAYERS)
@pytest.mark.parametrize("second", LAYERS)
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
