"""Three segments in a row, on which the equations of positions and rates are tried.

Columns of positions hold x of all centres of mass, then y, then the angles, as q of the document.
`E X = S exp(i θ) + b` joins the centres of mass X, with the distances d from a joint to the next
centre and l from a centre to the next joint.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamics.mechanics.chains import Assembly, Chain, ChainSegment
from foundation.base.checks import FloatArray

COUNT = 3
BEFORE, BEHIND = np.array([0.18, 0.2, 0.09]), np.array([0.24, 0.23, 0.11])  # d and l [m]
MASSES, INERTIAS = np.array([8.0, 3.5, 1.1]), np.array([0.12, 0.06, 0.005])
BASE = np.array([0.1, -0.05])
ANGLES, RATES = np.array([-1.4, -1.9, -0.3]), np.array([2.0, -3.0, 1.5])
ACCELERATIONS = np.array([5.0, 8.0, -20.0])
#: Step of differences over time [s].
STEP = 1e-4


def segments() -> tuple[ChainSegment, ...]:
    """Return the three segments."""
    rows = zip(BEFORE, BEHIND, MASSES, INERTIAS, strict=True)
    return tuple(
        ChainSegment(f"segment {k}", before + behind, mass, inertia, np.array([before, 0.0]))
        for k, (before, behind, mass, inertia) in enumerate(rows)
    )


def assembly(links: Any = (), **chain: Any) -> Assembly:
    """Return the three segments on their base, with links and options of the chain."""
    return Assembly((Chain("limb", segments(), BASE, **chain),), links)


def positions(angles: FloatArray) -> FloatArray:
    """Return q (9,) by the joints of `Assembly` [m, rad]."""
    joints = assembly().evaluate(0.0, angles, np.zeros(COUNT)).joints
    x, y = (joints + BEFORE[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])).T
    return np.concatenate([x, y, angles])


def moved(time: float) -> FloatArray:
    """Return the angles at a time, with the rates and accelerations above at time zero."""
    return ANGLES + RATES * time + 0.5 * ACCELERATIONS * time**2


def measured_rates() -> tuple[FloatArray, FloatArray]:
    """Return q' and q'' (9,) by central differences of the positions."""
    before, at, after = (positions(moved(time)) for time in (-STEP, 0.0, STEP))
    return (after - before) / (2.0 * STEP), (after - 2.0 * at + before) / STEP**2


def joining() -> FloatArray:
    """Return E (3, 3), the matrix C of the document over x or over y alone [1]."""
    return np.eye(COUNT) - np.eye(COUNT, k=-1)


def spans() -> FloatArray:
    """Return S (3, 3) [m]."""
    return np.diag(BEFORE) + np.diag(BEHIND[:-1], k=-1)


def place_matrix(angles: FloatArray) -> FloatArray:
    """Return C₁ (9, 3) with the cosines and sines of the positions [m, 1]."""
    return _stacked(np.exp(1j * angles))


def rate_matrix(angles: FloatArray) -> FloatArray:
    """Return C₁' = ∂q/∂θ (9, 3) [m, 1]."""
    return _stacked(1j * np.exp(1j * angles))


def turning_rate(angles: FloatArray, rates: FloatArray) -> FloatArray:
    """Return the part of q'' with squares of the rates, (9,) [m/s²]."""
    pulled = _stacked(-np.exp(1j * angles)) @ rates**2
    return np.concatenate([pulled[: 2 * COUNT], np.zeros(COUNT)])


def masses() -> FloatArray:
    """Return M (9, 9) of eq. 1 in the order of q [kg, kg m²]."""
    return np.diag(np.concatenate([MASSES, MASSES, INERTIAS]))


def _stacked(turned: np.ndarray) -> FloatArray:
    arms = np.linalg.solve(joining(), spans() * turned)
    return np.vstack([arms.real, arms.imag, np.eye(COUNT)])
