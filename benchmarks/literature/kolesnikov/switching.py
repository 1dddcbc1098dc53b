"""Order in which links switch, and the algorithms: eq. 21 to 29, statements 1 to 3."""

from __future__ import annotations

import numpy as np

from benchmarks.complementarity import k_matrix, square_wishart, wishart
from benchmarks.literature.kolesnikov.problems import (
    EQUAL_REACTIONS,
    EQUAL_TERMS,
    TWICE,
    WITHOUT_END,
    by_algorithm_2,
    by_rows,
    free_minimum,
    is_positive_definite,
    numbers,
    values,
)
from benchmarks.literature.statements import Statement, misprint
from benchmarks.measures import max_abs
from dynamics.mechanics.unilateral import solve_complementarity
from dynamics.mechanics.unilateral.exclusion import Jordan
from foundation.base.checks import FloatArray

_ROUNDING = 1e-9


def equal_reactions() -> Statement:
    """Return the row on links with equal reactions."""
    (a, b), (c, d) = EQUAL_REACTIONS, EQUAL_TERMS
    free, reactions = free_minimum(a, b), by_rows(a, b)
    terms = by_rows(c, d)
    return misprint(
        "after figs. 3, 4",
        "links with equal reactions switch at the same time",
        "links with equal reactions can end in different states; one at a time is safe",
        f"A = [[1, -2], [-2, 5]], B = [-1, 3]: reactions ({values(free, 0)}) with both on, "
        f"solution X = ({values(reactions.x, 0)}); A = [[1, 2], [2, 5]] with equal free terms "
        f"({values(d, 0)}): X = ({values(terms.x, 0)})",
        is_positive_definite(a)
        and is_positive_definite(c)
        and abs(free[0] - free[1]) < _ROUNDING
        and free[0] < 0.0
        and reactions.active.tolist() == [True, False]
        and terms.active.tolist() == [True, False],
        "true for links that are symmetric to each other",
    )


def _exclusions() -> Statement:
    rng = np.random.default_rng(7)
    worst = 0.0
    for _ in range(20):
        a, b, i = wishart(rng, 5), rng.normal(size=5), int(rng.integers(5))
        state = Jordan(a, b)
        state.exclude(i)
        # Y' = A' X' + B' with X' and Y' of row i interchanged.
        x = rng.normal(size=5)
        y = a @ x + b
        left, right = y.copy(), x.copy()
        left[i], right[i] = x[i], y[i]
        other = np.delete(np.arange(5), i)
        printed = np.empty(5)
        printed[i] = (y[i] - b[i] - a[i, other] @ x[other]) / a[i, i]
        printed[other] = (
            a[other, i] / a[i, i] * y[i]
            + (a[np.ix_(other, other)] - np.outer(a[other, i], a[i, other]) / a[i, i]) @ x[other]
            + b[other]
            - a[other, i] / a[i, i] * b[i]
        )
        terms = b + a[:, i] * (-b[i] / a[i, i])
        terms[i] = -b[i] / a[i, i]
        worst = max(worst, max_abs(printed - left), max_abs(state.free - terms))
    return Statement(
        "eq. 21–28",
        "an exclusion with the pivot Aᵢᵢ interchanges Xᵢ and Yᵢ: Xᵢ has the factors 1/Aᵢᵢ, "
        "-Aᵢⱼ/Aᵢᵢ, the other rows Aⱼᵢ/Aᵢᵢ, Aⱼₖ - AⱼᵢAᵢₖ/Aᵢᵢ; the free terms become "
        "Bᵢ' = -Bᵢ/Aᵢᵢ and Bⱼ' = Bⱼ + AⱼᵢBᵢ'",
        f"20 problems with n = 5: transformed and original equations, and the free terms of the "
        f"solver, agree to {worst:.0e}",
        worst < _ROUNDING,
        "several elements of the printed matrices are garbled",
    )


def _terms_of(row: int, exclusions: tuple[int, ...]) -> FloatArray:
    """Return the free terms of a row of `TWICE` after each exclusion (k,) [1]."""
    state, terms = Jordan(*(each.astype(np.float64) for each in TWICE)), []
    for each in exclusions:
        state.exclude(each)
        terms.append(state.free[row])
    return np.array(terms)


def _growth() -> Statement:
    exclusions = by_rows(*TWICE).exclusions
    row = exclusions[0]
    terms = _terms_of(row, exclusions[:-1])
    rng = np.random.default_rng(8)
    fell = sum(_falls(k_matrix(rng, 8), rng.normal(size=8)) for _ in range(50))
    return misprint(
        "statement 1, eq. 29",
        "the free term of a row that has been chosen can only grow afterwards",
        "true for K-matrices (off-diagonal elements not positive), not for all positive-definite "
        "ones",
        "A = [[1, -1, 0], [-1, 2, 1], [0, 1, 2]], B = [-3, -3, -4]: the free term of row "
        f"{row + 1} after each exclusion is {values(terms, 2)}; of 50 K-matrices with n = 8, "
        f"{fell} have a term that falls",
        is_positive_definite(TWICE[0]) and terms[-1] < 0.0 < terms[0] and fell == 0,
    )


def _falls(a: FloatArray, b: FloatArray) -> bool:
    """Return whether the free term of a row falls after the row was chosen."""
    state, before = Jordan(a, b), b
    chosen: list[int] = []
    for row in by_rows(a, b).exclusions:
        state.exclude(row)
        fell = state.free[chosen] < before[chosen] - _ROUNDING
        if fell.any():
            return True
        chosen, before = [*chosen, row], state.free.copy()
    return False


def _no_row_twice() -> Statement:
    twice, endless = by_rows(*TWICE), by_rows(*WITHOUT_END)
    cycle = endless.exclusions[:6]
    rng = np.random.default_rng(1)
    most = max(len(by_rows(k_matrix(rng, 20), rng.normal(size=20)).exclusions) for _ in range(100))
    return misprint(
        "statements 2, 3",
        "algorithm 1, which excludes the row of the most negative free term, chooses no row twice "
        "and ends after at most n exclusions",
        "true for K-matrices; positive-definite matrices repeat rows, or cycle for ever",
        "A = [[1, -1, 0], [-1, 2, 1], [0, 1, 2]], B = [-3, -3, -4]: rows "
        f"{numbers(twice.exclusions)}; with a matrix of four rows {numbers(cycle)} and so on, "
        f"until the least index takes over; 100 K-matrices with n = 20: at most {most}",
        twice.repeated
        and len(twice.exclusions) > TWICE[1].size
        and cycle[:3] == cycle[3:]
        and endless.safeguarded
        and is_positive_definite(TWICE[0])
        and is_positive_definite(WITHOUT_END[0])
        and most <= 20,
    )


def _second_algorithm() -> Statement:
    x, led = by_algorithm_2(*TWICE)
    right = by_rows(*TWICE)
    rng = np.random.default_rng(9)
    failed = {}
    for name, make in (("Wishart", square_wishart), ("K", k_matrix)):
        problems = [(make(rng, 10), rng.normal(size=10)) for _ in range(100)]
        failed[name] = sum(by_algorithm_2(a, b)[0].min() < -_ROUNDING for a, b in problems)
    return misprint(
        "algorithm 2",
        "Gauss's elimination whose forward pass leads with the most negative free term, and whose "
        "backward pass is the usual one, solves the problem at the cost of one linear system",
        "true for K-matrices; else the result can be negative, and rows must be put back",
        "A = [[1, -1, 0], [-1, 2, 1], [0, 1, 2]], B = [-3, -3, -4]: rows "
        f"{numbers(led)} lead, X = ({values(x, 0)}), right is ({values(right.x, 0)}); X has "
        f"negative elements in {failed['Wishart']} of 100 Wishart and {failed['K']} of 100 "
        "K-matrices with n = 10",
        x.min() < -1.0
        and np.allclose(right.x, [9.0, 6.0, 0.0], atol=_ROUNDING)
        and failed["Wishart"] > 0 == failed["K"],
    )


def _equalities() -> Statement:
    rng = np.random.default_rng(10)
    worst = 0.0
    for _ in range(50):
        a, b = wishart(rng, 9), rng.normal(size=9)
        ours = solve_complementarity(a, b, equalities=[0, 1, 2]).x
        # Forward pass for the equalities, the inequalities, backward pass.
        factor = np.linalg.solve(a[:3, :3], a[:3]).T
        rest = by_rows(a[3:, 3:] - factor[3:] @ a[:3, 3:], b[3:] - factor[3:] @ b[:3]).x
        first = -np.linalg.solve(a[:3, :3], b[:3] + a[:3, 3:] @ rest)
        worst = max(worst, max_abs(np.concatenate([first, rest]) - ours))
    return Statement(
        "chapter 2, after algorithm 2",
        "Xᵢ of equalities Yᵢ = 0 are eliminated first and in any order; the inequalities that "
        "remain are a problem of the same kind",
        f"50 problems with n = 9 and 3 equalities: X of both ways agree to {worst:.0e}",
        worst < _ROUNDING,
    )


def states_passed() -> Statement:
    """Return the row on the states that a growing load passes."""
    rng = np.random.default_rng(11)
    again = more = problems = 0
    for _ in range(15):
        a, b, load = square_wishart(rng, 6), rng.uniform(0.1, 1.0, 6), rng.normal(size=6)
        states = [tuple(by_rows(a, b + p * load).active) for p in np.geomspace(0.01, 100.0, 150)]
        passed = [s for i, s in enumerate(states) if i == 0 or s != states[i - 1]]
        problems += 1
        again += len(set(passed)) < len(passed)
        changes = np.abs(np.diff(np.array(passed, dtype=int), axis=0)).sum(axis=0)
        more += bool((changes > 1).any())
    return Statement(
        "introduction of the dissertation, on chapter 2",
        "under a load that grows with one parameter a system does not return to a state that it "
        "has passed",
        f"loads from 0.01 to 100 on {problems} systems of 6 links with gaps: {again} return to a "
        f"state; in {more} single links switch more than once",
        again == 0,
        "the loads of a state are a convex cone; single links can switch back, unlike the rows of "
        "statement 2",
    )


ALGORITHMS = (
    _exclusions,
    _growth,
    _no_row_twice,
    _second_algorithm,
    _equalities,
)
