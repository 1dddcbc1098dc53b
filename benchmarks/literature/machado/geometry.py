"""Section 3 of Machado et al. (2010): profiles, contact points and their velocities."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from benchmarks.literature.statements import Statement, misprint
from benchmarks.measures import max_abs
from benchmarks.planar_knee import free
from dynamics.mechanics.planar_knee import (
    PROFILE_KINDS,
    PolarProfile,
    ProfileContact,
    machado_knee,
    machado_state,
)
from foundation.base.checks import FloatArray

#: A tibia that moves, pressed 1 mm into the femur, and a tibia 3 mm away from the femur.
_MOVING = machado_state() + np.array([0.004, -0.001, 0.12, 0.3, -0.2, 1.5])
_APART = machado_state() + np.array([-0.0015, -0.0012, 0.05, 0.0, 0.0, 0.0])
#: Largest difference of values that agree up to rounding or a difference quotient [m, m/s, 1].
_ROUNDING = 1e-8


def _profiles() -> ProfileContact:
    """Return the profiles of the knee, with shape-preserving splines."""
    contact = machado_knee().geometry
    assert isinstance(contact, ProfileContact)
    return contact


def _ellipse(kind: str) -> PolarProfile:
    """Return an ellipse of 50 and 35 mm, as the paper gives no coordinates of its points."""
    t = 2.0 * np.pi * np.arange(40) / 40
    points = np.column_stack((0.05 * np.cos(t), 0.035 * np.sin(t)))
    return PolarProfile.from_points(points, kind, closed=True)


def derivatives(profile: PolarProfile, angle: float) -> tuple[float, float, float]:
    """Return ρ, ρ', ρ'' [m] at an angle [rad], from point, tangent and curvature."""
    x, y, t_x, t_y, curvature, speed = profile.frame(angle)
    rho = math.hypot(x, y)
    first = speed * (t_x * x + t_y * y) / rho
    return rho, first, (rho**2 + 2.0 * first**2 - curvature * speed**3) / rho


def _local_control() -> Statement:
    angle = np.linspace(-1.0, 1.0, 41)
    far = np.concatenate((angle[:17], angle[24:])) + 0.02
    changed = {}
    for kind in PROFILE_KINDS:
        moved = np.full(41, 0.04)
        moved[20] += 1e-3
        points, _, _ = PolarProfile(angle, moved, kind).frames(far[far < 1.0])
        changed[kind] = max_abs(np.hypot(*points.T) - 0.04) / 1e-3
    listed = ", ".join(f"{kind} {100.0 * value:.2f} %" for kind, value in changed.items())
    return Statement(
        "section 3",
        "the splines have local control: a moved point changes the curve near the point alone",
        f"one of 41 points moves by 1 mm; change of the curve beyond the third neighbours, "
        f"in parts of the move: {listed}",
        max(changed.values()) < 1e-12,
        "a cubic spline with continuous second derivatives depends on all points, though the "
        "influence decays; Akima and shape-preserving splines are local",
    )


def _cubics() -> Statement:
    away, jumps = 0.0, dict.fromkeys(PROFILE_KINDS, 0.0)
    for kind in PROFILE_KINDS:
        profile = _ellipse(kind)
        for low, high in zip(profile.angle[:-1], profile.angle[1:], strict=True):
            away = max(away, _polynomial_error(profile, low, high))
            before, after = derivatives(profile, low - 1e-11), derivatives(profile, low + 1e-11)
            jumps[kind] = max(jumps[kind], abs(after[2] - before[2]))
    # A difference of two lengths of 50 mm by the third power of the arc, some 0.01 m of rounding.
    smooth = jumps["cubic"] < 1e-6
    return Statement(
        "section 3, eq. 1-6",
        "polynomials of the third degree in θ with their first and second derivatives, joined so "
        "that both derivatives are continuous",
        f"on every piece of an ellipse, ρ, ρ' and ρ'' are a cubic and its derivatives within "
        f"{away:.0e} m; largest jump of ρ'' between pieces {1e3 * jumps['cubic']:.0e} mm",
        away < 1e-6 and smooth,
        f"true of the cubic spline; Akima splines jump by {1e3 * jumps['akima']:.2g} mm and "
        f"shape-preserving splines (PCHIP) by {1e3 * jumps['pchip']:.2g} mm in ρ''",
    )


def _polynomial_error(profile: PolarProfile, low: float, high: float) -> float:
    """Return how far ρ, ρ', ρ'' of one piece are from a cubic through four points [m]."""
    nodes = np.linspace(low, high, 6)[1:-1]
    rho = [derivatives(profile, each)[0] for each in nodes]
    cubic = np.polynomial.Polynomial.fit(nodes, rho, 3)
    errors = []
    for angle in np.linspace(low, high, 5)[1:-1]:
        printed = cubic(angle), cubic.deriv()(angle), cubic.deriv(2)(angle)
        errors.append(max_abs(np.subtract(derivatives(profile, angle), printed)))
    return max(errors)


def _shape() -> Statement:
    angle = np.linspace(-0.5, 0.5, 11)
    step = np.where(angle < 0.01, 0.2, 0.21)
    places = np.linspace(-0.5, 0.5, 1001)
    beyond = {}
    for kind in PROFILE_KINDS:
        points, _, _ = PolarProfile(angle, step, kind).frames(places)
        beyond[kind] = max(float(np.hypot(*points.T).max()) - 0.21, 0.0) / 0.01
    kept = [_keeps_convexity(np.random.default_rng(seed)) for seed in range(100)]
    listed = ", ".join(f"{kind} {100.0 * value:.1f} %" for kind, value in beyond.items())
    least = _least_bend(_profiles().tibia)
    return Statement(
        "sections 3 and 6",
        "Akima splines keep oscillations small, the shape-preserving spline preserves the "
        "convexity of the data and adds no oscillations, unlike cubic splines",
        f"overshoot at a step: {listed}; the shape-preserving spline is convex on {sum(kept)} of "
        f"100 random convex sets of points, but on the tibia of the knee (ρ'' ≥ {1e3 * least:.2f} "
        "mm)",
        beyond["pchip"] < 1e-9 and beyond["akima"] < beyond["cubic"] and all(kept),
        "the spline here is PCHIP, which preserves the monotony of the data and adds no "
        "oscillations, but preserves convexity only where the slopes change little from point to "
        "point; the routine of IMSL that the paper cites is another construction",
    )


def _keeps_convexity(draw: np.random.Generator) -> bool:
    """Whether PCHIP through convex radii has ρ'' >= 0 at either end of every piece."""
    angle = np.linspace(-0.5, 0.5, 11)
    slopes = np.sort(draw.normal(size=10))
    profile = PolarProfile(angle, 0.2 + 1e-3 * np.concatenate(([0.0], slopes)).cumsum(), "pchip")
    return _least_bend(profile) > -1e-6


def _least_bend(profile: PolarProfile) -> float:
    """Return the least ρ'' [m] of an open profile, which is linear on every piece."""
    inside = np.concatenate((profile.angle[:-1] + 1e-9, profile.angle[1:] - 1e-9))
    return min(derivatives(profile, each)[2] for each in inside)


def _turn(angle: float) -> FloatArray:
    """Return the matrix of eq. 10."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def _velocities() -> Statement:
    knee = machado_knee()
    contact = knee.contact_state(_MOVING)
    place, rates = _MOVING[:3], _MOVING[3:]
    local = contact.point.on_tibia(tuple(place))
    # Eq. 7-9: the polar coordinates of the point of the tibia, and its global position.
    polar = math.atan2(local[1], local[0])
    size = float(np.hypot(*_profiles().tibia.frame(polar)[:2]))
    point = place[:2] + _turn(place[2]) @ [size * math.cos(polar), size * math.sin(polar)]
    # Eq. 11, with dA/dφ = A(φ + 90°).
    velocity = rates[:2] + rates[2] * _turn(place[2] + 0.5 * np.pi) @ local
    normal = contact.point.normal
    apart = np.hypot(*(point - contact.point.point - contact.point.gap * normal))
    normal_rate = abs(velocity @ normal + contact.rate)
    # The indentation a moment later and before, at the common normals of those moments.
    step = 1e-6 * np.concatenate((rates, np.zeros(3)))
    later, before = (knee.contact_state(_MOVING + sign * step) for sign in (1.0, -1.0))
    slope = (later.indentation - before.indentation) / 2e-6
    return Statement(
        "section 3, eq. 7-12",
        "position and velocity of the contact points by s, θ, r and A; v_N is the projection of "
        "their relative velocity onto n",
        f"the contact point of the tibia agrees within {apart:.0e} m, v_N = "
        f"{1e3 * velocity @ normal:.2f} mm/s within {normal_rate:.0e} m/s, and the rate of the "
        f"indentation is -v_N within {abs(slope - contact.rate):.0e} m/s",
        max(apart, normal_rate) < _ROUNDING and abs(slope - contact.rate) < 1e-6,
        "eq. 11 is the velocity of the point fixed to the bone; that the contact moves along the "
        "bone adds a tangential velocity alone",
    )


def _tangent() -> Statement:
    cosines: dict[str, list[float]] = {"clockwise": [], "counterclockwise": []}
    profile, step = _ellipse("cubic"), 1e-6
    for angle in np.linspace(0.1, 6.2, 24):
        ahead, behind = profile.frame(angle + step), profile.frame(angle - step)
        # Eq. 16 and 18, by differences.
        along = np.subtract(ahead[:2], behind[:2]) / (2.0 * step)
        normal = np.array([along[1], -along[0]])
        for name, turned in (
            ("clockwise", [normal[1], -normal[0]]),
            ("counterclockwise", [-normal[1], normal[0]]),
        ):
            cosines[name].append(float(np.dot(turned, along) / np.dot(along, along)))
    clockwise, counter = (np.array(each) for each in cosines.values())
    sliding = machado_knee().contact_state(_MOVING).sliding
    return misprint(
        "section 3, eq. 13",
        "the tangential vector is the normal turned by 90° clockwise",
        "the normal turned by 90° counterclockwise",
        f"the normals of eq. 18, 19 turned clockwise are opposed to the tangents of eq. 16, 17: "
        f"cosine {clockwise.min():+.3f} to {clockwise.max():+.3f}; turned counterclockwise "
        f"{counter.min():+.3f} to {counter.max():+.3f}",
        clockwise.max() < -1.0 + _ROUNDING and counter.min() > 1.0 - _ROUNDING,
        f"only the sign of v_T depends on the turn; this project follows eq. 16-19, "
        f"v_T = {1e3 * sliding:.1f} mm/s for the tibia of eq. 7-12",
    )


def _outlines(state: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return points of femur and tibia in the global frame, (n, 2) and (m, 2) [m]."""
    contact = _profiles()
    femur = contact.femur.frames(np.linspace(0.0, 2.0 * np.pi, 1501))[0]
    tibia = contact.tibia.frames(
        np.linspace(contact.tibia.angle[0], contact.tibia.angle[-1], 1501)
    )[0]
    return femur, tibia @ _turn(state[2]).T + state[:2]


def _minimum() -> Statement:
    rows = []
    for state in (_APART, _MOVING):
        femur, tibia = _outlines(state)
        least = np.hypot(*(femur[:, None] - tibia[None]).transpose(2, 0, 1)).min()
        # Depth of the femur below the plane of the tibia, whose normal is its ξ axis.
        axis = _turn(state[2])[:, 0]
        deepest = ((tibia @ axis).mean() - femur @ axis).max()
        rows.append((1e3 * least, 1e3 * deepest, 1e3 * machado_knee().contact_state(state)[1]))
    (least, _, free_depth), (crossing, deepest, depth) = rows
    return Statement(
        "section 3, conditions i-iii",
        "the least distance of the outlines alone does not find the contact: the contact points "
        "are those of maximum penetration along the normal",
        f"apart, the outlines are {least:.3f} mm from each other and the gap is "
        f"{-free_depth:.3f} mm; pressed together, they cross (distance {crossing:.3f} mm), and the "
        f"indentation {depth:.3f} mm is the greatest depth, {deepest:.3f} mm",
        abs(least + free_depth) < 2e-3 and crossing < 0.1 * depth and abs(deepest - depth) < 2e-3,
    )


def _residual(contact: ProfileContact, place: FloatArray, angles: FloatArray) -> FloatArray:
    """Return n_j · t_i [1] and d · t_i [m] of eq. 20, 21 with unit vectors."""
    f_x, f_y, ft_x, ft_y, _, _ = contact.femur.frame(angles[0])
    t_x, t_y, tt_x, tt_y, _, _ = contact.tibia.frame(angles[1])
    turn = _turn(place[2])
    along = turn @ [tt_x, tt_y]
    apart = place[:2] + turn @ [t_x, t_y] - [f_x, f_y]
    return np.array([np.dot([ft_y, -ft_x], along), apart @ along / contact.femur.radius[0]])


def newton(contact: ProfileContact, place: FloatArray, start: FloatArray) -> tuple[FloatArray, int]:
    """Solve eq. 20, 21 as printed: Newton's method, derivatives by finite differences.

    Parameters
    ----------
    contact : ProfileContact
        The profiles.
    place : (3,) float64
        (x, y, φ) of the tibia [m, m, rad].
    start : (2,) float64
        First angles on femur and tibia [rad].

    Returns
    -------
    angles : (2,) float64
        Angles of the contact points [rad].
    steps : int
        Newton steps.
    """
    angles = np.array(start)
    for steps in range(50):
        now = _residual(contact, place, angles)
        if max_abs(now) < 1e-11:
            return angles, steps
        columns = [(_residual(contact, place, angles + 1e-7 * e) - now) / 1e-7 for e in np.eye(2)]
        angles = angles - np.linalg.solve(np.transpose(columns), now)
    return angles, steps


@cache
def _followed() -> tuple[float, FloatArray, FloatArray]:
    """Return the largest difference of angles [rad] and the Newton steps with either start."""
    motion, contact = free(50.0), _profiles()
    first = last = np.array(contact.contact(tuple(motion.state[0, :3])).angles)
    away, steps = 0.0, []
    for place in motion.state[::10, :3]:
        wanted = np.array(contact.contact(tuple(place), tuple(last)).angles)
        last, few = newton(contact, place, last)
        _, many = newton(contact, place, first)
        steps.append((few, many))
        away = max(away, max_abs(last - wanted))
    few, many = np.array(steps).T
    return away, few, many


def _conditions() -> Statement:
    away, few, many = _followed()
    return Statement(
        "section 3, eq. 16-21",
        "tangents and normals by dξ/dθ and dη/dθ; n_j · t_i = 0 and d · t_i = 0 determine θ_i and "
        "θ_j by Newton's method with finite differences, efficiently from those of the previous "
        "step",
        f"along the motion at 50 N the angles so found are ours within {away:.0e} rad (analytic "
        f"Jacobian, d · t_j = 0); {few.mean():.1f} Newton steps from the previous instant, "
        f"{many.mean():.1f} from the first",
        away < 1e-7 and few.mean() < many.mean(),
    )


def _penetration() -> Statement:
    motion = free(50.0)
    angle = motion.state[:, 2]
    turned = np.exp(1j * angle) * (motion.tibial_contact @ [1.0, 1j])
    tibia = motion.state[:, :2] + np.column_stack((turned.real, turned.imag))
    apart = tibia - motion.femoral_contact
    normal = motion.femoral_contact / np.hypot(*motion.femoral_contact.T)[:, None]
    away = max_abs(np.hypot(*apart.T) - np.abs(motion.indentation))
    touching = (apart * normal).sum(axis=1) <= 0.0
    same = int((touching == (motion.contact_force > 0.0)).sum())
    return Statement(
        "section 3, eq. 14, 15, 22, 23",
        "d = r_i - r_j of the contact points; the penetration is its length; there is contact "
        "where d · n_j ≤ 0",
        f"at {len(angle)} instants of the motion at 50 N, the length of d is the indentation or "
        f"gap within {away:.0e} m, and at {same} of them d · n_j ≤ 0 tells whether a force acts",
        away < _ROUNDING and same == len(angle),
        "n_j points out of the femur; the length alone has no sign",
    )


STATEMENTS = (
    _local_control,
    _cubics,
    _shape,
    _velocities,
    _tangent,
    _minimum,
    _conditions,
    _penetration,
)
