"""Fits of the formulations of `surrogates.formulations.whole_knee`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from foundation.checks import FloatArray, check_array, check_in
from foundation.errors import InputError
from foundation.loads import COMPARTMENTS
from surrogates.families.cross_validation import CrossCheck
from surrogates.families.regressor import no_outputs
from surrogates.formulations.compartment_fit import (
    Fitter,
    FormulationSettings,
    k_fold_check,
    middle_and_half,
    quantities_of,
    ratios_of,
)
from surrogates.formulations.whole_knee import (
    KNEE_FORMULATIONS,
    OUTPUTS,
    WholeKneeSurrogate,
)
from surrogates.sampling.condyle_coordinates import CondyleCoordinates
from surrogates.sampling.space import SampleSpace

#: Inputs beside two sensitive directions: all variables but the adduction.
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
    """Fit a formulation to samples in which both condyles carry load.

    Parameters
    ----------
    formulation : str
        One of `KNEE_FORMULATIONS`.
    space : SampleSpace
        Where the samples were drawn.
    poses : (N, 6) float64
        Poses [rad, m].
    loads : (N, 2, 12) float64
        Loads of both compartments, in the order of `foundation.loads.LOAD_COLUMNS`.
    fitter : Fitter
        By what family.
    settings : FormulationSettings, optional
        Of them, only p.

    Raises
    ------
    InputError
        If the formulation is unknown, a condyle carries nothing, or no fit is possible.
    """
    check_in("formulation", formulation, KNEE_FORMULATIONS)
    points = check_array("poses", poses, (None, 6))
    values = check_array("loads", loads, (len(points), 2, 12))
    if not len(values) or values[:, :, 1].min() <= 0.0:
        raise InputError("loads: expected samples in which both compartments carry axial load")
    plain = formulation == "knee_direct"
    degree = 1.0 if plain else (settings or FormulationSettings()).load_degree
    lesson = _LEARN[formulation](space, points, values, degree)
    groups = _together(lesson.groups) if fitter.joint else lesson.groups
    fits = [fitter.fit(lesson.inputs, outputs, None) for outputs in groups]
    parts = [fit.regressor for fit in fits] + [no_outputs(6)] * (3 - len(fits))
    _, height, _ = CondyleCoordinates.at_origin(space).variables(points)
    surrogate = WholeKneeSurrogate(
        formulation,
        space,
        lesson.largest,
        degree,
        middle_and_half(height),
        (parts[0], parts[1], parts[2]),
    )
    checks = _checks_of(surrogate.code, [fit.check for fit in fits])
    if fitter.folds:
        again = [k_fold_check(fitter, lesson.inputs, outputs) for outputs in groups]
        for name, found in _checks_of(surrogate.code, again).items():
            checks[name] |= {f"{key}, {fitter.folds} folds": c for key, c in found.items()}
    return TrainedWholeKnee(surrogate, checks)


class _Lesson(NamedTuple):
    """Inputs and, in groups of like ones, outputs that a formulation learns; the largest load."""

    inputs: FloatArray
    groups: list[FloatArray]
    largest: float


def _together(groups: list[FloatArray]) -> list[FloatArray]:
    return [np.column_stack(groups)]


def _loads_over_pose(
    space: SampleSpace, poses: FloatArray, loads: FloatArray, degree: float
) -> _Lesson:
    u, height, _ = CondyleCoordinates.at_origin(space).variables(poses)
    middle, half = middle_and_half(height)
    values = loads.copy()
    values[:, :, :9] = np.sign(values[:, :, :9]) * np.abs(values[:, :, :9]) ** (1.0 / degree)
    inputs = np.column_stack([u, (height - middle) / half])
    return _Lesson(inputs, [values.reshape(len(poses), 24)], 1.0)


def _height_over_total(
    space: SampleSpace, poses: FloatArray, loads: FloatArray, degree: float
) -> _Lesson:
    coordinates = CondyleCoordinates.at_origin(space)
    u, height, points = coordinates.variables(poses)
    total, largest = loads[:, :, 1].sum(axis=1), 2.0 * float(space.load[1])
    root = (total / largest) ** (1.0 / degree)
    inputs = np.column_stack([u, 2.0 * root - 1.0])
    shares = loads[:, :, :6] / total[:, None, None]
    quantities = [quantities_of(coordinates, loads[:, c], points, root, degree) for c in (0, 1)]
    groups = [height[:, None], shares.reshape(len(poses), 12), np.column_stack(quantities)]
    return _Lesson(inputs, groups, largest)


def _height_over_both(
    space: SampleSpace, poses: FloatArray, loads: FloatArray, degree: float
) -> _Lesson:
    coordinates = CondyleCoordinates.at_origin(space)
    u, height, points = coordinates.variables(poses)
    adduction = coordinates.middle[1] + coordinates.half[1] * u[:, 1]
    largest = float(space.load[1])
    roots = (loads[:, :, 1] / largest) ** (1.0 / degree)
    inputs = np.column_stack([u[:, _INSENSITIVE], 2.0 * roots - 1.0])
    ratios = [ratios_of(coordinates, loads[:, c], points) for c in (0, 1)]
    quantities = [
        quantities_of(coordinates, loads[:, c], points, roots[:, c], degree) for c in (0, 1)
    ]
    sensitive = np.column_stack([height, adduction])
    groups = [sensitive, np.column_stack(ratios), np.column_stack(quantities)]
    return _Lesson(inputs, groups, largest)


_LEARN: dict[str, Callable[[SampleSpace, FloatArray, FloatArray, float], _Lesson]] = {
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
