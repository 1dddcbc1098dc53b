"""Section 3.1: Hooke's law with restitution, and which law the layer of a joint follows."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.literature.lehtoranta.layers import CARTILAGE, POLYETHYLENE, pressed
from benchmarks.literature.statements import Statement, misprint
from dynamics.mechanics.impact import coefficient_of_restitution
from foundation.base.checks import FloatArray
from foundation.contact_laws import HookeLaw, LinearHysteresisLaw

_DEPTHS = np.array([0.5e-4, 1e-4, 1.5e-4, 2e-4, 2.5e-4, 3e-4])


def eq_3() -> Statement:
    """Return the statement on the retreat of the linear law."""
    # The law with √c in place of c retreats on c K δ, as printed.
    returned = {
        c: coefficient_of_restitution(LinearHysteresisLaw(1e5, math.sqrt(c)), 0.3, 0.8).restitution
        for c in (0.2, 0.5, 0.8)
    }
    right = coefficient_of_restitution(LinearHysteresisLaw(1e5, 0.5), 0.3, 0.8).restitution
    elastic = coefficient_of_restitution(HookeLaw(1e5), 0.3, 0.8).restitution
    listed = ", ".join(f"{e:.3f} for c = {c:g}" for c, e in returned.items())
    return misprint(
        "eq. 1-3",
        "Kelvin and Voigt: F = Kδ in approach, F = cKδ in retreat, with the restitution c; the "
        "text names eqs. 1 and 2",
        "F = c²Kδ in retreat; eqs. 2 and 3 are meant",
        f"as printed an impact returns √c: {listed}; with c² it returns {right:.3f} for c = 0.5; "
        f"eqs. 1 and 2 return {elastic:.3f} for every c",
        all(abs(e - math.sqrt(c)) < 1e-6 for c, e in returned.items())
        and abs(right - 0.5) < 1e-6
        and abs(elastic - 1.0) < 1e-6,
    )


def power_law_misfit(force: FloatArray, depth: FloatArray, power: float) -> float:
    """Return the relative RMS error of the best K δⁿ of forces (N,) [N] at depths (N,) [m]."""
    shape = depth**power / force
    stiffness = shape.sum() / (shape @ shape)
    return float(np.sqrt(np.mean((stiffness * shape - 1.0) ** 2)))


def _nonlinear() -> Statement:
    misfits = []
    for case in (POLYETHYLENE, CARTILAGE):
        force = np.array([pressed(case, d).load for d in _DEPTHS])
        misfits.append([100.0 * power_law_misfit(force, _DEPTHS, n) for n in (1.0, 1.5)])
    (poly_hooke, poly_hertz), (soft_hooke, soft_hertz) = misfits
    return Statement(
        "section 3.1",
        "a linear law does not describe the nonlinear contact; Hertz's law suits better",
        "ball on an elastic layer, 0.05 to 0.3 mm, RMS error of the best K: polyethylene "
        f"{poly_hooke:.0f} % by Kδ, {poly_hertz:.0f} % by Kδ^1.5; cartilage {soft_hooke:.0f} % and "
        f"{soft_hertz:.0f} %",
        poly_hertz < poly_hooke and soft_hertz < soft_hooke,
        "the document gives no layer; the module `layers` states the layers used here",
    )


STATEMENTS = (
    eq_3,
    _nonlinear,
)
