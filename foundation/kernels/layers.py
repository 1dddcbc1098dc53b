"""Spring laws.

A law consists of arrays with one row per elastic layer (one, or two in series):

- ``kinds`` (L,): `POWER`, p = c d^m, or `LOGARITHMIC`, p = -c ln(1 - d/h);
- ``exponents`` (L,): m of the power kind;
- ``offsets`` (L,): 1/f of the modified law (the layer carries load beyond this fraction of the
  patch's largest indentation), 0 for the others;
- ``coefficients`` (L, S), ``thicknesses`` (L, S): c and h of each spring.
"""

from __future__ import annotations

import numpy as np

from foundation.base.compiling import fused_kernel, fused_part
from foundation.base.loads import STRAIN_LIMIT

POWER = 0
LOGARITHMIC = 1

_NEWTON_STEPS = 60


@fused_part
def layer_pressure(kind, coefficient, exponent, thickness, indentation):
    """Return pressure and dp/dd of one layer at a bearing indentation d >= 0 [m]."""
    if indentation <= 0.0:
        return 0.0, 0.0
    if kind == LOGARITHMIC:
        strain = min(indentation / thickness, STRAIN_LIMIT)
        slope = coefficient / (thickness * (1.0 - strain))
        beyond = indentation - strain * thickness
        return -coefficient * np.log1p(-strain) + slope * beyond, slope
    if exponent == 1.0:
        return coefficient * indentation, coefficient
    pressure = coefficient * indentation**exponent
    return pressure, exponent * pressure / indentation


@fused_kernel
def layer_indentation(kind, coefficient, exponent, thickness, pressure):
    """Return bearing indentation d and dd/dp of one layer at a pressure p > 0."""
    if kind == LOGARITHMIC:
        limit = -coefficient * np.log1p(-STRAIN_LIMIT)
        if pressure > limit:
            compliance = thickness * (1.0 - STRAIN_LIMIT) / coefficient
            return STRAIN_LIMIT * thickness + compliance * (pressure - limit), compliance
        remaining = np.exp(-pressure / coefficient)
        return thickness * -np.expm1(-pressure / coefficient), thickness * remaining / coefficient
    if exponent == 1.0:
        return pressure / coefficient, 1.0 / coefficient
    indentation = (pressure / coefficient) ** (1.0 / exponent)
    return indentation, indentation / (exponent * pressure)


@fused_kernel
def series_pressure(
    kinds, exponents, offsets, coefficients, thicknesses, spring, indentation, at_centre
):
    """Return pressure, dp/dd and share-weighted offset slope of layers in series.

    The layers share `indentation` at equal pressure. With `at_centre` the spring is the deepest of
    its patch, where the bearing indentation of a modified layer is d (1 - 1/f).

    Returns (pressure, dp/dd, sum of the layers' offsets, derivative of that sum by d); the last
    two only with `at_centre`, else 0.
    """
    if indentation <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    layers = kinds.shape[0]
    high = np.inf
    for k in range(layers):
        bearing = 1.0 - offsets[k] if at_centre else 1.0
        p, _ = layer_pressure(
            kinds[k],
            coefficients[k, spring],
            exponents[k],
            thicknesses[k, spring],
            indentation * bearing,
        )
        high = min(high, p)
    low = 0.0
    pressure = high
    for _ in range(_NEWTON_STEPS):
        if layers == 1:
            break
        excess = -indentation
        compliance = 0.0
        for k in range(layers):
            bearing = 1.0 - offsets[k] if at_centre else 1.0
            d, slope = layer_indentation(
                kinds[k], coefficients[k, spring], exponents[k], thicknesses[k, spring], pressure
            )
            excess += d / bearing
            compliance += slope / bearing
        if excess > 0.0:
            high = pressure
        else:
            low = pressure
        step = excess / compliance
        candidate = pressure - step
        if not (low <= candidate <= high):
            candidate = 0.5 * (low + high)
        done = abs(candidate - pressure) <= 1e-15 * pressure
        pressure = candidate
        if done:
            break
    if pressure <= 0.0:
        # So small an indentation that a steep power law underflows.
        return 0.0, 0.0, 0.0, 0.0
    compliance = 0.0
    offset = 0.0
    offset_slope = 0.0
    for k in range(layers):
        bearing = 1.0 - offsets[k] if at_centre else 1.0
        d, slope = layer_indentation(
            kinds[k], coefficients[k, spring], exponents[k], thicknesses[k, spring], pressure
        )
        compliance += slope / bearing
        if at_centre:
            offset += offsets[k] * d / bearing
            offset_slope += offsets[k] * slope / bearing
    return pressure, 1.0 / compliance, offset, offset_slope / compliance


@fused_part
def layer_energy(kind, coefficient, exponent, thickness, indentation):
    """Return the energy per area of one layer, the integral of its pressure over d >= 0 [J/m²]."""
    if indentation <= 0.0:
        return 0.0
    if kind == LOGARITHMIC:
        strain = min(indentation / thickness, STRAIN_LIMIT)
        rest = 1.0 - strain
        beyond = indentation - strain * thickness
        pressure, slope = layer_pressure(kind, coefficient, exponent, thickness, strain * thickness)
        return (
            coefficient * thickness * (rest * np.log(rest) + strain)
            + (pressure + 0.5 * slope * beyond) * beyond
        )
    if exponent == 1.0:
        return 0.5 * coefficient * indentation * indentation
    return coefficient * indentation ** (exponent + 1.0) / (exponent + 1.0)


@fused_part
def spring_pressure(kinds, exponents, offsets, coefficients, thicknesses, spring, indentation):
    """Return pressure and dp/dd of a spring at the bearing indentation d."""
    if kinds.shape[0] == 1:
        return layer_pressure(
            kinds[0], coefficients[0, spring], exponents[0], thicknesses[0, spring], indentation
        )
    pressure, slope, _, _ = series_pressure(
        kinds, exponents, offsets, coefficients, thicknesses, spring, indentation, False
    )
    return pressure, slope


@fused_part
def spring_strain(kinds, exponents, offsets, coefficients, thicknesses, spring, indentation):
    """Return the largest strain of a spring's layers at the bearing indentation d."""
    if kinds.shape[0] == 1 or indentation <= 0.0:
        return indentation / thicknesses[0, spring]
    pressure, _, _, _ = series_pressure(
        kinds, exponents, offsets, coefficients, thicknesses, spring, indentation, False
    )
    strain = 0.0
    for k in range(kinds.shape[0]):
        h = thicknesses[k, spring]
        if pressure > 0.0:
            d, _ = layer_indentation(kinds[k], coefficients[k, spring], exponents[k], h, pressure)
            strain = max(strain, d / h)
    return strain


@fused_kernel
def spring_energy(kinds, exponents, coefficients, thicknesses, spring, indentation):
    """Return the energy per area of a spring [J/m²] at the bearing indentation d."""
    if kinds.shape[0] == 1:
        return layer_energy(
            kinds[0], coefficients[0, spring], exponents[0], thicknesses[0, spring], indentation
        )
    pressure, _, _, _ = series_pressure(
        kinds, exponents, np.zeros(kinds.shape[0]), coefficients, thicknesses, spring, indentation,
        False,
    )  # fmt: skip
    energy = 0.0
    for k in range(kinds.shape[0]):
        if pressure > 0.0:
            c, m, h = coefficients[k, spring], exponents[k], thicknesses[k, spring]
            d, _ = layer_indentation(kinds[k], c, m, h, pressure)
            energy += layer_energy(kinds[k], c, m, h, d)
    return energy
