"""Fits of the formulations of one compartment (docs/theory.md).

u are the five scaled coordinates of the condyle's point (`condyle_coordinates`), y its height, r =
(F / F_max)^(1/p) the *root* of the axial load F and s = 2 r - 1. "inverted" learns y over (u, s),
and F_x, F_z and the moments about the point over F: the loads are exactly zero out of contact.
"direct" learns the loads over (u, y). Area over r, pressures over r^(p-1) and the centre of
pressure from the point are learnt too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foundation.base.checks import FloatArray, check_array, check_fields, check_in, check_number
from foundation.base.errors import InputError
from surrogates.families.cross_validation import CrossCheck, Fitted, k_fold
from surrogates.families.regressor import no_outputs
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.registry import FORMULATIONS
from surrogates.sampling.condyle_coordinates import CondyleCoordinates
from surrogates.sampling.space import SampleSpace

#: Places of the peak pressure and of all quantities in the outputs of every joint fit.
_PEAK, _QUANTITIES = -5, slice(-6, None)


class Fitter(NamedTuple):
    """Fit of a regressor.

    Parameters
    ----------
    fit : callable
        Fits a regressor to inputs (N, d), outputs (N, k) [any unit], weights (N,), (N, k) or None.
    joint : bool
        Whether one regressor takes all outputs, or each group of like outputs its own.
    folds : int
        Folds of a cross-validation by repeated fits, besides the fit's own check; 0 for none.
    peak_influence, quantities_influence : float
        Influence, on a joint fit, of the peak pressure over other quantities, and of all quantities
        (area, pressures, centre of pressure) over the other outputs [1].
    """

    fit: Callable[[FloatArray, FloatArray, FloatArray | None], Fitted]
    joint: bool = False
    folds: int = 0
    peak_influence: float = 1.0
    quantities_influence: float = 1.0


@dataclass(frozen=True)
class Samples:
    """Samples of one compartment.

    Parameters
    ----------
    poses : (N, 6) float64
        Poses in contact [rad, m].
    loads : (N, 12) float64
        Loads, in the order of `foundation.base.loads.LOAD_COLUMNS` [SI].
    weights : (N,) float64, optional
        Weights of the samples [1], for families that accept weights.

    Raises
    ------
    InputError
        If an array is malformed, or an axial load is not positive.
    """

    poses: FloatArray
    loads: FloatArray
    weights: FloatArray | None = None

    def __post_init__(self) -> None:
        poses = check_array("poses", self.poses, (None, 6))
        loads = check_array("loads", self.loads, (len(poses), 12))
        if not len(loads):
            raise InputError("poses: expected at least one sample, found none")
        if loads[:, 1].min() <= 0.0:
            raise InputError(
                f"loads: expected an axial load > 0 in every sample, found {loads[:, 1].min():g} N"
            )
        check_fields(self, poses=(None, 6), loads=(None, 12), weights=(len(poses),))


class Trained(NamedTuple):
    """A fitted compartment and the cross-validation residuals of its outputs, by name."""

    surrogate: CompartmentSurrogate
    checks: dict[str, CrossCheck]


def fit_compartment(
    formulation: str,
    space: SampleSpace,
    samples: Samples,
    fitter: Fitter,
    load_degree: float = 2.0,
) -> Trained:
    """Fit a formulation to the samples of one compartment.

    Parameters
    ----------
    formulation : str
        One of `FORMULATIONS`.
    space : SampleSpace
        Box of the samples.
    samples : Samples
        Poses and loads to learn.
    fitter : Fitter
        Fit of the regressors.
    load_degree : float
        p, the power of the indentation with which the load grows ("inverted") [1].

    Raises
    ------
    InputError
        If the formulation is unknown, p is below 1, or the formulation cannot be fitted.
    """
    check_in("formulation", formulation, FORMULATIONS)
    check_number("load_degree", load_degree, at_least=1.0)
    lesson = _LESSONS[formulation](samples, float(space.load[1]), load_degree)
    checks: dict[str, CrossCheck] = {}
    parts = []
    for name, outputs in _groups(lesson, fitter.joint):
        fitted = fitter.fit(lesson.inputs, outputs, _influences(fitter, outputs, samples.weights))
        parts.append(fitted.regressor)
        checks[name] = fitted.check
        if fitter.folds:
            checks[f"{name}, {fitter.folds} folds"] = k_fold_check(fitter, lesson.inputs, outputs)
    parts += [no_outputs(6)] * (3 - len(parts))
    surrogate = CompartmentSurrogate(
        formulation, space, lesson.coordinates, lesson.largest, lesson.degree, lesson.depth,
        (parts[0], parts[1], parts[2]),
    )  # fmt: skip
    return Trained(surrogate, checks)


def _influences(
    fitter: Fitter, outputs: FloatArray, weights: FloatArray | None
) -> FloatArray | None:
    """Return the weights (N,) of the samples, or (N, k) of their outputs (N, k)."""
    if not fitter.joint or fitter.peak_influence == fitter.quantities_influence == 1.0:
        return weights
    influence = np.ones(outputs.shape[1])
    influence[_QUANTITIES] = fitter.quantities_influence
    influence[_PEAK] *= fitter.peak_influence
    return np.outer(np.ones(len(outputs)) if weights is None else weights, influence)


def k_fold_check(fitter: Fitter, inputs: FloatArray, outputs: FloatArray) -> CrossCheck:
    """Return k-fold residuals of a fit to inputs (N, d) and outputs (N, k) [any unit]."""
    fit = fitter.fit  # draws from its own generator
    rng = np.random.default_rng(0)
    return k_fold(lambda x, y, _: fit(x, y, None), inputs, outputs, fitter.folds, rng)


class _Lesson(NamedTuple):
    """Inputs and outputs that a formulation learns, in groups of like outputs, and constants."""

    coordinates: CondyleCoordinates
    inputs: FloatArray
    groups: Sequence[tuple[str, FloatArray]]
    largest: float
    degree: float
    depth: FloatArray


def _groups(lesson: _Lesson, joint: bool) -> Sequence[tuple[str, FloatArray]]:
    if not joint:
        return lesson.groups
    names = "+".join(name for name, _ in lesson.groups)
    return [(names, np.column_stack([values for _, values in lesson.groups]))]


def _height_over_load(samples: Samples, largest: float, degree: float) -> _Lesson:
    """Inverted: (u, s) -> height, ratios of the loads, quantities."""
    coordinates = CondyleCoordinates.fit(samples.poses, samples.loads)
    u, height, points = coordinates.variables(samples.poses)
    loads = samples.loads
    root = (loads[:, 1] / largest) ** (1.0 / degree)
    groups = [
        ("height", height[:, None]),
        ("ratios", ratios_of(coordinates, loads, points)),
        ("quantities", quantities_of(coordinates, loads, points, root, degree)),
    ]
    inputs = np.column_stack([u, 2.0 * root - 1.0])
    return _Lesson(coordinates, inputs, groups, largest, degree, np.array([0.0, 1.0]))


def _loads_over_height(samples: Samples, largest: float, degree: float) -> _Lesson:
    """Direct: (u, height) -> loads about the tibial origin; neither F_max nor p is needed."""
    del largest, degree
    coordinates = CondyleCoordinates.fit(samples.poses, samples.loads, at_centre=False)
    u, height, points = coordinates.variables(samples.poses)
    depth = middle_and_half(height)
    values = samples.loads.copy()
    values[:, 9:] -= coordinates.lever(points)
    inputs = np.column_stack([u, (height - depth[0]) / depth[1]])
    return _Lesson(coordinates, inputs, [("loads", values)], 1.0, 1.0, depth)


_LESSONS: dict[str, Callable[[Samples, float, float], _Lesson]] = {
    "inverted": _height_over_load,
    "direct": _loads_over_height,
}


def middle_and_half(values: FloatArray) -> FloatArray:
    """Return middle and half range (2,) of the samples' heights (N,) [m]."""
    low, high = values.min(), values.max()
    if not low < high:
        raise InputError(f"poses: expected samples of different heights, found only {low:g} m")
    return np.array([0.5 * (low + high), 0.5 * (high - low)])


def ratios_of(coordinates: CondyleCoordinates, loads: FloatArray, points: FloatArray) -> FloatArray:
    """Return F_x, F_z [1] and moments about the point [m] over the axial load, (N, 5)."""
    moments = loads[:, 3:6] - np.cross(coordinates.lever(points), loads[:, :3])
    return np.column_stack([loads[:, [0, 2]], moments]) / loads[:, 1:2]


def quantities_of(
    coordinates: CondyleCoordinates,
    loads: FloatArray,
    points: FloatArray,
    root: FloatArray,
    degree: float,
) -> FloatArray:
    """Return area over the root, pressures over its power, centre from the point, (N, 6) [SI]."""
    pressures = loads[:, 7:9] / root[:, None] ** (degree - 1.0)
    centres = loads[:, 9:] - coordinates.lever(points)
    return np.column_stack([loads[:, 6] / root, pressures, centres])
