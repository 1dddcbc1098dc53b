"""Pins between members and the elimination of dependent positions (eq. 3 to 8)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.literature.popovic import three_segments as three
from benchmarks.literature.statements import Statement, misprint
from benchmarks.measures import max_abs
from dynamics.mechanics.chains import Assembly, Chain, ChainSegment, FreeBase
from foundation.base.checks import FloatArray

ROD = ChainSegment("rod", 0.4, 2.0, 2.0 * 0.4**2 / 12.0, np.array([0.2, 0.0]))


def rods(count: int) -> tuple[ChainSegment, ...]:
    """Return rods."""
    return tuple(replace(ROD, name=f"rod {k}") for k in range(count))


def pinned(count: int, pins: int) -> int:
    """Return the coordinates of rods with some pins: one to the ground, the others in a row."""
    base = (0.0, 0.0) if pins == count else FreeBase()
    joined = min(pins + 1, count)
    loose = [Chain(f"loose {k}", (ROD,), FreeBase()) for k in range(count - joined)]
    return len(Assembly((Chain("row", rods(joined), base), *loose)).coordinate_names)


def pins() -> Statement:
    count = 5
    found = [pinned(count, k) for k in range(count + 1)]
    return Statement(
        "before and after eq. 3",
        "each pin takes two degrees of freedom; n members keep N of them, from n to 3n",
        f"n = {count} with 0 to {count} pins: {', '.join(map(str, found))}",
        found == [3 * count - 2 * k for k in range(count + 1)] and found[-1] == count,
        "N = n if the chain is pinned to the ground; a chain that floats keeps n + 2",
    )


def neighbours() -> Statement:
    q = three.positions(three.ANGLES)
    centre = q[:3] + 1j * q[3:6]
    turned = np.exp(1j * three.ANGLES)
    arms = three.BEHIND[0] * turned[0] + three.BEFORE[1] * turned[1]
    scalar = abs(centre[1] - centre[0] - arms)
    vector = abs(centre[0] - centre[1] - arms)
    return misprint(
        "eq. 3",
        "as vectors, centre i = centre j + l along i + d along j; in x and y, centre j = centre i "
        "+ the same",
        "the form in x and y",
        f"two segments of the chain: the vectors are off by {1e3 * vector:.0f} mm, x and y by "
        f"{1e3 * scalar:.0e} mm",
        vector > 0.1 and scalar < 1e-12,
        "i and j have changed places in the vectors",
    )


def joint_residuals() -> tuple[FloatArray, FloatArray]:
    """Return the rows of eq. 4 (3,) for the first pin: as printed, and right [m, m, rad]."""
    x, y = three.positions(three.ANGLES)[:6].reshape(2, 3)
    cos, sin = np.cos(three.ANGLES), np.sin(three.ANGLES)
    first = three.BEHIND[0] * np.array([cos[0], sin[0]])
    second = three.BEFORE[1] * np.array([cos[1], sin[1]])
    apart = np.array([x[0] - x[1], y[0] - y[1]])
    return np.append(first - second + apart, three.ANGLES[1]), np.append(first + second + apart, 0)


def matrices() -> Statement:
    printed, right = joint_residuals()
    gap = float(np.hypot(*printed[:2]))
    return misprint(
        "eq. 4",
        "C_i = diag(1, 1, 0) and C_j = diag(-1, -1, 0) times (l cos θ, l sin θ, θ) and (d cos θ, "
        "d sin θ, θ), with Δr_j = (x_i - x_j, y_i - y_j, θ_j)",
        "C_j = diag(1, 1, 0) as C_i, and 0 for the angle in Δr_j",
        f"first pin of the chain: the printed rows leave {1e3 * gap:.0f} mm, which is 2 d, and "
        f"{printed[2]:+.1f} for the angle, which they want to be zero; the right rows leave "
        f"{1e3 * max_abs(right):.0e} mm",
        abs(gap - 2.0 * three.BEFORE[1]) < 1e-12 and abs(printed[2]) > 1.0
        and max_abs(right) < 1e-12,
        "with C_j negative eq. 4 contradicts eq. 3 in x and y",
    )  # fmt: skip


def constraint_rows() -> tuple[int, int, int]:
    """Return rows of C, its rank over x and y, and the coordinates of `Assembly`, for n = 3."""
    places = np.kron(np.eye(2), three.joining())
    return (
        len(places),
        int(np.linalg.matrix_rank(places)),
        len(three.assembly().coordinate_names),
    )


def sizes() -> Statement:
    count = three.COUNT
    needed, rank, left = constraint_rows()
    return misprint(
        "eq. 5",
        "C is n × 3n and Δr has n rows",
        "C is 2n × 3n and Δr has 2n rows, one in x and one in y for each of n pins",
        f"n = {count}: {needed} rows of rank {rank} leave {3 * count - rank} of {3 * count} "
        f"coordinates, as many as the chain has ({left}); {count} rows would leave "
        f"{3 * count - count}",
        needed == rank == 2 * count and 3 * count - rank == left != 3 * count - count,
        "C over x and y, which eq. 6 inverts, is square with 2n rows alone",
    )


def eliminated_positions() -> tuple[float, float]:
    """Return the errors of the centres of mass by eq. 6 as printed, and right [m]."""
    joins, turned = three.joining(), np.exp(1j * three.ANGLES)
    constant = np.zeros(3, dtype=np.complex128)
    constant[0] = -complex(*three.BASE)  # Δr: the base, where the chain starts
    q = three.positions(three.ANGLES)
    exact = q[:3] + 1j * q[3:6]
    moving = np.linalg.solve(joins, three.spans() @ turned)
    printed, right = moving - joins @ constant, moving - np.linalg.solve(joins, constant)
    return max_abs(printed - exact), max_abs(right - exact)


def eliminated() -> Statement:
    off, close = eliminated_positions()
    return misprint(
        "eq. 6 and 7, constant of the positions",
        "-C_xy Δr",
        "-C_xy⁻¹ Δr",
        f"chain on a base {1e3 * np.hypot(*three.BASE):.0f} mm off the origin: centres of mass off "
        f"by {1e3 * off:.0f} mm, right {1e3 * close:.0e} mm",
        off > 0.05 and close < 1e-12,
        "the term with the angles has the inverse, and the term with Δr lacks the inverse",
    )


def block_errors() -> tuple[tuple[int, int], float]:
    """Return the size of the printed C₁, and the error of the right one in q' [m/s]."""
    joins = np.kron(np.eye(2), three.joining())
    turned = 1j * np.exp(1j * three.ANGLES)
    angular = -np.vstack([(three.spans() * turned).real, (three.spans() * turned).imag])
    inverse = np.linalg.inv(joins)
    count = three.COUNT
    identity = np.hstack([np.eye(count, 2 * count), np.zeros((count, count))])
    printed = np.vstack([np.hstack([-inverse, angular]), identity])
    right = np.vstack([-inverse @ angular, np.eye(count)])
    return printed.shape, max_abs(right @ three.RATES - three.measured_rates()[0])


def blocks() -> Statement:
    size, close = block_errors()
    count = three.COUNT
    return misprint(
        "eq. 7, blocks",
        "q is x and y; C₁ = [-C_xy⁻¹, C_0; I, 0] multiplies θ",
        "q is x, y and θ; C₁ = [-C_xy⁻¹ C_0; I], the product in one block",
        f"n = {count}: the printed C₁ has {size[1]} columns for {count} angles; the right one, "
        f"with C_0 of the rates, gives q' within {close:.0e} m/s of differences of positions",
        size[1] != count and close < 1e-6,
        "positions need the cosines and sines of the angles: only the rates are linear",
    )


def rate_errors() -> dict[str, float]:
    """Return errors of q' [m/s] and q'' [m/s²] as printed, and right."""
    speed, acceleration = three.measured_rates()
    first = three.rate_matrix(three.ANGLES)
    pulled = three.turning_rate(three.ANGLES, three.RATES)
    second = three.place_matrix(three.ANGLES)
    second[:6] *= -1.0
    second[6:] = 0.0  # C₁'' is the second derivative, of the angles zero
    found = {
        "wrong rate": first @ three.ANGLES - speed,
        "rate": first @ three.RATES - speed,
        "wrong acceleration": second @ three.ANGLES - acceleration,
        "acceleration": first @ three.ACCELERATIONS + pulled - acceleration,
    }
    return {name: max_abs(each[:6]) for name, each in found.items()}


def rates() -> Statement:
    off = rate_errors()
    return misprint(
        "eq. 8",
        "q' = C₁' θ, q'' = C₁'' θ",
        "q' = C₁' θ', q'' = C₁' θ'' + C₁'' (θ'²), the last with the squares of the rates",
        f"against differences of positions: q' off by {off['wrong rate']:.1f} m/s, right "
        f"{off['rate']:.0e}; q'' off by {off['wrong acceleration']:.0f} m/s², right "
        f"{off['acceleration']:.0e}",
        min(off["wrong rate"], off["wrong acceleration"]) > 0.1
        and off["rate"] < 1e-6 and off["acceleration"] < 1e-4,
        "as printed a chain at rest moves wherever its angles are not zero",
    )  # fmt: skip


STATEMENTS = (
    pins,
    neighbours,
    matrices,
    sizes,
    eliminated,
    blocks,
    rates,
)
