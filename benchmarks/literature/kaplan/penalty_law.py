"""The penalty formulation and its forces (eq. 3 and 4)."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.literature.kaplan.printed_law import PrintedGround
from benchmarks.literature.kaplan.simulations import both_legs, landing, two_legs
from benchmarks.literature.statements import Statement, misprint
from dynamics.mechanics.ground import PenaltyGround, StrikeResult
from dynamics.mechanics.ground.contact import contact_arms
from foundation.base.checks import FloatArray

#: A sliding point in the ground: gap and tangential distance [m], their rates [m/s].
GAP, DISTANCE, SINKING, SLIP = -1e-3, 5e-3, -0.2, 1.0


@cache
def freedoms_in_contact() -> tuple[int, int, int]:
    """Return points in contact, dimension of the rates meanwhile, and that with points at rest.

    Of the two legs while three points are in contact.
    """
    legs, points = both_legs()
    result = two_legs("printed")
    loaded = np.array([result.gap[:, p] < 0.0 for p in range(len(points))]).T
    rows = np.flatnonzero(loaded.sum(axis=1) == loaded.sum(axis=1).max())
    rates = result.velocity[rows]
    values = np.linalg.svd(rates / np.abs(rates).max(axis=0), compute_uv=False)
    dimension = int((values > 1e-6 * values[0]).sum())
    arms = contact_arms(legs, points)[loaded[rows[0]]]
    held = legs.jacobian(result.position[rows[0]], arms).reshape(-1, legs.freedoms)
    bound = int(np.linalg.matrix_rank(held, tol=1e-8))
    return int(loaded[rows[0]].sum()), dimension, legs.freedoms - bound


def contacts() -> Statement:
    result, together = two_legs("printed"), landing()
    met = {each.point: each.time for each in together.changes if each.closed}
    heels = abs(met["stance heel"] - met["swing heel"])
    strike = next(each.time for each in result.changes if each.point == "swing heel")
    lasting = bool((result.gap[result.time < strike][:, :2] < 0.0).all())
    count, moving, rigid = freedoms_in_contact()
    return Statement(
        "penalty formulation",
        "simultaneous impacts, lasting contact and impact while other points are in contact are "
        "handled alike; contact does not change the dimension of the configuration space",
        f"one set of equations: two heels land within {1e3 * heels:.0e} ms; the stance foot bears "
        f"load throughout until the swing heel strikes at {1e3 * strike:.0f} ms; with {count} "
        f"points in contact the rates span {moving} of {both_legs()[0].freedoms} dimensions, with "
        f"points at rest {rigid} would be left",
        heels < 1e-6 and lasting and moving == both_legs()[0].freedoms > rigid,
    )


def rebound_of(mass: float, damping: float = 500.0) -> float:
    """Return the speed after over that before an impact of a mass [kg], without weight."""
    ground, start = PenaltyGround(damping=damping), np.array([0.0, -0.2])

    def rate(time: float, state: FloatArray) -> list[float]:
        force = ground.normal_force(state[:1], state[1:])[0] if state[0] <= 0.0 else 0.0
        return [state[1], force / mass]

    length = 10.0 * np.sqrt(mass * ground.compliance)
    found = solve_ivp(rate, (0.0, length), start, rtol=1e-9, atol=1e-12, max_step=length / 200.0)
    return float(found.y[1, -1] / -start[1])


def rebound() -> Statement:
    masses = (5.0, 20.0, 75.0)
    found = [rebound_of(each) for each in masses]
    elastic = rebound_of(masses[0], damping=0.0)
    return Statement(
        "penalty formulation, parameters",
        "a coefficient of restitution is not needed: ε, a stiffness of the material, and a damping "
        "β take its place",
        f"ratio of the speeds of a mass without e: {found[0]:.2f} at {masses[0]:g} kg, "
        f"{found[1]:.2f} at {masses[1]:g} kg, {found[2]:.2f} at {masses[2]:g} kg; {elastic:.4f} "
        "without damping",
        0.0 < found[0] < found[1] < found[2] < 1.0 and abs(elastic - 1.0) < 1e-4,
        "by eq. 3 ε is a compliance, 1/ε the stiffness; one pair ε, β is not one e: the ratio "
        "depends on the mass",
    )


def rates_matter() -> Statement:
    velocity = np.column_stack([np.full(3, SLIP), [SINKING, 0.0, -SINKING]])
    state = np.full(3, GAP), velocity, np.full(3, DISTANCE), np.ones(3, dtype=np.bool_)
    normal = PrintedGround().contact_forces(*state)[0][:, 1]
    kept = PrintedGround(damping=0.0).contact_forces(*state)[0][:, 1]
    return misprint(
        "penalty formulation, forces",
        "the contact forces depend on the configuration and on slip or stick alone",
        "on the configuration, on slip or stick, and by β on the velocities",
        f"one configuration, d_n = -1 mm, sliding, ḋ_n = -0.2, 0 and 0.2 m/s: F_n = "
        f"{normal[0]:.0f}, {normal[1]:.0f} and {normal[2]:.0f} N by eq. 3; without β "
        f"{kept[0]:.0f} N each",
        np.ptp(normal) > 1.0 and np.ptp(kept) == 0.0,
        "eq. 3 and 4 of the same page have -β ḋ",
    )


def pulling(result: StrikeResult) -> float:
    """Return the least normal force on a point [N]."""
    return float(result.forces[..., 1].min())


def normal_law() -> Statement:
    printed, ours = pulling(two_legs("printed")), pulling(two_legs("ours"))
    return misprint(
        "eq. 3",
        "F_n = -d_n/ε - β ḋ_n in contact",
        "F_n = max(0, -d_n/ε - β ḋ_n)",
        f"two legs: where the stance foot leaves, the ground pulls by up to {-printed:.0f} N; with "
        f"the limit the least force is {ours:.0f} N",
        printed < -1.0 and ours >= 0.0,
        "the same document wants contact forces that only press",
    )


def in_milliseconds(literal: bool) -> float:
    """Return F_t with ms as the unit of time over F_t with s, both in newtons [1].

    Newtons do not depend on the unit in which the rates of the formula are stated; without damping
    the force must not either.
    """
    law = PrintedGround(damping=0.0, literal=literal, reversal_speed=0.0)
    state = np.array([GAP]), np.array([DISTANCE])
    seconds, milliseconds = (
        float(law.tangential_force(*state, np.array([rate]))[0]) for rate in (SLIP, 1e-3 * SLIP)
    )
    return milliseconds / seconds


def friction_law() -> Statement:
    law, ours = PrintedGround(reversal_speed=0.0), PenaltyGround()
    gap, slip = np.array([GAP]), np.array([SLIP])
    bound = float(law.bound(gap, np.array([DISTANCE]))[0])
    whole = -float(law.tangential_force(gap, np.array([DISTANCE]), slip)[0])
    normal = ours.normal_force(gap, np.array([SINKING]))
    limit = -float(ours.friction_force(np.array([DISTANCE]), slip, normal)[0][0])
    printed, right = in_milliseconds(True), in_milliseconds(False)
    return misprint(
        "eq. 4",
        "F_t = -(ḋ_t/‖d_t‖) min(-μ d_n/ε, ‖d_t/ε‖) - β ḋ_t",
        "ḋ_t/‖ḋ_t‖ as the direction",
        f"the printed first term is in N/s: with ms in place of s as the unit of time the force is "
        f"{printed:g} times as large, right {right:g} times; d_n = -1 mm, ḋ_n = -0.2 m/s, sliding "
        f"at {SLIP:g} m/s, μ = 0.8: the bound is {bound:.0f} N of the elastic force alone, with "
        f"β ḋ_t outside F_t = {whole:.0f} N; the force here ends at μ F_n = {limit:.0f} N",
        abs(printed - 1.0) > 0.5 and abs(right - 1.0) < 1e-9,
        "the law here also differs: T = -clip(k s + c v, ±μ F_n), so that the damping cannot pass "
        "Coulomb's limit and a stuck point stores energy",
    )


STATEMENTS = (
    contacts,
    rebound,
    rates_matter,
    normal_law,
    friction_law,
)
