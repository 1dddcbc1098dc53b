"""Pressure field of a compartment made from its loads: force, area, peak and mean pressure.

The field is the paraboloid p = p0 (1 - r²)^n over an ellipse of the area given, about the centre of
pressure, in the plane across the force. Its mean is p0 / (n + 1), so that n = peak/mean - 1: 0 for
a flat punch, 1/2 for the contact of Hertz, 1 for springs of a linear law between quadrics. The
ratio of the ellipse's axes cannot be seen in the loads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynamics.wear.sliding import cross
from foundation.checks import FloatArray

#: Points of the field's quadrature: rings of equal spokes.
_RINGS, _SPOKES = 3, 6
#: Largest n; a compartment that hardly touches may give any ratio of peak to mean.
_LARGEST_EXPONENT = 10.0


def field_exponent(loads: FloatArray) -> FloatArray:
    """Return n of the field, (N,); 0 where the peak is not above the mean.

    Parameters
    ----------
    loads : (N, 12) float64
        In the order of `foundation.loads.LOAD_COLUMNS`.
    """
    peak, mean = loads[:, 7], loads[:, 8]
    ratio = np.divide(peak, mean, out=np.ones(len(loads)), where=mean > 0.0)
    return np.clip(ratio - 1.0, 0.0, _LARGEST_EXPONENT)


def semi_axes(loads: FloatArray, aspect: ArrayLike) -> FloatArray:
    """Return the AP and ML semi-axes of the ellipse, (N, 2) [m].

    Parameters
    ----------
    loads : (N, 12) float64
        In the order of `foundation.loads.LOAD_COLUMNS`.
    aspect : float
        AP over ML axis.
    """
    root = np.sqrt(aspect)
    radius = np.sqrt(np.maximum(loads[:, 6], 0.0) / np.pi)
    return radius[:, None] * np.array([root, 1.0 / root])


def field_axes(loads: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the directions of the field, each (N, 3): AP, ML and the normal, that of the force.

    Parameters
    ----------
    loads : (N, 12) float64
        Their forces must not be 0.
    """
    normal = loads[:, :3] / np.linalg.norm(loads[:, :3], axis=1, keepdims=True)
    # The force of a knee is nowhere near anterior: it leans by the slope of the insert.
    along = np.array([1.0, 0.0, 0.0]) - normal[:, :1] * normal
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    return along, cross(along, normal), normal


def field_arms(loads: FloatArray, aspect: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Return points of the field and the part of the load that each stands for.

    Each ring carries its share of the load; the rings' radii give the field's second moments
    exactly, on which the mean sliding speed depends first.

    Parameters
    ----------
    loads : (N, 12) float64
        In contact, in the order of `foundation.loads.LOAD_COLUMNS`.
    aspect : float
        AP over ML axis of the ellipse.

    Returns
    -------
    arms : (N, 2, Q) float64
        AP and ML distances from the centre of pressure, along `field_axes` [m].
    shares : (Q,) float64
        Of sum 1.
    """
    exponent = field_exponent(loads)[:, None]
    nodes, weights = np.polynomial.legendre.leggauss(_RINGS)
    shares = 0.5 * weights
    # The part of the load within radius r is 1 - (1 - r²)^(n + 1).
    squared = 1.0 - (0.5 - 0.5 * nodes) ** (1.0 / (exponent + 1.0))
    squared /= (squared @ shares)[:, None] * (exponent + 2.0)
    angle = 2.0 * np.pi * (np.arange(_SPOKES) + 0.5) / _SPOKES
    spokes = np.stack([np.cos(angle), np.sin(angle)])
    rings = semi_axes(loads, aspect)[:, :, None] * np.sqrt(squared)[:, None, :]
    arms = rings[:, :, :, None] * spokes[:, None, :]
    return arms.reshape(len(loads), 2, _RINGS * _SPOKES), np.repeat(shares / _SPOKES, _SPOKES)


def field_speeds(loads: FloatArray, twists: FloatArray, arms: FloatArray) -> FloatArray:
    """Return the sliding speed at points of the field, (N, Q) [m/s].

    Parameters
    ----------
    loads : (N, 12) float64
        In contact, in the order of `foundation.loads.LOAD_COLUMNS`.
    twists : (N, 6) float64
        Of the femur (`dynamics.wear.sliding.femoral_twists`).
    arms : (N, 2, Q) float64
        Places of the points as `field_arms` gives them [m].
    """
    along, across, normal = field_axes(loads)
    velocity = twists[:, :3] + cross(twists[:, 3:], loads[:, 9:])
    # In the plane of the field only the turn about its normal, which is across x along, matters.
    spin = (twists[:, 3:] * normal).sum(axis=1)[:, None]
    forward = (velocity * along).sum(axis=1)[:, None] + spin * arms[:, 1]
    sideways = (velocity * across).sum(axis=1)[:, None] - spin * arms[:, 0]
    return np.sqrt(forward**2 + sideways**2)
