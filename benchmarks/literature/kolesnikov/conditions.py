"""Free and constrained minimum of the energy: eq. 1 to 20."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from benchmarks.complementarity import square_wishart, wishart
from benchmarks.literature.kolesnikov.problems import (
    THREE_ROWS,
    TWO_ROWS,
    by_rows,
    energy,
    free_minimum,
    is_positive_definite,
    values,
)
from benchmarks.literature.kolesnikov.problems import variants as all_variants
from benchmarks.literature.statements import Statement, misprint
from benchmarks.measures import max_abs
from foundation.base.checks import FloatArray

#: Random problems of two links, and of six.
_TWO, _SIX = 600, 20
_ROUNDING = 1e-9


class Pair(NamedTuple):
    """A problem of two links: A (2, 2), B, free minimum, X and Y (2,) [1]."""

    a: FloatArray
    b: FloatArray
    free: FloatArray
    x: FloatArray
    y: FloatArray

    @property
    def first_is_on(self) -> bool:
        """Whether Y₁ = 0 and Y₂ > 0, as section 2.2 supposes."""
        return bool(self.x[0] > 0.0 and self.x[1] == 0.0 and self.y[1] > 0.0)

    @property
    def meets_11(self) -> bool:
        """Whether A₂₁ B₁ / A₁₁ < B₂, eq. 11."""
        return bool(self.a[1, 0] * self.b[0] / self.a[0, 0] < self.b[1])


@cache
def pairs() -> tuple[Pair, ...]:
    """Return random problems of two links, symmetric and positive definite."""
    rng = np.random.default_rng(4)
    found = []
    for _ in range(_TWO):
        size = rng.uniform(0.5, 2.0, 2)
        a = np.outer(size, size)
        a[0, 1] = a[1, 0] = rng.uniform(-0.98, 0.98) * a[0, 1]
        b = rng.normal(size=2)
        solution = by_rows(a, b)
        found.append(Pair(a, b, free_minimum(a, b), solution.x, solution.y))
    return tuple(found)


def variants() -> Statement:
    """Return the row on the 2ⁿ states of n links."""
    rng = np.random.default_rng(2)
    counts, is_least = [], True
    for _ in range(_SIX):
        a, b = wishart(rng, 6), rng.normal(size=6)
        solution = by_rows(a, b)
        own = energy(a, b, solution.x)
        states = list(all_variants(a, b))
        realised = [x for x, y in states if x.min() >= 0.0 and y.min() >= 0.0]
        counts.append(len(realised))
        lowest = min(energy(a, b, x) for x, _ in states if x.min() >= 0.0)
        is_least &= own <= lowest + _ROUNDING and np.allclose(realised[0], solution.x)
    return Statement(
        "introduction; section 2.16",
        "n one-sided links have 2ⁿ states, of which one is realised, that of least potential "
        "energy; the minimum over X >= 0 is unique for a positive-definite A",
        f"{_SIX} problems with n = 6, all 64 states of each: {counts.count(1)} have one state with "
        f"Y, X >= 0, whose energy is {'' if is_least else 'not '}the least",
        is_least and set(counts) == {1},
    )


def _problem() -> Statement:
    rng = np.random.default_rng(3)
    worst, h = 0.0, 1e-4
    for _ in range(20):
        a, b, x = wishart(rng, 5), rng.normal(size=5), rng.normal(size=5)
        # Central differences of a quadratic function are exact but for rounding.
        slope = [
            (energy(a, b, x + h * unit) - energy(a, b, x - h * unit)) / (2.0 * h)
            for unit in np.eye(5)
        ]
        solution = by_rows(a, b)
        products = max_abs(solution.x * (a @ solution.x + b))
        worst = max(worst, max_abs(slope - (a @ x + b)), products)
    return Statement(
        "eq. 1–4",
        "Y = A X + B with Y, X >= 0 and Yᵢ Xᵢ = 0; the energy Xᵀ A X / 2 + Xᵀ B is stationary at "
        "Y = 0, which is its minimum",
        f"20 problems with n = 5: the slope of the energy is Y and the products Yᵢ Xᵢ vanish to "
        f"{worst:.0e}",
        worst < 1e-8,
    )


def _coordinates() -> Statement:
    worst, count = 0.0, 0
    for a, b, free, x, _ in (pair for pair in pairs() if pair.first_is_on):
        det = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
        formula = np.array([a[0, 1] * b[1] - a[1, 1] * b[0], a[1, 0] * b[0] - a[0, 0] * b[1]]) / det
        size = 1.0 + max_abs(free)
        worst = max(worst, max_abs(formula - free) / size, abs(x[0] + b[0] / a[0, 0]))
        count += b[0] < 0.0
    total = sum(pair.first_is_on for pair in pairs())
    return Statement(
        "eq. 5–10, 13",
        "with link 1 on and 2 off X₁ = -B₁/A₁₁, hence B₁ < 0; the free minimum is "
        "(A₁₂B₂ - A₂₂B₁, A₂₁B₁ - A₁₁B₂)/D with D = det A",
        f"{total} of {_TWO} problems have this state: B₁ < 0 in {count}; X₁ and the free minimum "
        f"agree to {worst:.0e}",
        count == total > 0 and worst < _ROUNDING,
    )


def _second_displacement() -> Statement:
    a, b = TWO_ROWS[0], np.array([-1.0, 1.0])
    second = by_rows(a, b).x[1]
    eligible = [pair for pair in pairs() if pair.b[0] < 0.0]
    not_enough = sum(pair.b[1] > 0.0 and not pair.meets_11 for pair in eligible)
    not_needed = sum(pair.b[1] < 0.0 and pair.meets_11 for pair in eligible)
    kept = all(pair.meets_11 == pair.first_is_on for pair in eligible)
    return misprint(
        "eq. 11, 12",
        "A₂₁B₁/A₁₁ < B₂, which B₁ < 0 and B₂ > 0 bring about",
        "eq. 11 alone: B₂ > 0 is neither sufficient nor necessary",
        f"A = [[1, -5], [-5, 29]], B = [-1, 1]: {a[1, 0] * b[0] / a[0, 0]:.0f} < 1 is false and "
        f"X₂ = {second:.0f} instead of 0; of {len(eligible)} problems with B₁ < 0, {not_enough} "
        f"have B₂ > 0 without eq. 11 and {not_needed} have eq. 11 with B₂ < 0; eq. 11 gives the "
        f"state in {'all' if kept else 'not all'}",
        second > 0.5 and not_enough > 0 and not_needed > 0 and kept,
    )


def _sign_of_the_second() -> Statement:
    on = [pair for pair in pairs() if pair.first_is_on]
    below = sum(pair.free[1] < 0.0 for pair in on)
    single = [pair for pair in pairs() if pair.free[1] < 0.0 <= pair.free[0]]
    zero = sum(pair.x[1] == 0.0 for pair in single)
    return Statement(
        "eq. 14",
        "where link 1 is on and 2 off, the free minimum has X₂ < 0; where X₂ alone is negative "
        "there (fig. 2), it is zero in the solution",
        f"{below} of {len(on)} problems with this state; X₂ = 0 in {zero} of {len(single)} with "
        "X₂ alone negative at the free minimum",
        len(on) == below > 0 and len(single) == zero > 0,
        "where both are negative, either can be positive in the solution: see eq. 16",
    )


def _coupling() -> Statement:
    met = [pair for pair in pairs() if pair.b[0] < 0.0 < pair.b[1] and pair.free[0] < 0.0]
    positive = sum(pair.a[0, 1] > 0.0 for pair in met)
    negative = sum(pair.a[0, 1] < 0.0 for pair in met)
    return misprint(
        "eq. 15",
        "from B₁ < 0 < B₂ and X₁ < 0 at the free minimum follows A₁₂ > 0",
        "A₁₂ < 0: X₁ < 0 means A₁₂B₂ < A₂₂B₁, whose right side is negative",
        f"of {len(met)} problems that meet the conditions {positive} have A₁₂ > 0, {negative} "
        "A₁₂ < 0",
        positive == 0 and negative == len(met) > 0,
    )


def _order() -> Statement:
    a, b = TWO_ROWS
    free, solution = free_minimum(a, b), by_rows(a, b)
    difference = a[0, 1] * (b[0] - b[1]) - a[0, 0] * b[1] + a[1, 1] * b[0]
    both = [pair for pair in pairs() if pair.first_is_on and pair.free.max() < 0.0]
    against = sum(pair.free[1] > pair.free[0] for pair in both)
    is_17 = abs(difference - (free[1] - free[0]) * np.linalg.det(a)) < _ROUNDING
    return misprint(
        "eq. 16, 17",
        "where both values are negative at the free minimum and link 1 is on, X₂ < X₁ there, since "
        "all terms of D (X₂ - X₁) = A₁₂(B₁ - B₂) - A₁₁B₂ + A₂₂B₁ are negative",
        "either can be the smaller: eq. 17 holds, but A₁₂ < 0 makes its first term positive",
        f"A = [[1, -5], [-5, 29]], B = [-1, 8]: free minimum ({values(free, 2)}), D (X₂ - X₁) = "
        f"{difference:.0f}, solution X = ({values(solution.x, 0)}), Y = ({values(solution.y, 0)}); "
        f"X₂ > X₁ in {against} of {len(both)} random problems",
        is_positive_definite(a)
        and free.max() < 0.0 < free[1] - free[0]
        and is_17
        and np.allclose(solution.x, [1.0, 0.0], atol=_ROUNDING)
        and 0 < against < len(both),
        "the wrong sign of eq. 15 is the reason",
    )


def _least_reaction() -> Statement:
    a, b = THREE_ROWS
    free, solution = free_minimum(a, b), by_rows(a, b)
    failed, off, count = _failures(10)
    return misprint(
        "eq. 18",
        "of n links the one with the least value Xₖ < 0 at the free minimum has Xₖ = 0 in the "
        "solution",
        "at least one of the links that are negative at the free minimum is off, not always that "
        "of the least value",
        f"A = [[1, -1, -1], [-1, 3, 0], [-1, 0, 2]], B = [-1, 2, 2]: free minimum "
        f"({values(free, 0)}), solution ({values(solution.x, 0)}); false in {failed} of {count} "
        f"random problems with n = 10, while {off} have a negative link that is off",
        is_positive_definite(a)
        and free.argmin() == 0
        and np.allclose(solution.x, [1.0, 0.0, 0.0], atol=_ROUNDING)
        and failed > 0
        and off == count,
    )


def _failures(n: int) -> tuple[int, int, int]:
    """Return how many random problems have the link of the least value on, have a negative link
    off, and their number.
    """
    rng = np.random.default_rng(5)
    failed = off = count = 0
    for _ in range(200):
        a, b = square_wishart(rng, n), rng.normal(size=n)
        free = free_minimum(a, b)
        if free.min() < 0.0:
            x = by_rows(a, b).x
            count += 1
            failed += bool(x[free.argmin()] > 0.0)
            off += bool((x[free < 0.0] == 0.0).any())
    return failed, off, count


def _least_displacement() -> Statement:
    h, f = TWO_ROWS
    a = np.linalg.inv(h)
    b = -a @ f
    sums = []
    for y in np.random.default_rng(6).normal(size=(5, 2)):
        x = h @ y + f
        sums.append(energy(a, b, x) + energy(h, f, y) - x @ y)
    spread = float(np.ptp(sums))
    free, solution = free_minimum(h, f), by_rows(a, b)
    return misprint(
        "eq. 19, 20",
        "with the energy Yᵀ H Y / 2 + Yᵀ F of the displacements the same holds: the least Yₖ < 0 "
        "of its free minimum is zero in the solution",
        "H = A⁻¹ and F = -A⁻¹ B give the same state, and eq. 20 fails as eq. 18 does",
        f"H = [[1, -5], [-5, 29]], F = [-1, 8]: least displacement {free.min():.2f} of link "
        f"{free.argmin() + 1}, which in the solution has Y = ({values(solution.y, 0)}), "
        f"X = ({values(solution.x, 0)}); the two energies are Xᵀ Y and a constant, to {spread:.0e}",
        free.argmin() == 0 and np.allclose(solution.y, [1.0, 0.0], atol=1e-6) and spread < 1e-6,
    )


TWO_LINKS = (
    _problem,
    _coordinates,
    _second_displacement,
    _sign_of_the_second,
    _coupling,
    _order,
    _least_reaction,
    _least_displacement,
)
