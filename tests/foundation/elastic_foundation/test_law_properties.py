"""Identities of the spring laws for any layer: monotony, inverse, energy, scaling, series."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from foundation.elastic_foundation.laws import LinearLaw, LogarithmicLaw, ModifiedLaw, SeriesLaw
from foundation.kernels import layers as kernels

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


def layers_of(law) -> tuple:
    return (law.first, law.second) if isinstance(law, SeriesLaw) else (law,)


def thickness(law) -> float:
    return sum(layer.thickness for layer in layers_of(law))


def indentation(layer, pressure: float) -> float:
    kinds, exponents, _, coefficients, thicknesses = layer.layers(1).arguments
    return kernels.layer_indentation(
        kinds[0], coefficients[0, 0], exponents[0], thicknesses[0, 0], pressure
    )[0]


def energy(law, depth: float) -> float:
    kinds, exponents, _, coefficients, thicknesses = law.layers(1).arguments
    return kernels.spring_energy(kinds, exponents, coefficients, thicknesses, 0, depth)


def scaled(law, modulus: float = 1.0, length: float = 1.0):
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


@given(law=SERIES, strain=STRAINS)
def test_layers_in_series_carry_one_pressure_and_share_the_indentation(law, strain):
    depth = strain * thickness(law)
    pressure = law.pressure([depth])[0]
    shares = [indentation(layer, pressure) for layer in (law.first, law.second)]
    assert_allclose(sum(shares), depth, rtol=1e-10)


@given(first=LAYERS | OFFSET_LAYERS, second=LAYERS | OFFSET_LAYERS, strain=STRAINS)
def test_series_is_symmetric_and_softer_than_either_layer(first, second, strain):
    depths = strain * min(first.thickness, second.thickness) * np.array([0.3, 0.8, 1.0])
    one, other = (SeriesLaw(*pair).pressure(depths) for pair in ((first, second), (second, first)))
    assert_allclose(one, other, rtol=1e-10)
    # Of the deepest spring: the others of a modified law may bear more beside another layer.
    assert one[-1] <= min(layer.pressure(depths)[-1] for layer in (first, second))


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


def bends_between(law, low: float, high: float) -> list[float]:
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
