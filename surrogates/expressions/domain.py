"""Criteria of a trained domain, and the dissipation of a moving contact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surrogates.expressions.data import CompartmentData
from surrogates.expressions.functions import Expression, Functions, clip, plus
from surrogates.expressions.geometry import centre_of, rise_of
from surrogates.expressions.learners import Learner
from surrogates.expressions.loads import Compartment, Found

#: Names of the criteria of a compartment, each at most 1 in the trained domain.
CRITERIA = (
    *("flexion", "adduction", "rotation", "anterior", "lateral"),
    *("axial_force", "ap_force", "ml_force", "peak_pressure"),
    *("expected_ap_force", "expected_ml_force", "expected_error"),
)
#: Share of the largest axial load below which ratios over the axial load say little.
_LIGHT = 5e-3


def criteria(
    f: Functions,
    data: CompartmentData,
    learner: Learner,
    found: Found,
    z: Expression | None = None,
) -> Expression:
    """Return the criteria (12,) [1] of `CRITERIA` at loads found at a design z (P,) or None.

    As smooth as the loads, and below 1 out of contact, so that an optimiser can hold them: scaled
    variables of the box and ratios of forces are squared. The last three, of what samples of the
    whole box teach (`surrogates.formulations.domain`), have a kink at first contact where the root
    of the load has one (p other than 2).
    """
    loads, (ap, ml, peak) = found.loads, (float(v) for v in data.domain.limits)
    top = data.box.top
    axial = loads[1] / top
    # Ratios of forces, squared; of loads below the share `_LIGHT` of the largest they fade.
    pressed = axial * axial + _LIGHT * _LIGHT
    predicted = [
        axial,
        (loads[0] / (ap * top)) ** 2 / pressed,
        (loads[2] / (ml * top)) ** 2 / pressed,
        loads[7] / peak,
    ]
    if not data.domain.regressor.outputs:
        return f.join([found.x * found.x, *predicted, 0.0 * axial, 0.0 * axial, 0.0 * axial])
    last = found.root_load / float(data.box.half[5]) - 1.0
    inputs = clip(f, f.join([found.x, last]), 1.0, data.width)
    if z is not None:
        inputs = f.join([inputs[:5], z, inputs[5]])
    learnt = learner.values(inputs)
    m = 1.0 + 0.0 * axial
    if found.gap is not None:
        share = plus(f, found.gap / data.domain.lifted, data.width)
        m = plus(f, 1.0 - share, data.width)
    return f.join([
        found.x * found.x, *predicted,
        (m * learnt[0]) ** 2, (m * learnt[1]) ** 2, m * (1.0 + learnt[2]),
    ])  # fmt: skip


def loads_and_criteria(
    f: Functions,
    parts: Sequence[CompartmentData],
    pose: Expression,
    z: Expression | None = None,
) -> tuple[list[Expression], list[Expression]]:
    """Return loads (12,) [SI] and criteria (12,) [1] of each compartment at a pose (6,) [rad, m].

    Of a knee at rest, or of a design of scaled parameters z (P,) [1]; NaN unless pose and
    parameters are finite.
    """
    loads, domain = [], []
    unknown = _unknown(f, pose)
    if z is not None:
        unknown = unknown + _unknown(f, z)
    for data in parts:
        found = Compartment(f, data).loads(pose, z)
        own = criteria(f, data, f.learner(data.domain.regressor), found, z)
        domain.append(unknown + own)
        loads.append(unknown + found.loads)
    return loads, domain


def moving_loads(
    f: Functions,
    parts: Sequence[CompartmentData],
    loads: Sequence[Expression],
    pose: Expression,
    rate: Expression,
    dissipation: float,
    z: Expression | None = None,
) -> list[Expression]:
    """Return the loads of each compartment of a knee that moves, from the loads at rest [SI].

    Loads (12,), or wrenches (6,) alone, at a pose (6,) [rad, m] and a rate (6,) [rad/s, m/s], with
    a dissipation [s/m], and at scaled parameters z (P,) of a design or None. NaN unless the rate is
    finite.
    """
    unknown = _unknown(f, rate)
    return [
        unknown + dissipated(f, data, own, pose, rate, dissipation, z)
        for data, own in zip(parts, loads, strict=True)
    ]


def _unknown(f: Functions, numbers: Expression) -> Expression:
    """Return 0, or NaN unless all numbers (n,) are finite: a comparison with NaN does not hold."""
    count = len(numbers) if isinstance(numbers, tuple) else numbers.shape[0]
    total = sum((numbers[k] for k in range(1, count)), numbers[0])
    return f.where(f.maximum(total, -total) < np.inf, 0.0, np.nan)


def dissipated(
    f: Functions,
    data: CompartmentData,
    loads: Expression,
    pose: Expression,
    rate: Expression,
    dissipation: float,
    z: Expression | None = None,
) -> Expression:
    """Return the loads (12,) of a contact that dissipates (Hunt & Crossley 1975).

    Or the wrench (6,) of a wrench (6,). Wrench and pressures of the loads [SI] grow with the rate
    at which the condyle's point sinks, at a pose (6,) [rad, m] and a rate (6,) [rad/s, m/s];
    dissipation [s/m].
    """
    sinking = -rise_of(f, centre_of(f, data.condyle.centre, z), pose, rate)
    factor = plus(f, 1.0 + dissipation * sinking, data.width)
    if loads.shape[0] == 6:
        return factor * loads
    return f.join([factor * loads[:6], loads[6], factor * loads[7:9], loads[9:]])
