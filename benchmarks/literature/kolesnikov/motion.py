"""Dynamics: eq. 38 to 43, two bodies at a wall, oblique impact."""

from __future__ import annotations

from functools import cache

import numpy as np

from benchmarks.literature.examples import mechanics_example
from benchmarks.literature.statements import Statement, misprint, undecidable
from benchmarks.measures import max_abs
from dynamics.mechanics.unilateral import LinkMotion, UnilateralLink, simulate_links
from foundation.base.checks import FloatArray

_ROUNDING = 1e-9
#: Stiffness of the wall's element over that between the bodies: of the document, and of ours.
PRINTED_RATIO, OTHER_RATIO = 2.0, 5.0
#: Damping of the landing without rebound [N s/m]; ours.
STRONG_DAMPING = 400.0


def central_step(
    mass: FloatArray,
    damping: FloatArray,
    stiffness: FloatArray,
    load: FloatArray,
    now: FloatArray,
    before: FloatArray,
    step: float,
) -> FloatArray:
    """Return U (n,) [m] after a step of eq. 41 and 42.

    Parameters
    ----------
    mass, damping, stiffness : (n, n) float64
        M [kg], Λ [N s/m] and R [N/m] at the instant.
    load : (n,) float64
        P at the instant [N].
    now, before : (n,) float64
        U at the instant and a step before [m].
    step : float
        τ [s].
    """
    right = 2.0 * step**2 * load + 2.0 * mass @ (2.0 * now - before)
    right += step * damping @ before - 2.0 * step**2 * stiffness @ now
    after = np.linalg.solve(2.0 * mass + step * damping, right)
    return np.asarray(after, dtype=np.float64)


def _oscillator_error(step: float) -> float:
    """Return the error [m] at 1 s of eq. 41 for a damped oscillator at rest at 1 m."""
    m, c, k = np.eye(1), 2.0 * np.eye(1), 26.0 * np.eye(1)
    exact = lambda t: np.exp(-t) * (np.cos(5.0 * t) + np.sin(5.0 * t) / 5.0)  # noqa: E731
    before, now = np.array([exact(-step)]), np.array([exact(0.0)])
    for _ in range(round(1.0 / step)):
        before, now = now, central_step(m, c, k, np.zeros(1), now, before, step)
    return float(abs(now[0] - exact(1.0)))


def _differences() -> Statement:
    rng = np.random.default_rng(13)
    worst, h = 0.0, 0.1
    for _ in range(20):
        # Three links on two masses.
        c, s, w = rng.normal(size=(2, 3)), rng.uniform(1.0, 2.0, 3), rng.uniform(0.1, 1.0, 3)
        stiffness, damping, mass = c * s @ c.T, c * w @ c.T, np.diag(rng.uniform(1.0, 2.0, 2))
        load, now, before = rng.normal(size=(3, 2))
        after = central_step(mass, damping, stiffness, load, now, before, h)
        # Eq. 39 with the differences of eq. 40, the forces of the links by eq. 38 and 30.
        rate = (after - before) / (2.0 * h)
        forces = -s * (c.T @ now) - w * (c.T @ rate)
        rest = mass @ (after - 2.0 * now + before) / h**2 - c @ forces - load
        worst = max(worst, max_abs(rest))
    order = float(np.log2(_oscillator_error(0.01) / _oscillator_error(0.005)))
    return Statement(
        "eq. 38–42",
        "links with N = S D + w D' give M U'' + Λ U' + R U = P, R = C S Cᵀ, Λ = C w Cᵀ; with "
        "central differences (2 M + τ Λ) U⁺ = 2 τ² P + 2 M (2 U - U⁻) + τ Λ U⁻ - 2 τ² R U",
        f"three links on two masses: the equation of motion is met to {worst:.0e}; a damped "
        f"oscillator converges with order {order:.2f}",
        worst < _ROUNDING and abs(order - 2.0) < 0.1,
        "eq. 39 and 40 themselves are lost; eq. 41 and 42 follow from them",
    )


def _forces() -> Statement:
    rng = np.random.default_rng(14)
    shortest, right = np.inf, 0.0
    for _ in range(20):
        # As many links as degrees of freedom, so that Λ and Cᵀ U' have matching sizes at all.
        c, s, w = rng.normal(size=(3, 3)), rng.uniform(1.0, 2.0, 3), rng.uniform(0.1, 1.0, 3)
        damping = c * w @ c.T
        shift, rate, load = rng.normal(size=(3, 3))
        inertia = load - c * s @ c.T @ shift - damping @ rate
        elastic = -s * (c.T @ shift)
        with_damping = c @ (elastic - damping @ c.T @ rate) + load
        with_w = c @ (elastic - w * (c.T @ rate)) + load
        shortest = min(shortest, max_abs(with_damping - inertia))
        right = max(right, max_abs(with_w - inertia))
    return misprint(
        "eq. 43",
        "N = S D₀ + w D₀' - S Cᵀ U - Λ Cᵀ U'",
        "- w Cᵀ U' as the last term, as eq. 31 and 38 require",
        "three links on two masses: Λ is 2 × 2 and Cᵀ U' has 3 elements; with as many links as "
        f"masses, C N + P = M U'' is missed by {shortest:.2f} N or more of about 1 N, right is "
        f"met to {right:.0e} N",
        shortest > 1e-3 and right < _ROUNDING,
    )


def contact_intervals(normal: FloatArray) -> int:
    """Return how many times a force (s,) [N] begins to act."""
    on = np.concatenate([[False], normal > 0.0])
    return int(np.count_nonzero(on[1:] & ~on[:-1]))


@cache
def two_bodies(ratio: float, end: float = 5.5, n_steps: int = 1100) -> LinkMotion:
    """Return the impact of two masses of 1 at speed 1; element 1 has the stiffness 1.

    Element 1 joins the bodies and is two-sided, element 2 lies between body 2 and the wall.
    """
    wall = UnilateralLink(np.array([0.0, -1.0]), ratio)
    return simulate_links(
        np.eye(2),
        [wall],
        [0.0, 0.0],
        [1.0, 1.0],
        step=end / n_steps,
        n_steps=n_steps,
        stiffness=np.array([[1.0, -1.0], [-1.0, 1.0]]),
    )


def _two_bodies() -> Statement:
    found = []
    for ratio in (PRINTED_RATIO, OTHER_RATIO):
        normal = two_bodies(ratio).normal[:, 0]
        last = two_bodies(ratio).time[1:][normal > 0.0][-1]
        found.append(f"{contact_intervals(normal)} until {last:.1f} s for S₂ = {ratio:g} S₁")
    return undecidable(
        "figs. 5–8",
        "two equal bodies with elements S₂ = 2 S₁, of which element 2 resists compression alone, "
        "strike an obstacle; motions with one (a) and with two (b) intervals of contact",
        "the figures are missing, and the text does not say which element meets the obstacle and "
        "what differs between (a) and (b)",
        f"with element 2 at the obstacle, M = 1 kg, S₁ = 1 N/m, V = 1 m/s, intervals: "
        f"{'; '.join(found)}",
    )


@cache
def height_and_reaction(
    step: float,
    end: float,
    *,
    damping: float | None = None,
    doubling_depth: float | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return height (s,) [m] and reaction (s,) [N] of the oblique impact by eq. 41.

    The ground is on while the body presses it in and the reaction by eq. 43 is positive. Along the
    ground nothing acts on this motion.
    """
    data = mechanics_example("oblique_impact")
    mass, weight = data["MASS"], data["MASS"] * data["GRAVITY"]
    viscosity = data["DAMPING"] if damping is None else damping
    depth = data["DOUBLING_DEPTH"] if doubling_depth is None else doubling_depth
    now, off = 0.0, np.zeros((1, 1))
    before = -data["VELOCITY"][1] * step - 0.5 * data["GRAVITY"] * step**2
    heights, reactions = [], []
    for _ in range(round(end / step)):
        stiffness = data["STIFFNESS"] * (1.0 + max(-now, 0.0) / depth)
        at = np.array([-weight]), np.array([now]), np.array([before])
        after = reaction = 0.0
        if now < 0.0:
            matrices = mass * np.eye(1), viscosity * np.eye(1), stiffness * np.eye(1)
            after = float(central_step(*matrices, *at, step)[0])
            reaction = -stiffness * now - viscosity * (after - before) / (2.0 * step)
        if reaction <= 0.0:
            after, reaction = float(central_step(mass * np.eye(1), off, off, *at, step)[0]), 0.0
        heights.append(now)
        reactions.append(reaction)
        before, now = now, after
    return np.array(heights), np.array(reactions)


def _coefficient() -> Statement:
    data = mechanics_example("oblique_impact")
    weight = data["MASS"] * data["GRAVITY"]
    step, end = data["STEP"], 0.15
    printed, converged = (height_and_reaction(each, end)[1].max() / weight for each in (step, 1e-4))
    constant = height_and_reaction(1e-4, end, doubling_depth=np.inf)[1].max() / weight
    implicit = data["impact"](end=end).normal.max() / weight
    return Statement(
        "fig. 12",
        "oblique impact with S = S₀ (1 + abs(U₂)/Um), S₀ = 10⁴, Um = 0.5, M = 10, Λ = 100, "
        "μ = 0.5, g = 9.81, V = (5, 2.5), τ = 0.01: the coefficient of dynamics, the largest "
        "vertical reaction over the weight, is 6",
        f"{printed:.2f} with eq. 41 and τ = 0.01 s, {converged:.2f} with τ = 0.0001 s; "
        f"{implicit:.2f} with our implicit scheme and τ = 0.01 s; {constant:.2f} with S = S₀ and "
        "τ = 0.0001 s",
        round(printed) == 6,
        "neither scheme gives 6; the formula of S is garbled in the scanned text, but a stiffness "
        "that grows only raises the reaction; at time zero the body touches the ground here",
    )


def _repeated_impacts() -> Statement:
    data = mechanics_example("oblique_impact")
    height, reaction = height_and_reaction(data["STEP"], data["END"])
    weight = data["MASS"] * data["GRAVITY"]
    motion = data["impact"]()
    contacts = contact_intervals(reaction), data["contacts"](motion)
    rest = reaction[-1] / weight, motion.normal[-1, 0] / weight
    return Statement(
        "figs. 9–12",
        "the body strikes the ground repeatedly; at rest the own weight presses the body in, "
        "U₂ ≠ 0, and the reaction is the weight",
        f"{contacts[0]} contacts with eq. 41, {contacts[1]} with our scheme; after "
        f"{data['END']:g} s, U₂ = {1e3 * height[-1]:.2f} and "
        f"{1e3 * motion.position[-1, 1]:.2f} mm, reaction over weight {rest[0]:.3f} and "
        f"{rest[1]:.3f}",
        min(contacts) > 1
        and height[-1] < -1e-3
        and motion.position[-1, 1] < -1e-3
        and max(abs(each - 1.0) for each in rest) < 0.01,
        "the curves of figs. 9 to 11 are missing",
    )


def _no_repeated_impacts() -> Statement:
    data = mechanics_example("oblique_impact")
    counts = {
        damping: contact_intervals(height_and_reaction(1e-3, 1.5, damping=damping)[1])
        for damping in (data["DAMPING"], STRONG_DAMPING)
    }
    return undecidable(
        "section 3.4.1",
        "the algorithms also serve for motions of the same body without repeated impacts, such as "
        "landing",
        "the document names the section, but gives neither data nor results",
        "contacts with eq. 41 and τ = 0.001 s: "
        + "; ".join(f"{count} for Λ = {each:g} N s/m" for each, count in counts.items()),
    )


STATEMENTS = (
    _differences,
    _forces,
    _two_bodies,
    _coefficient,
    _repeated_impacts,
    _no_repeated_impacts,
)
