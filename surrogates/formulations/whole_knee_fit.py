"""Fits of the formulations of `surrogates.formulations.whole_knee`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array, check_in
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from surrogates.families.cross_validation import CrossCheck
from surrogates.families.regressor import no_outputs
from surrogates.formulations.compartment_fit import (
    Fitter,
    FormulationSettings,
    k_fold_check,
    middle_and_half,
    quantities_of,
    ratios_of,
    roots_of,
)
from surrogates.formulations.whole_knee import (
    KNEE_FORMULATIONS,
    OUTPUTS,
    WholeKneeSurrogate,
)
from surrogates.sampling.condyle_coordinates import CondyleCoordinates
from surrogates.sampling.space import SampleSpace

#: Inputs besides two sensitive directions: all variables but the adduction.
_INSENSITIVE = [0, 2, 3, 4]


class TrainedWholeKnee(NamedTuple):
    """A fitted knee, and the cross-validation residuals of each compartment's outputs, by name."""

    surrogate: WholeKneeSurrogate
    checks: dict[str, dict[str, CrossCheck]]


def fit_whole_knee(
    formulation: str,
    space: SampleSpace,
    poses: ArrayLike,
    loads: ArrayLike,
    fitter: Fitter,
    settings: FormulationSettings | None = None,
) -> TrainedWholeKnee:
    """Fit a formulation, one of `KNEE_FORMULATIONS`, to samples in which both condyles carry load.

    From poses (N, 6) [rad, m] and the loads (N, 2, 12) [SI] of both compartments, in the order of
    `foundation.base.loads.LOAD_COLUMNS`; `settings` are read for p alone. Raises `InputError` if
    the formulation is unknown, a condyle carries no load, or a fit is not possible.
    """
    check_in("formulation", formulation, KNEE_FORMULATIONS)
    points = check_array("poses", poses, (None, 6))
    values = check_array("loads", loads, (len(points), 2, 12))
    if not len(values) or values[:, :, 1].min() <= 0.0:
        raise InputError(
            "loads: expected samples in which both compartments carry axial load, found "
            f"{int((values[:, :, 1] <= 0.0).any(axis=1).sum())} without, of {len(values)}"
        )
    plain = formulation == "knee_direct"
    degree = 1.0 if plain else (settings or FormulationSettings()).load_degree
    coordinates = CondyleCoordinates.at_origin(space)
    located = coordinates.variables(points)
    lesson = _LESSONS[formulation](
        _Task(coordinates, located, values, float(space.load[1]), degree)
    )
    groups = [np.column_stack(lesson.groups)] if fitter.joint else lesson.groups
    fits = [fitter.fit(lesson.inputs, outputs, None) for outputs in groups]
    parts = [fit.regressor for fit in fits] + [no_outputs(6)] * (3 - len(fits))
    surrogate = WholeKneeSurrogate(
        formulation, space, lesson.largest, degree, middle_and_half(located[1]),
        (parts[0], parts[1], parts[2]),
    )  # fmt: skip
    checks = _checks_of(surrogate.code, [fit.check for fit in fits])
    if fitter.folds:
        again = [k_fold_check(fitter, lesson.inputs, outputs) for outputs in groups]
        for name, folded in _checks_of(surrogate.code, again).items():
            checks[name] |= {f"{key}, {fitter.folds} folds": c for key, c in folded.items()}
    return TrainedWholeKnee(surrogate, checks)


class _Lesson(NamedTuple):
    """Inputs, outputs in groups of like outputs, and the largest load of a formulation."""

    inputs: FloatArray
    groups: list[FloatArray]
    largest: float


def _loads_over_pose(task: _Task) -> _Lesson:
    u, height, _ = task.located
    middle, half = middle_and_half(height)
    values = roots_of(task.loads, task.degree)
    return _Lesson(np.column_stack([u, (height - middle) / half]), [values.reshape(-1, 24)], 1.0)


def _height_over_total(task: _Task) -> _Lesson:
    u, height, points = task.located
    total, largest = task.loads[:, :, 1].sum(axis=1), 2.0 * task.largest
    root = (total / largest) ** (1.0 / task.degree)
    shares = task.loads[:, :, :6] / total[:, None, None]
    quantities = [
        quantities_of(task.coordinates, task.loads[:, c], points, root, task.degree) for c in (0, 1)
    ]
    groups = [height[:, None], shares.reshape(-1, 12), np.column_stack(quantities)]
    return _Lesson(np.column_stack([u, 2.0 * root - 1.0]), groups, largest)


def _height_over_both(task: _Task) -> _Lesson:
    u, height, points = task.located
    coordinates, loads = task.coordinates, task.loads
    adduction = coordinates.middle[1] + coordinates.half[1] * u[:, 1]
    roots = (loads[:, :, 1] / task.largest) ** (1.0 / task.degree)
    ratios = [ratios_of(coordinates, loads[:, c], points) for c in (0, 1)]
    quantities = [
        quantities_of(coordinates, loads[:, c], points, roots[:, c], task.degree) for c in (0, 1)
    ]
    sensitive = np.column_stack([height, adduction])
    groups = [sensitive, np.column_stack(ratios), np.column_stack(quantities)]
    inputs = np.column_stack([u[:, _INSENSITIVE], 2.0 * roots - 1.0])
    return _Lesson(inputs, groups, task.largest)


class _Task(NamedTuple):
    """Samples located about the path, and the constants of what is to be learnt from them."""

    coordinates: CondyleCoordinates
    located: tuple[FloatArray, FloatArray, FloatArray]
    loads: FloatArray
    largest: float
    degree: float


_LESSONS: dict[str, Callable[[_Task], _Lesson]] = {
    "knee_direct": _loads_over_pose,
    "knee_power": _loads_over_pose,
    "knee_inverted_one": _height_over_total,
    "knee_inverted_two": _height_over_both,
}


def _checks_of(code: int, checks: list[CrossCheck]) -> dict[str, dict[str, CrossCheck]]:
    """Return the residuals of all fits by compartment and name of the outputs."""
    residuals = np.column_stack([check.residuals for check in checks])
    errors = np.column_stack([check.standard_errors for check in checks])
    found: dict[str, dict[str, CrossCheck]] = {name: {} for name in COMPARTMENTS}
    start = 0
    for outputs, width, own in OUTPUTS[code]:
        for name in COMPARTMENTS:
            columns = slice(start, start + width)
            found[name][outputs] = checks[0]._replace(
                residuals=residuals[:, columns], standard_errors=errors[:, columns]
            )
            start += width if own else 0
        start += 0 if own else width
    return found
