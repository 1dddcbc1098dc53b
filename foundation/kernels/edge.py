"""Smoothing at the edge of a contact patch; see `foundation.elastic_foundation.edge_smoothing`."""

from __future__ import annotations

from foundation.base.compiling import fused_kernel, fused_part
from foundation.kernels.layers import POWER, spring_pressure

#: Where the tables of `edge_smoothing` end.
EDGE_END = 4.0


@fused_kernel
def edge_part(t):
    """Return the fraction T_0(t) beyond the edge, -1 <= t <= 1: the integral of the kernel."""
    square = t * t
    return 0.5 + t * (1.40625 + square * (-1.5625 + square * 0.65625))


@fused_kernel
def edge_ramp(t):
    """Return the smoothed ramp T_1(t), -1 <= t <= 1: the integral of `edge_part`."""
    square = t * t
    return 0.078125 + 0.5 * t + square * (0.703125 + square * (-0.390625 + square * 0.109375))


@fused_kernel
def table_value(table, t):
    """Return value and derivative of tabulated quintics (N, 6) over -1 <= t <= `EDGE_END`."""
    pieces = table.shape[0]
    scale = pieces / (EDGE_END + 1.0)
    position = (t + 1.0) * scale
    piece = min(int(position), pieces - 1)
    x = position - piece
    value = slope = 0.0
    for k in range(6):
        slope = slope * x + value
        value = value * x + table[piece, k]
    return value, slope * scale


@fused_kernel
def edge_power(table, exponent, t):
    """Return the smoothed power T_m(t) of `edge_smoothing` and its derivative, t > -1."""
    m = exponent
    if m == 1.0:
        return (edge_ramp(t), edge_part(t)) if t < 1.0 else (t, 1.0)
    if t < EDGE_END:
        return table_value(table, t)
    # The first terms of its series in 1/t.
    fourth = -m * (m - 1.0) * (m - 2.0) * (m - 3.0) / 504.0 / (t * t * t * t)
    power = t**m
    return power * (1.0 + fourth), power / t * (m + (m - 4.0) * fourth)


@fused_part
def edge_pressure(
    kinds, exponents, offsets, coefficients, thicknesses, lead, exponent, table, spring, height,
    rise,
):  # fmt: skip
    """Return the pressure smoothed over the indentations height + rise x, |x| <= 1.

    A point of the bed near the edge of the contact patch represents its surroundings, so that loads
    vary smoothly as the edge passes over the point. The leading term of the law, ``lead`` d^m, is
    smoothed; the rest of the pressure is flat at the edge and evaluated at the point.

    Returns the pressure and its derivatives by height and rise.
    """
    m = exponent
    value, slope = edge_power(table, m, height / rise)
    scale = lead[spring] if m == 1.0 else lead[spring] * rise ** (m - 1.0)
    mean, by_height = scale * rise * value, scale * slope
    by_rise = scale * (m * value - height / rise * slope)
    if height > 0.0 and (kinds.shape[0] > 1 or kinds[0] != POWER):
        p, dp = spring_pressure(
            kinds, exponents, offsets, coefficients, thicknesses, spring, height
        )
        power = 1.0 if m == 1.0 else height ** (m - 1.0)
        mean += p - lead[spring] * height * power
        by_height += dp - lead[spring] * m * power
    return mean, by_height, by_rise
