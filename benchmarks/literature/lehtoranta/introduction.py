"""Sections 2.3 and 3: measured loads of the knee, adhesion."""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import quad

from benchmarks.literature.statements import Statement, undecidable
from benchmarks.measures import max_abs
from foundation.contact_laws import effective_modulus
from pipeline.config.data_folder import DataError
from pipeline.config.reading import shipped_config
from pipeline.studies.walks.loads import Walk, measure
from pipeline.studies.walks.walk import load_walk

#: Work of adhesion [J/m²], about that of water.
_ADHESION = 0.05


def _telemetry() -> Statement:
    place, printed = (
        "section 2.3, Taylor et al.",
        "telemetry in a femoral prosthesis, walking: axial force 2.2 to 2.5 body weights, shear "
        "0.4 to 0.5, axial moment 7 N m at most; stairs 2.8 body weights",
    )
    try:
        walks = [
            measure(load_walk(shipped_config("walking"), (f"subject.side={s!r}",)))
            for s in ("left", "right")
        ]
    except DataError:
        return undecidable(place, printed, "the recorded walk is not in $KNEE_DATA")
    axial, shear, torque = np.array([walk_peaks(walk) for walk in walks]).T
    inside = (axial >= 2.2) & (axial <= 2.5) & (shear >= 0.4) & (shear <= 0.5) & (torque <= 7.0)
    return Statement(
        place,
        printed,
        f"walk of OpenSim's subject01, left and right leg: axial {axial[0]:.2f} and {axial[1]:.2f} "
        f"body weights, shear {shear[0]:.2f} and {shear[1]:.2f}, axial moment {torque[0]:.1f} and "
        f"{torque[1]:.1f} N m",
        inside.all(),
        "another person without a prosthesis: fourteen muscles balance the sagittal moments of a "
        "pin; shear and moment are those that contact and ligaments carry; no recorded stairs",
    )


def walk_peaks(walk: Walk) -> tuple[float, float, float]:
    """Return peaks of axial force and shear [body weights] and of the axial moment [N m]."""
    knee, weight = walk.knee, walk.body_weight
    shear = max_abs(knee.ap_force) / weight
    return max(knee.peaks(weight)), float(shear), max_abs(knee.internal_torque)


def jkr_pull_off(radius: float, adhesion: float) -> float:
    """Return the pull-off force 3 π w R/2 [N] of a sphere (Johnson et al. 1971)."""
    return 1.5 * math.pi * adhesion * radius


def jkr_separation_work(radius: float, modulus: float, adhesion: float) -> float:
    """Return the work that separates a sphere without load, up to the pull-off [J].

    With P = 4E*a³/(3R) - √(8πwE*a³) and δ = a²/R - √(2πwa/E*) of the contact radius a (Johnson et
    al. 1971); P is 0 at a³ = 9πwR²/(2E*) and the least at a quarter of this cube.
    """
    cube = 4.5 * math.pi * adhesion * radius**2 / modulus

    def power(a: float) -> float:
        load = 4.0 * modulus * a**3 / (3.0 * radius) - math.sqrt(
            8.0 * math.pi * adhesion * modulus * a**3
        )
        return load * (2.0 * a / radius - math.sqrt(math.pi * adhesion / (2.0 * modulus * a)))

    return float(quad(power, cube ** (1.0 / 3.0), (0.25 * cube) ** (1.0 / 3.0))[0])


def _adhesion() -> Statement:
    cases = {(r, e): 0.0 for r in (3e-6, 3e-3) for e in (1e5, 1e7)}
    for radius, young in cases:
        modulus = effective_modulus(young, 0.45, math.inf, 0.0)
        # Hertz's force at an indentation of 1 % of the radius.
        pressed = 4.0 / 3.0 * modulus * radius**2 * 0.01**1.5
        cases[radius, young] = jkr_pull_off(radius, _ADHESION) / pressed
    small, large = cases[3e-6, 1e5], cases[3e-3, 1e7]
    modulus = effective_modulus(5e6, 0.46, math.inf, 0.0)
    work, pull = jkr_separation_work(0.04, modulus, _ADHESION), jkr_pull_off(0.04, _ADHESION)
    falls = all(cases[3e-6, e] > cases[3e-3, e] for e in (1e5, 1e7)) and all(
        cases[r, 1e5] > cases[r, 1e7] for r in (3e-6, 3e-3)
    )
    return Statement(
        "section 3, Johnson et al. and Shull",
        "adhesion matters more for smaller and softer bodies; to separate a rigid from an elastic "
        "body needs energy",
        f"pull-off over Hertz's force at δ = R/100: {small:.2g} for R = 3 µm, E = 0.1 MPa, "
        f"{large:.2g} for 3 mm, 10 MPa; cartilage of 5 MPa on R = 40 mm: {1e3 * pull:.1f} mN and "
        f"{1e9 * work:.0f} nJ",
        falls and work > 0.0,
        f"the document gives no work of adhesion, which is {_ADHESION:g} J/m² here; adhesion is "
        "negligible against the loads of a knee",
    )


STATEMENTS = (
    _telemetry,
    _adhesion,
)
