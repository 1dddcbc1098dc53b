"""Tables and external force of Machado et al. (2010, section 6)."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
from scipy.optimize import minimize_scalar

from benchmarks.literature.statements import Statement, misprint
from benchmarks.measures import max_abs
from benchmarks.planar_knee import NAMES, PULLS, apart, free
from dynamics.mechanics.planar_knee import (
    PlanarLigament,
    Pull,
    machado_data,
    machado_knee,
    machado_laws,
    machado_ligaments,
    machado_state,
    simulate_planar_knee,
)
from foundation.base.checks import FloatArray
from foundation.contact_laws import HysteresisLaw, sphere_stiffness

#: Table 1: angle of the femur [deg]; x, y [m], angle [deg], mass [kg], inertia [kg m²] of the
#: tibia.
FEMUR_ANGLE = 90.0
TIBIA = (-0.2016, -0.1749, 35.21, 3.750, 0.165)
#: Table 2: insertions on femur and tibia, rest length [m], k [N/m²], strain [1] and force [N].
LIGAMENTS = {
    "MCL": (-0.023, -0.014, 0.163, 0.008, 0.0784, 15e6, 0.17, 534.0),
    "LCL": (-0.025, -0.019, 0.178, 0.025, 0.0562, 15e6, None, None),
    "ACL": (-0.033, -0.017, 0.213, -0.009, 0.0438, 35e6, 0.22, 622.0),
    "PCL": (-0.019, -0.014, 0.210, 0.035, 0.0332, 30e6, 0.19, 868.0),
}
#: Table 3 and section 6: modulus [Pa], Poisson's ratio, restitution, friction, step [s], tolerance.
CARTILAGE = (5e6, 0.46, 0.30)
FRICTION, STEP, TOLERANCE = 0.0, 1e-5, 1e-6
#: Half a unit of the last printed digit of the rest lengths [m], and of 0° of extension [deg].
_LENGTH_DIGIT, _ANGLE_DIGIT = 0.05e-3, 0.5


def _tibia() -> Statement:
    data, flexion = machado_data(), 90.0 - np.degrees(machado_state()[2])
    names = ("centre_x_m", "centre_y_m", "angle_deg", "mass_kg", "inertia_kg_m2")
    ours = tuple(data[name] for name in names)
    return Statement(
        "table 1",
        "tibia at (-0.2016, -0.1749) m and 35.21°, 3.75 kg, 0.165 kg m²; 54.79° of flexion",
        f"tibia at ({ours[0]:g}, {ours[1]:g}) m and {ours[2]:g}°, {ours[3]:g} kg, {ours[4]:g} kg "
        f"m²; the shafts meet at {flexion:.2f}°",
        ours == TIBIA and abs(flexion - (FEMUR_ANGLE - TIBIA[2])) < 1e-9,
        "the femur is fixed: its mass and inertia have no effect",
    )


def _misfits(turn: float) -> FloatArray:
    """Return lengths at the start minus printed rest lengths [m], the femoral frame at an angle."""
    c, s = math.cos(turn), math.sin(turn)
    place = tuple(machado_state()[:3])
    return np.array(
        [
            replace(each, femoral=np.array([[c, -s], [s, c]]) @ each.femoral).length(place)
            - LIGAMENTS[each.name][4]
            for each in machado_ligaments()
        ]
    )


@cache
def _best_turn() -> float:
    """Return the angle of the femoral frame [deg] at which the rest lengths fit best."""
    coarse = np.radians(np.arange(-180, 180))
    start = coarse[np.argmin([(_misfits(each) ** 2).sum() for each in coarse])]
    bounds = start - 0.02, start + 0.02
    found = minimize_scalar(lambda turn: 1e6 * (_misfits(turn) ** 2).sum(), bounds=bounds)
    return float(np.degrees(found.x))


def _femur() -> Statement:
    aligned, turned = (1e3 * np.abs(_misfits(np.radians(each))) for each in (0.0, FEMUR_ANGLE))
    return misprint(
        "table 1",
        "the frame of the femur is at 90°",
        "the frame of the femur is at 0°, as the global frame",
        f"at 0° the printed rest lengths follow from the printed insertions within "
        f"{aligned.max():.2f} mm, at 90° they are {turned.min():.1f} to {turned.max():.1f} mm off; "
        f"they fit best at {_best_turn():.2f}°",
        aligned.max() < 1e3 * _LENGTH_DIGIT < 1.0 < turned.min() and abs(_best_turn()) < 0.5,
        "the angle of 90° is that of the shaft",
    )


def _printed(ligament: PlanarLigament) -> tuple[float | None, ...]:
    """Return the row of table 2 that our ligament stands for."""
    limits = (ligament.strain_limit, ligament.force_limit)
    return (
        *ligament.femoral.tolist(),
        *ligament.tibial.tolist(),
        ligament.rest_length,
        ligament.stiffness,
        *(each if math.isfinite(each) else None for each in limits),
    )


def _table_2() -> Statement:
    ligaments = {each.name: each for each in machado_ligaments()}
    away = 1e3 * max_abs(_misfits(0.0))
    limits = "; ".join(
        f"{name} {100 * each.strain_limit:.0f} % and {each.force_limit:g} N"
        if math.isfinite(each.force_limit)
        else f"{name} none"
        for name, each in ligaments.items()
    )
    at_limit = ", ".join(
        f"{each.tension(each.rest_length * (1.0 + each.strain_limit)):.0f} N of the {name}"
        for name, each in ligaments.items()
        if math.isfinite(each.strain_limit)
    )
    return Statement(
        "table 2",
        "insertions, rest lengths at 54.79° of flexion, stiffnesses; limits of strain and force of "
        "MCL 17 % and 534 N, ACL 22 % and 622 N, PCL 19 % and 868 N, no limits of the LCL",
        f"data of our four ligaments; lengths at {90.0 - np.degrees(machado_state()[2]):.2f}° "
        f"within {away:.3f} mm of the printed ones; limits: {limits}",
        away < 1e3 * _LENGTH_DIGIT
        and {name: _printed(each) for name, each in ligaments.items()} == LIGAMENTS,
        f"the two limits of a ligament are not one point of eq. 28, which gives {at_limit} at the "
        "limits of strain",
    )


def _table_3() -> Statement:
    data = machado_data()
    cartilage = data["youngs_modulus_Pa"], data["poisson_ratio"]
    damped = machado_laws()["lankarani-nikravesh"]
    assert isinstance(damped, HysteresisLaw)
    stiffness = sphere_stiffness(data["femur_radius_m"], None, *cartilage, *cartilage)
    coarse = simulate_planar_knee(machado_knee(), machado_state(), tolerance=TOLERANCE)
    turned, moved = apart(coarse, free(50.0), slice(None))
    across = _friction()
    return Statement(
        "table 3, section 6",
        "cartilage of 5 MPa, ν 0.46, restitution 0.30, no friction, integration in steps of 10 µs "
        "with the tolerance 1e-6; a plane tibia, a femur of 40 mm",
        f"{data['youngs_modulus_Pa'] / 1e6:g} MPa, ν {data['poisson_ratio']:g}, c "
        f"{damped.restitution:g}, a tangential force of {across:.0e} of the normal force; sphere "
        f"of {1e3 * data['femur_radius_m']:g} mm on a plane, K = {stiffness:.4g} N/m^1.5; the "
        f"tolerance of {TOLERANCE:.0e} moves the knee by {turned:.0e}° and {moved:.0e} mm against "
        "1e-9",
        (*cartilage, damped.restitution) == CARTILAGE
        and data["femur_radius_m"] == 0.04
        and damped.stiffness == stiffness
        and abs(across - FRICTION) < 1e-9
        and turned < 1e-3,
        "the integrator here chooses its steps",
    )


def _friction() -> float:
    """Return the contact force across the normal [1 of the force] on a tibia that slides."""
    knee = replace(machado_knee(law="lankarani-nikravesh"), pull=None)
    state = machado_state() + np.array([0.004, -0.001, 0.12, 0.3, -0.2, 1.5])
    contact = knee.contact_state(state)
    with_contact = knee.loads(0.0, state, contact, 0.2).force
    without = knee.loads(0.0, state, contact._replace(indentation=-1.0), 0.2).force
    force = np.subtract(with_contact, without)[:2]
    n_x, n_y = contact.point.normal
    return float(abs(force @ [-n_y, n_x]) / (force @ [n_x, n_y]))


def _pulse() -> Statement:
    pull = Pull(PULLS[0])
    times = np.linspace(0.0, 0.2, 4001)
    ours = np.array([pull.magnitude(each) for each in times])
    printed = PULLS[0] * np.exp(-4.73 * (times / 0.05) ** 2) * np.sin(np.pi * times / 0.05)
    away = max_abs(ours - printed) / PULLS[0]
    late = max_abs(ours[times >= 0.05]) / PULLS[0]
    peak = int(ours.argmax())
    return Statement(
        "section 6, eq. 30",
        "F_e = A exp(-4.73 (t/t_d)²) sin(π t/t_d), a pulse of the duration t_d = 0.05 s",
        f"within {away:.0e} A; at most {100 * late:.2f} % of A after t_d; largest force "
        f"{ours[peak]:.1f} N at {1e3 * times[peak]:.1f} ms for A = {PULLS[0]:g} N",
        away < 1e-12 and late < 0.01,
        f"the largest force is {ours[peak] / PULLS[0]:.3f} A; along the shaft of the tibia at the "
        "start here, as figure 8, which shows the direction, is missing",
    )


def _extension() -> Statement:
    least = {pull: np.degrees(free(pull).flexion.min()) for pull in (*PULLS, 0.0)}
    instants = {pull: free(pull).time[free(pull).flexion.argmin()] for pull in PULLS}
    largest = ", ".join(
        f"{name} {force:.0f} N"
        for name, force in zip(NAMES, free(PULLS[0]).ligament_force.max(axis=0), strict=True)
    )
    return Statement(
        "section 6",
        "the external force takes the tibia from 54.79° of flexion to the extended position at 0°",
        f"least flexion {least[50.0]:.1f}° at {instants[50.0]:.3f} s with 50 N, "
        f"{least[150.0]:.1f}° at {instants[150.0]:.3f} s with 150 N, {least[0.0]:.1f}° "
        "without the force",
        min(least[pull] for pull in PULLS) < _ANGLE_DIGIT,
        f"the weight alone extends the knee as far; the ligaments hold it back ({largest})",
    )


STATEMENTS = (
    _tibia,
    _femur,
    _table_2,
    _table_3,
    _pulse,
    _extension,
)
