"""Statements of Machado et al. (2010), by hand, by other libraries and by a second simulation."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline, PchipInterpolator

from benchmarks.literature.machado import data, forces, geometry, joint, motions
from benchmarks.planar_knee import free, jointed, strains
from dynamics.mechanics.planar_knee import machado_knee, machado_ligaments

#: Attachments on femur and tibia, rest length [m] and k [N/m²], as printed.
PRINTED = {
    "MCL": ((-0.023, -0.014), (0.163, 0.008), 0.0784, 15e6),
    "LCL": ((-0.025, -0.019), (0.178, 0.025), 0.0562, 15e6),
    "ACL": ((-0.033, -0.017), (0.213, -0.009), 0.0438, 35e6),
    "PCL": ((-0.019, -0.014), (0.210, 0.035), 0.0332, 30e6),
}
START = complex(-0.2016, -0.1749), math.radians(35.21)
RADIUS, PLANE = 0.04, 0.2255


def test_a_cubic_spline_has_no_local_control_and_pchip_has():
    x = np.arange(41.0)
    moved = np.where(x == 20.0, 1.0, 0.0)
    far = np.arange(24.4, 40.0)
    assert np.abs(CubicSpline(x, moved)(far)).max() > 1e-3
    assert np.abs(PchipInterpolator(x, moved)(far)).max() == 0.0
    row = geometry._local_control()
    assert row.verdict == "differs"
    assert "cubic 0.78 %, akima 0.00 %, pchip 0.00 %" in row.ours


def test_pchip_loses_the_convexity_of_sharply_bent_data():
    """Convex slopes 1, 2, 100: harmonic means 4/3 and 400/102, 2·4/3 + 400/102 > 3·2."""
    y = np.array([0.0, 1.0, 3.0, 103.0])
    assert 2.0 * 4.0 / 3.0 + 400.0 / 102.0 > 6.0
    bend = PchipInterpolator(np.arange(4.0), y).derivative(2)(np.linspace(1.01, 1.99, 9))
    assert bend.min() < 0.0


def test_the_printed_conditions_in_closed_form():
    """A circle above a plane: both contact points lie on the perpendicular to the plane."""
    contact = machado_knee(kind="cubic").geometry
    angle = 0.9
    along, foot = np.exp(1j * angle), 0.012
    place = -along * complex(PLANE + RADIUS - 0.002, foot)
    found, steps = geometry.newton(
        contact, np.array([place.real, place.imag, angle]), np.array([angle + np.pi - 0.2, 0.1])
    )
    assert_allclose(found, [angle + np.pi, math.atan2(foot, PLANE)], rtol=0.0, atol=1e-6)
    assert 2 <= steps < 10


def test_clockwise_turns_the_normal_to_minus_the_tangent():
    """With dξ + i dη = t: the normal of eq. 18 is dη - i dξ = -i t, and clockwise is times -i."""
    tangent = complex(0.3, -0.8)
    normal = complex(tangent.imag, -tangent.real)
    assert normal == -1j * tangent
    assert -1j * normal == -tangent
    row = geometry._tangent()
    assert row.verdict == "error in print"
    assert "cosine -1.000 to -1.000" in row.ours


def test_rest_lengths_follow_with_the_femur_at_0_and_not_at_90_degrees():
    tibia, angle = START
    for femoral, tibial, rest, _ in PRINTED.values():
        end = tibia + np.exp(1j * angle) * complex(*tibial)
        assert abs(abs(complex(*femoral) - end) - rest) < 0.05e-3
        assert abs(abs(1j * complex(*femoral) - end) - rest) > 3e-3
    row = data._femur()
    assert row.verdict == "error in print"
    assert "within 0.05 mm, at 90° they are 3.6 to 37.3 mm off" in row.ours
    assert "fit best at -0.05°" in row.ours


def test_table_2():
    row = data._table_2()
    assert row.verdict == "agrees"
    assert "MCL 17 % and 534 N; LCL none; ACL 22 % and 622 N; PCL 19 % and 868 N" in row.ours
    # k (ε l⁰)² of the printed limits of strain, by hand.
    hand = [15e6 * (0.17 * 0.0784) ** 2, 35e6 * (0.22 * 0.0438) ** 2, 30e6 * (0.19 * 0.0332) ** 2]
    assert_allclose(hand, [2665.0, 3250.0, 1194.0], rtol=0.0, atol=0.5)
    for force in ("2665 N of the MCL", "3250 N of the ACL", "1194 N of the PCL"):
        assert force in row.remark


def test_a_changed_table_is_told(monkeypatch):
    wrong = {**data.LIGAMENTS, "LCL": (*data.LIGAMENTS["LCL"][:6], 0.17, 534.0)}
    monkeypatch.setattr(data, "LIGAMENTS", wrong)
    assert data._table_2().verdict == "differs"
    monkeypatch.setattr(data, "TIBIA", (-0.2, *data.TIBIA[1:]))
    assert data._tibia().verdict == "differs"


def test_stiffnesses_of_figure_6_by_hand():
    """K² is proportional to the relative radius: 24 mm convex, 40 mm plane, 120 mm concave."""
    plane = 4.0 / 3.0 * 5e6 / (2.0 * (1.0 - 0.46**2)) * math.sqrt(0.04)
    convex, concave = plane * math.sqrt(24.0 / 40.0), plane * math.sqrt(120.0 / 40.0)
    listed = f"convex {convex / 1e5:.2f}, plane {plane / 1e5:.2f}, concave {concave / 1e5:.2f}"
    assert listed in forces._compartments().ours


@pytest.mark.parametrize("samples", [36, 720])
def test_the_deepest_sample_is_at_most_a_sagitta_from_the_circle(samples):
    sampled, exact = joint.SampledContact(samples), machado_knee(kind="cubic").geometry
    sagitta = RADIUS * (1.0 - math.cos(math.pi / samples))
    for angle in (0.61, 0.9, 1.43):
        x, y = -(PLANE + RADIUS) * np.array([math.cos(angle), math.sin(angle)])
        place = (float(x) + 1e-3, float(y), angle)
        more = sampled.contact(place).gap - exact.contact(place).gap
        assert -1e-7 < more < sagitta + 1e-7


class Oracle(NamedTuple):
    """Motion of the second simulation: instants, flexion [deg], strains and depth."""

    flexion: np.ndarray
    strain: np.ndarray
    depth: np.ndarray


def _contact(place: complex, angle: float, clearance: float | None) -> tuple[float, complex]:
    """Return depth [m] and outward normal of the femur, in closed form."""
    along = np.exp(1j * angle)
    if clearance is None:
        # Height of the origin above the plane, along the shaft.
        return RADIUS - ((-place / along).real - PLANE), -along
    height = (-START[0] / np.exp(1j * START[1])).imag
    offset = place + along * complex(PLANE + RADIUS + clearance, height)
    return abs(offset) - clearance, -offset / abs(offset)


def _derivative(pull: float, clearance: float | None, time: float, state: np.ndarray) -> list:
    x, y, angle, v_x, v_y, spin = state
    place, along = complex(x, y), np.exp(1j * angle)
    force, moment = -3.75 * 9.80665j, 0.0
    s = time / 0.05
    force += pull * math.exp(-4.73 * s * s) * math.sin(math.pi * s) * np.exp(1j * START[1])
    for femoral, tibial, rest, stiffness in PRINTED.values():
        arm = along * complex(*tibial)
        line = complex(*femoral) - place - arm
        tension = stiffness * max(abs(line) - rest, 0.0) ** 2 * line / abs(line)
        force, moment = force + tension, moment + (arm.conjugate() * tension).imag
    depth, normal = _contact(place, angle, clearance)
    radius = RADIUS if clearance is None else 1.0 / (1.0 / RADIUS - 1.0 / (RADIUS + clearance))
    stiffness = 4.0 / 3.0 * 5e6 / (2.0 * (1.0 - 0.46**2)) * math.sqrt(radius)
    push = stiffness * max(depth, 0.0) ** 1.5 * normal
    arm = RADIUS * normal - place
    force, moment = force + push, moment + (arm.conjugate() * push).imag
    return [v_x, v_y, spin, force.real / 3.75, force.imag / 3.75, moment / 0.165]


@cache
def oracle(pull: float, clearance: float | None = None) -> Oracle:
    """Simulate the printed knee with complex numbers, without events and without splines."""
    start = [START[0].real, START[0].imag, START[1], 0.0, 0.0, 0.0]
    solved = solve_ivp(
        lambda t, q: _derivative(pull, clearance, t, q),
        (0.0, 0.5),
        start,
        "DOP853",
        t_eval=np.linspace(0.0, 0.5, 1001),
        rtol=1e-9,
        atol=1e-11,
        max_step=2e-3,
    )
    x, y, angle = solved.y[:3]
    lengths = [
        np.abs(complex(*femoral) - (x + 1j * y) - np.exp(1j * angle) * complex(*tibial)) / rest
        for femoral, tibial, rest, _ in PRINTED.values()
    ]
    places = zip(x + 1j * y, angle, strict=True)
    depth = np.array([_contact(place, turn, clearance)[0] for place, turn in places])
    return Oracle(90.0 - np.degrees(angle), np.transpose(lengths) - 1.0, depth)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pull", "clearance"), [(50.0, None), (150.0, None), (50.0, 0.2), (50.0, 1e-3)]
)
def test_a_second_simulation_moves_alike(pull, clearance):
    """The profiles of the free knee are shape-preserving splines, 0.02 mm and 0.01° from these."""
    ours = free(pull) if clearance is None else jointed(clearance, pull)
    theirs = oracle(pull, clearance)
    limits = (0.1, 5e-4, 5e-5) if clearance is None else (1e-3, 1e-5, 1e-6)
    assert_allclose(np.degrees(ours.flexion), theirs.flexion, rtol=0.0, atol=limits[0])
    assert_allclose(strains(ours), theirs.strain, rtol=0.0, atol=limits[1])
    assert_allclose(ours.indentation, theirs.depth, rtol=0.0, atol=limits[2])


@pytest.mark.slow
def test_what_the_figures_state_of_the_second_simulation():
    weak, strong, wide = oracle(50.0), oracle(150.0), oracle(50.0, 0.2)
    # Figure 12: practically the same. Figures 13 to 15: growth. Section 6: no full extension.
    assert np.abs(weak.flexion - strong.flexion).max() < 0.05 * np.ptp(weak.flexion)
    assert (strong.strain.max(axis=0) > weak.strain.max(axis=0)).all()
    assert strong.depth.max() > weak.depth.max()
    assert min(weak.flexion.min(), strong.flexion.min()) > 3.5
    # Figures 13 and 14: the cruciates are strained most, at 150 N as at 50 N.
    for motion in (weak, strong):
        assert motion.strain.max(axis=0)[2:].min() > motion.strain.max(axis=0)[:2].max()
    # Figure 15b: no limit of table 2 is passed; 17, 22 and 19 %, 534, 622 and 868 N.
    limits = {"MCL": (0.17, 534.0), "ACL": (0.22, 622.0), "PCL": (0.19, 868.0)}
    for (name, (_, _, rest, stiffness)), strain in zip(
        PRINTED.items(), strong.strain.max(axis=0), strict=True
    ):
        bounds = limits.get(name, (math.inf, math.inf))
        assert strain < bounds[0]
        assert stiffness * (strain * rest) ** 2 < bounds[1]
    # Figures 12a and 17a: after 0.5 s the free knee is the straighter one, and it moves farther.
    assert weak.flexion[-1] < wide.flexion[-1] - 5.0
    assert np.ptp(weak.flexion) > np.ptp(wide.flexion) + 3.0


@pytest.mark.slow
def test_figures_of_the_rows():
    rows = {each.place: each for each in (r() for r in (*motions.STATEMENTS, *joint.STATEMENTS))}
    assert "differences 1.35° of 51.0°" in rows["section 6, figure 12"].ours
    row = rows["section 6, figures 12a, 17a"]
    assert f"flexion at 0.5 s {oracle(50.0).flexion[-1]:.1f}° in free contact" in row.ours
    assert f"{oracle(50.0, 0.2).flexion[-1]:.1f}° with 200 mm" in row.ours
    assert "MCL 19 %, ACL 80 %, PCL 90 %" in rows["section 6, figure 15b"].ours


def test_the_names_are_those_of_the_table():
    assert [each.name for each in machado_ligaments()] == list(PRINTED)
