"""A rigid ball on an elastic layer: exact, by finite elements, by Hertz and by springs.

The document gives no radii, thicknesses or moduli for its comparisons. Ours: polyethylene of
463 MPa and ν = 0.46, 8 mm thick, as of the built-in implant, and cartilage of 10 MPa and ν = 0.45,
2 mm thick, both under a ball of 30 mm.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from scipy.optimize import brentq

from benchmarks.axisymmetric_layer import AxisymmetricLayer, Case, edge, peak, press_linear
from benchmarks.exact_layer_axisymmetric import AxisymmetricContact, press_ball
from foundation.base.checks import FloatArray
from foundation.elastic_foundation.laws import LinearLaw

POLYETHYLENE = Case(463e6, 0.46, 8e-3, 30e-3)
CARTILAGE = Case(10e6, 0.45, 2e-3, 30e-3)


class Pressed(NamedTuple):
    """Load [N], approach [m], largest pressure [Pa] and area [m²] of a contact."""

    load: float
    approach: float
    peak: float
    area: float


def confined_modulus(case: Case) -> float:
    """Return K h of eq. 27 [Pa]."""
    return LinearLaw(case.youngs_modulus, case.poissons_ratio, case.thickness).confined_modulus


@cache
def pressed(case: Case, approach: float) -> Pressed:
    """Return the exact contact of the elastic layer at an approach [m]."""
    return _exact(press_ball(case.layer, case.radius, approach=float(approach)))


@cache
def loaded(case: Case, load: float) -> Pressed:
    """Return the exact contact of the elastic layer at a load [N]."""
    return _exact(press_ball(case.layer, case.radius, load=load))


def _exact(found: AxisymmetricContact) -> Pressed:
    return Pressed(found.load, found.approach, found.peak_pressure, found.area)


@cache
def _elements(case: Case, spacing: float, reach: float) -> tuple[AxisymmetricLayer, FloatArray]:
    model = AxisymmetricLayer(case, spacing, reach)
    return model, model.compliance()


def by_elements(
    case: Case, approach: float, *, spacing: float = 0.075e-3, reach: float = 8e-3
) -> Pressed:
    """Return the contact at an approach [m] by axisymmetric finite elements of a spacing [m]."""
    model, compliance = _elements(case, spacing, reach)
    found = press_linear(model, compliance, float(approach))
    return Pressed(found.force, float(approach), peak(found), math.pi * edge(found) ** 2)


def by_elements_at_load(case: Case, load: float) -> Pressed:
    """Return the contact at a load [N] by axisymmetric finite elements."""
    guess = loaded(case, load).approach
    approach = brentq(
        lambda d: by_elements(case, d).load - load, 0.8 * guess, 1.2 * guess, xtol=1e-12
    )
    return by_elements(case, approach)


def by_hertz(case: Case, approach: float) -> Pressed:
    """Return Hertz's contact of the ball with a half-space of the layer's material (eq. 4-8)."""
    modulus = replace(case, thickness=math.inf).layer.plane_modulus
    load = 4.0 / 3.0 * modulus * math.sqrt(case.radius) * approach**1.5
    area = math.pi * case.radius * approach
    return Pressed(load, approach, 1.5 * load / area, area)


def by_springs(case: Case, approach: float) -> Pressed:
    """Return the contact of the linear elastic foundation under a paraboloid (eq. 26-31)."""
    peak_pressure = confined_modulus(case) * approach / case.thickness
    area = 2.0 * math.pi * case.radius * approach
    return Pressed(0.5 * peak_pressure * area, approach, peak_pressure, area)


def by_springs_at_load(case: Case, load: float) -> Pressed:
    """Return the contact of the linear elastic foundation at a load [N]."""
    stiffness = math.pi * case.radius * confined_modulus(case) / case.thickness
    return by_springs(case, math.sqrt(load / stiffness))
