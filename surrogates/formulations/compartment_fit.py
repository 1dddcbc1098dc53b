"""Fits of the formulations of one compartment (docs/theory.md).

u are the five scaled coordinates of the condyle's point (`condyle_coordinates`), y its height,
r = (F / F_max)^(1/p) the *root* of the axial load F and s = 2 r - 1. "power" and "direct" learn the
loads; the others learn F_x, F_z and the moments about the point over F besides, and are exactly
zero out of contact. Area over r, pressures over r^(p-1) and centre from the point are learnt too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, check_array, check_fields, check_in, check_number
from foundation.base.errors import InputError
from surrogates.compiled.compartments import POWER
from surrogates.families.cross_validation import CrossCheck, Fitted, k_fold
from surrogates.families.regressor import Regressor, no_outputs
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.registry import FORMULATIONS
from surrogates.sampling.condyle_coordinates import CondyleCoordinates
from surrogates.sampling.space import SampleSpace

#: Depths smaller than this part of the largest one say nothing of the secant stiffness.
_LEAST_DEPTH = 2e-3
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
    energy : (N,) float64, optional
        Stored energy [J], for the formulation "energy".
    reference : (M, 6) float64, optional
        Poses at the reference load [rad, m]: first contact, or a small load ("load_stiffness").
    weights : (N,) float64, optional
        Weights of the samples [1], for families that accept weights.

    Raises
    ------
    InputError
        If an array is malformed, or a load or energy is not positive.
    """

    poses: FloatArray
    loads: FloatArray
    energy: FloatArray | None = None
    reference: FloatArray | None = None
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
        if self.energy is not None:
            check_array("energy", self.energy, (len(poses),), above=0.0, unit="J")
        one = (len(poses),)
        check_fields(
            self, poses=(None, 6), loads=(None, 12), energy=one, reference=(None, 6), weights=one
        )


@dataclass(frozen=True)
class FormulationSettings:
    """Settings of a formulation besides the samples.

    Parameters
    ----------
    load_degree : float
        p, the power of the depth with which the load grows [1].
    at_centre : bool
        Whether poses are counted at the condyle's own centre, or at the femoral origin.
    reference_load : float
        Axial load of `Samples.reference` for "load_stiffness" [N].

    Raises
    ------
    InputError
        If p is below 1 or the reference load is negative.
    """

    load_degree: float = 2.0
    at_centre: bool = True
    reference_load: float = 0.0

    def __post_init__(self) -> None:
        check_number("load_degree", self.load_degree, at_least=1.0)
        check_number("reference_load", self.reference_load, at_least=0.0, unit="N")


class Trained(NamedTuple):
    """A fitted compartment and the cross-validation residuals of its outputs, by name."""

    surrogate: CompartmentSurrogate
    checks: dict[str, CrossCheck]


def fit_compartment(
    formulation: str,
    space: SampleSpace,
    samples: Samples,
    fitter: Fitter,
    settings: FormulationSettings | None = None,
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
    settings : FormulationSettings, optional
        Settings of the formulation.

    Raises
    ------
    InputError
        If the formulation is unknown, lacks samples that it needs, or cannot be fitted.
    """
    check_in("formulation", formulation, FORMULATIONS)
    chosen = settings or FormulationSettings()
    kind = FORMULATIONS[formulation]
    # "power" and "direct" learn loads about the tibial origin.
    at_centre = chosen.at_centre and kind.code != POWER
    coordinates = CondyleCoordinates.fit(samples.poses, samples.loads, at_centre=at_centre)
    checks: dict[str, CrossCheck] = {}
    reference = None
    if kind.reference is not None:
        reference, checks["reference"] = _fit_reference(coordinates, samples, fitter)
    degree = 1.0 if formulation == "direct" else chosen.load_degree
    largest = float(space.load[1])
    task = _Task(coordinates, samples, largest, degree, chosen.reference_load, reference)
    lesson = _LESSONS[formulation](task)
    parts = []
    for names, inputs, outputs in _groups(lesson, fitter.joint):
        known = samples.weights is not None and len(samples.weights) == len(inputs)
        weights = _influences(fitter, outputs, samples.weights if known else None)
        fitted = fitter.fit(inputs, outputs, weights)
        parts.append(fitted.regressor)
        checks[names] = fitted.check
        if fitter.folds:
            checks[f"{names}, {fitter.folds} folds"] = k_fold_check(fitter, inputs, outputs)
    parts += [no_outputs(6)] * (3 - len(parts))
    surrogate = CompartmentSurrogate(
        formulation, space, coordinates, lesson.largest, lesson.degree, lesson.reference_root,
        lesson.depth, (reference or no_outputs(5), parts[0], parts[1], parts[2]),
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


def _fit_reference(coordinates: CondyleCoordinates, samples: Samples, fitter: Fitter) -> Fitted:
    if samples.reference is None or len(samples.reference) < 2:
        raise InputError(
            "samples: touch_stiffness and load_stiffness need poses at the reference load "
            "(Samples.reference), found none"
        )
    u, height, _ = coordinates.variables(samples.reference)
    return fitter.fit(u, height[:, None], None)


class _Lesson(NamedTuple):
    """Inputs and outputs that a formulation learns, in groups of like outputs."""

    groups: Sequence[tuple[str, FloatArray, FloatArray]]
    largest: float
    degree: float
    depth: FloatArray
    reference_root: float = 0.0


def _groups(lesson: _Lesson, joint: bool) -> Sequence[tuple[str, FloatArray, FloatArray]]:
    if not joint:
        return lesson.groups
    shortest = min(len(inputs) for _, inputs, _ in lesson.groups)
    # Rows that only some outputs have (first contact) are left out.
    names = "+".join(name for name, _, _ in lesson.groups)
    outputs = np.column_stack([values[:shortest] for _, _, values in lesson.groups])
    return [(names, lesson.groups[-1][1][:shortest], outputs)]


@dataclass(frozen=True)
class _Task:
    """Samples of a compartment, and the constants of what is to be learnt from them."""

    coordinates: CondyleCoordinates
    samples: Samples
    largest: float
    degree: float
    reference_load: float
    reference: Regressor | None

    @cached_property
    def located(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Scaled variables (N, 5), heights (N,) and points (N, 3) of the samples."""
        return self.coordinates.variables(self.samples.poses)

    @property
    def root(self) -> FloatArray:
        """Roots (N,) of the loads."""
        root: FloatArray = (self.samples.loads[:, 1] / self.largest) ** (1.0 / self.degree)
        return root

    def groups(
        self,
        name: str,
        inputs: FloatArray,
        values: FloatArray,
        contact: Callable[[FloatArray], tuple[FloatArray, FloatArray]] | None = None,
        rows: NDArray[np.bool_] | slice = slice(None),
    ) -> list[tuple[str, FloatArray, FloatArray]]:
        """Return the groups of a formulation that learns ratios besides values (N,).

        `contact` returns last inputs and values of poses in first contact from their heights; only
        the samples of `rows` are learnt.
        """
        at, outputs = inputs, values[:, None]
        if contact is not None and self.samples.reference is not None:
            u, height, _ = self.coordinates.variables(self.samples.reference)
            last, touch = contact(height)
            outputs = np.concatenate([outputs, touch[:, None]])
            at = np.concatenate([inputs, np.column_stack([u, last])])
        loads, points = self.samples.loads[rows], self.located[2][rows]
        ratios = ratios_of(self.coordinates, loads, points)
        quantities = quantities_of(self.coordinates, loads, points, self.root[rows], self.degree)
        return [(name, at, outputs), ("ratios", inputs, ratios), ("quantities", inputs, quantities)]


def _height_over_load(task: _Task) -> _Lesson:
    """Inverted: (u, s) -> height; given first contacts are heights at s = -1."""
    u, height, _ = task.located
    inputs = np.column_stack([u, 2.0 * task.root - 1.0])
    groups = task.groups("height", inputs, height, lambda h: (np.full(len(h), -1.0), h))
    return _Lesson(groups, task.largest, task.degree, np.array([0.0, 1.0]))


def _height_over_energy(task: _Task) -> _Lesson:
    """Energy: (u, s of the energy) -> height; the energy grows with the depth to the p + 1."""
    energy = task.samples.energy
    if energy is None:
        raise InputError("samples: the formulation 'energy' needs the stored energy, found none")
    u, height, points = task.located
    largest, degree = float(energy.max()), task.degree + 1.0
    root = (energy / largest) ** (1.0 / degree)
    inputs = np.column_stack([u, 2.0 * root - 1.0])
    quantities = quantities_of(task.coordinates, task.samples.loads, points, root, task.degree)
    groups = [("height", inputs, height[:, None]), ("quantities", inputs, quantities)]
    return _Lesson(groups, largest, degree, np.array([0.0, 1.0]))


def _root_over_height(task: _Task) -> _Lesson:
    """Root: (u, height) -> root of the load; first contact is a root of 0."""
    u, height, _ = task.located
    depth = middle_and_half(height)
    inputs = np.column_stack([u, (height - depth[0]) / depth[1]])
    groups = task.groups(
        "root", inputs, task.root, lambda h: ((h - depth[0]) / depth[1], np.zeros(len(h)))
    )
    return _Lesson(groups, task.largest, task.degree, depth)


def _stiffness_over_depth(task: _Task) -> _Lesson:
    """u -> height at the reference load; (u, depth below it) -> log of the secant of the root.

    The depth is counted from the fitted reference height, as in the evaluation.
    """
    assert task.reference is not None  # fit_compartment fits it for these formulations
    u, height, _ = task.located
    root = task.root
    start = (task.reference_load / task.largest) ** (1.0 / task.degree)
    fall = task.reference.predict(u)[:, 0] - height
    depth = middle_and_half(np.append(fall, 0.0))
    known = np.abs(fall) > _LEAST_DEPTH * np.abs(fall).max()
    known &= (root - start) * fall > 0.0
    if known.sum() < 2:
        raise InputError("samples: expected loads other than the reference load, found none")
    u, fall, root = u[known], fall[known], root[known]
    inputs = np.column_stack([u, (fall - depth[0]) / depth[1]])
    secant = np.log((root - start) * depth[1] / fall)
    groups = task.groups("stiffness", inputs, secant, rows=known)
    return _Lesson(groups, task.largest, task.degree, depth, start)


def _loads_over_height(task: _Task) -> _Lesson:
    """Power and direct: (u, height) -> loads, or their roots."""
    u, height, points = task.located
    depth = middle_and_half(height)
    inputs = np.column_stack([u, (height - depth[0]) / depth[1]])
    values = roots_of(task.samples.loads, task.degree)
    values[:, 9:] -= task.coordinates.lever(points)
    return _Lesson([("loads", inputs, values)], 1.0, task.degree, depth)


_LESSONS: dict[str, Callable[[_Task], _Lesson]] = {
    "inverted": _height_over_load,
    "energy": _height_over_energy,
    "root": _root_over_height,
    "touch_stiffness": _stiffness_over_depth,
    "load_stiffness": _stiffness_over_depth,
    "power": _loads_over_height,
    "direct": _loads_over_height,
}


def roots_of(loads: FloatArray, degree: float) -> FloatArray:
    """Return loads (..., 12) [SI] with sign(L) |L|^(1/p) in place of all but the centre."""
    values = loads.copy()
    values[..., :9] = np.sign(values[..., :9]) * np.abs(values[..., :9]) ** (1.0 / degree)
    return values


def middle_and_half(values: FloatArray) -> FloatArray:
    """Return middle and half range (2,) of the samples' heights or depths (N,) [m]."""
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
