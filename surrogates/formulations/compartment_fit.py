"""Formulations: what is learnt of one compartment, behind one interface.

With u the five scaled coordinates of the condyle's point (`condyle_coordinates`), y its height,
F the axial load, r = (F / F_max)^(1/p) the *root* of the load and s = 2 r - 1:

===============  ==================================================================================
inverted         (u, s) -> y; where a pose is given, s is the root of y(u, s) = y
energy           (u, root of the energy) -> y; all loads are the gradient of the energy
root             (u, y) -> r
touch_stiffness  u -> height of first contact; (u, depth below it) -> log(r / depth)
load_stiffness   u -> height at a small load; (u, depth below it) -> log of the secant stiffness
power            (u, y) -> sign(L) |L|^(1/p) of each load L
direct           (u, y) -> each load
===============  ==================================================================================

All but the last two learn F_x, F_z and the moments about the point over F beside it, and are zero
out of contact, exactly; the last two are the customary ways, for comparison. Contact area over r,
peak and mean pressure over r^(p-1) and the centre of pressure from the point are learnt beside the
loads. The root makes height and load nearly proportional: p = 2 for a bed of linear springs under
a smooth condyle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foundation.checks import FloatArray, check_array, check_in, check_number
from foundation.errors import InputError
from surrogates.families.cross_validation import CrossCheck, Fitted, k_fold
from surrogates.families.regressor import Regressor, no_outputs
from surrogates.formulations.compartment import FORMULATIONS, CompartmentSurrogate
from surrogates.sampling.condyle_coordinates import CondyleCoordinates
from surrogates.sampling.space import SampleSpace

#: Depths smaller than this part of the largest one say nothing of the secant stiffness.
_LEAST_DEPTH = 2e-3


class Fitter(NamedTuple):
    """How a regressor is fitted.

    Parameters
    ----------
    fit : callable
        Fits a regressor to inputs (N, d) and outputs (N, k), with weights (N,) or None.
    joint : bool
        Whether one regressor takes all outputs, or each group of like outputs gets its own.
    folds : int
        Folds of a cross-validation that fits again for each, beside the fit's own check; 0: none.
    """

    fit: Callable[[FloatArray, FloatArray, FloatArray | None], Fitted]
    joint: bool = False
    folds: int = 0


@dataclass(frozen=True)
class Samples:
    """Samples of one compartment.

    Parameters
    ----------
    poses : (N, 6) float64
        Poses in contact [rad, m].
    loads : (N, 12) float64
        Loads, in the order of `foundation.loads.LOAD_COLUMNS`.
    energy : (N,) float64, optional
        Stored energy [J], which the formulation "energy" learns.
    reference : (M, 6) float64, optional
        Poses at the reference load: first contact, or a small load ("load_stiffness").
    weights : (N,) float64, optional
        Weights of the samples, for families that can weigh them.
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
        object.__setattr__(self, "poses", poses)
        object.__setattr__(self, "loads", loads)
        if self.energy is not None:
            energy = check_array("energy", self.energy, (len(poses),))
            if energy.min() <= 0.0:
                raise InputError(f"energy: expected > 0 J in every sample, found {energy.min():g}")
            object.__setattr__(self, "energy", energy)
        if self.reference is not None:
            checked = check_array("reference", self.reference, (None, 6))
            object.__setattr__(self, "reference", checked)
        if self.weights is not None:
            weights = check_array("weights", self.weights, (len(poses),))
            object.__setattr__(self, "weights", weights)


@dataclass(frozen=True)
class FormulationSettings:
    """What a formulation is told beside the samples.

    Parameters
    ----------
    load_degree : float
        p, the power of the depth that the load grows with.
    at_centre : bool
        Whether poses are counted at the condyle's own centre, or at the femoral origin.
    reference_load : float
        Axial load of `Samples.reference` for "load_stiffness" [N].
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
        Where the samples were drawn.
    samples : Samples
        What to learn.
    fitter : Fitter
        By what family.
    settings : FormulationSettings, optional

    Raises
    ------
    InputError
        If the formulation is unknown, lacks samples that it needs, or cannot be fitted.
    """
    check_in("formulation", formulation, FORMULATIONS)
    chosen = settings or FormulationSettings()
    coordinates = CondyleCoordinates.fit(
        samples.poses, samples.loads, at_centre=chosen.at_centre and formulation not in _PLAIN
    )
    checks: dict[str, CrossCheck] = {}
    reference = None
    if formulation in _OVER_DEPTH:
        reference, checks["reference"] = _fit_reference(coordinates, samples, fitter)
    lesson = _LEARN[formulation](coordinates, space, samples, chosen, reference)
    parts = []
    for names, inputs, outputs in _groups(lesson, fitter.joint):
        known = samples.weights is not None and len(samples.weights) == len(inputs)
        fitted = fitter.fit(inputs, outputs, samples.weights if known else None)
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


def k_fold_check(fitter: Fitter, inputs: FloatArray, outputs: FloatArray) -> CrossCheck:
    """Return the residuals of a k-fold cross-validation of a fitter's fit."""

    def fit(x: FloatArray, y: FloatArray, rng: np.random.Generator) -> Fitted:
        del rng  # every fit of a fitter draws from its own
        return fitter.fit(x, y, None)

    return k_fold(fit, inputs, outputs, fitter.folds, np.random.default_rng(0))


def _fit_reference(coordinates: CondyleCoordinates, samples: Samples, fitter: Fitter) -> Fitted:
    if samples.reference is None or len(samples.reference) < 2:
        raise InputError(
            "samples: touch and load stiffness need poses at the reference load, found none"
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


def _height_over_load(
    coordinates: CondyleCoordinates,
    space: SampleSpace,
    samples: Samples,
    settings: FormulationSettings,
    reference: Regressor | None = None,
) -> _Lesson:
    """Inverted: (u, s) -> height; first contact, where it is given, is a height at s = -1."""
    u, height, points = coordinates.variables(samples.poses)
    largest, degree = float(space.load[1]), settings.load_degree
    root = (samples.loads[:, 1] / largest) ** (1.0 / degree)
    inputs = np.column_stack([u, 2.0 * root - 1.0])
    heights, at = height[:, None], inputs
    if samples.reference is not None:
        touch, level, _ = coordinates.variables(samples.reference)
        heights = np.concatenate([heights, level[:, None]])
        at = np.concatenate([inputs, np.column_stack([touch, np.full(len(touch), -1.0)])])
    ratios = ratios_of(coordinates, samples.loads, points)
    quantities = quantities_of(coordinates, samples.loads, points, root, degree)
    groups = [("height", at, heights), ("ratios", inputs, ratios)]
    groups.append(("quantities", inputs, quantities))
    return _Lesson(groups, largest, degree, np.array([0.0, 1.0]))


def _height_over_energy(
    coordinates: CondyleCoordinates,
    space: SampleSpace,
    samples: Samples,
    settings: FormulationSettings,
    reference: Regressor | None = None,
) -> _Lesson:
    """Energy: (u, s of the energy) -> height; the energy grows with the depth to the p + 1."""
    if samples.energy is None:
        raise InputError("samples: the formulation 'energy' needs their stored energy, found none")
    u, height, points = coordinates.variables(samples.poses)
    largest, degree = float(samples.energy.max()), settings.load_degree + 1.0
    root = (samples.energy / largest) ** (1.0 / degree)
    inputs = np.column_stack([u, 2.0 * root - 1.0])
    quantities = quantities_of(coordinates, samples.loads, points, root, settings.load_degree)
    groups = [("height", inputs, height[:, None]), ("quantities", inputs, quantities)]
    return _Lesson(groups, largest, degree, np.array([0.0, 1.0]))


def _root_over_height(
    coordinates: CondyleCoordinates,
    space: SampleSpace,
    samples: Samples,
    settings: FormulationSettings,
    reference: Regressor | None = None,
) -> _Lesson:
    """Root: (u, height) -> root of the load; first contact is a root of 0."""
    u, height, points = coordinates.variables(samples.poses)
    depth = middle_and_half(height)
    largest, degree = float(space.load[1]), settings.load_degree
    root = (samples.loads[:, 1] / largest) ** (1.0 / degree)
    inputs = np.column_stack([u, (height - depth[0]) / depth[1]])
    roots, at = root[:, None], inputs
    if samples.reference is not None:
        touch, level, _ = coordinates.variables(samples.reference)
        roots = np.concatenate([roots, np.zeros((len(level), 1))])
        at = np.concatenate([inputs, np.column_stack([touch, (level - depth[0]) / depth[1]])])
    ratios = ratios_of(coordinates, samples.loads, points)
    quantities = quantities_of(coordinates, samples.loads, points, root, degree)
    groups = [("root", at, roots), ("ratios", inputs, ratios), ("quantities", inputs, quantities)]
    return _Lesson(groups, largest, degree, depth)


def _stiffness_over_depth(
    coordinates: CondyleCoordinates,
    space: SampleSpace,
    samples: Samples,
    settings: FormulationSettings,
    reference: Regressor | None = None,
) -> _Lesson:
    """u -> height at the reference load; (u, depth below it) -> log of the secant of the root.

    The depth is counted from the fitted reference height, as it is in the evaluation.
    """
    assert reference is not None  # fit_compartment fits it for these formulations
    u, height, points = coordinates.variables(samples.poses)
    largest, degree = float(space.load[1]), settings.load_degree
    root = (samples.loads[:, 1] / largest) ** (1.0 / degree)
    start = (settings.reference_load / largest) ** (1.0 / degree)
    fall = reference.predict(u)[:, 0] - height
    depth = middle_and_half(np.append(fall, 0.0))
    known = np.abs(fall) > _LEAST_DEPTH * np.abs(fall).max()
    known &= (root - start) * fall > 0.0
    if known.sum() < 2:
        raise InputError("samples: expected loads other than the reference load, found none")
    u, fall, root = u[known], fall[known], root[known]
    inputs = np.column_stack([u, (fall - depth[0]) / depth[1]])
    secant = np.log((root - start) * depth[1] / fall)[:, None]
    ratios = ratios_of(coordinates, samples.loads[known], points[known])
    quantities = quantities_of(coordinates, samples.loads[known], points[known], root, degree)
    groups = [("stiffness", inputs, secant), ("ratios", inputs, ratios)]
    groups.append(("quantities", inputs, quantities))
    return _Lesson(groups, largest, degree, depth, start)


def _loads_over_height(
    coordinates: CondyleCoordinates,
    space: SampleSpace,
    samples: Samples,
    settings: FormulationSettings,
    reference: Regressor | None = None,
) -> _Lesson:
    """Power and direct: (u, height) -> loads, or their roots."""
    del space, reference
    u, height, points = coordinates.variables(samples.poses)
    depth = middle_and_half(height)
    inputs = np.column_stack([u, (height - depth[0]) / depth[1]])
    degree = settings.load_degree
    values = samples.loads.copy()
    values[:, :9] = np.sign(values[:, :9]) * np.abs(values[:, :9]) ** (1.0 / degree)
    values[:, 9:] -= coordinates.lever(points)
    return _Lesson([("loads", inputs, values)], 1.0, degree, depth)


def _plain_loads(
    coordinates: CondyleCoordinates,
    space: SampleSpace,
    samples: Samples,
    settings: FormulationSettings,
    reference: Regressor | None = None,
) -> _Lesson:
    del settings, reference
    plain = FormulationSettings(load_degree=1.0)
    return _loads_over_height(coordinates, space, samples, plain)


_LEARN: dict[str, Callable[..., _Lesson]] = {
    "inverted": _height_over_load,
    "energy": _height_over_energy,
    "root": _root_over_height,
    "touch_stiffness": _stiffness_over_depth,
    "load_stiffness": _stiffness_over_depth,
    "power": _loads_over_height,
    "direct": _plain_loads,
}
#: Formulations whose loads are about the tibial origin, and those that need a reference height.
_PLAIN = frozenset({"power", "direct"})
_OVER_DEPTH = frozenset({"touch_stiffness", "load_stiffness"})


def middle_and_half(values: FloatArray) -> FloatArray:
    """Return middle and half range (2,) of the samples' heights or depths (N,) [m]."""
    low, high = values.min(), values.max()
    if not low < high:
        raise InputError("poses: expected samples of different heights")
    return np.array([0.5 * (low + high), 0.5 * (high - low)])


def ratios_of(coordinates: CondyleCoordinates, loads: FloatArray, points: FloatArray) -> FloatArray:
    """Return F_x, F_z and the moments about the point over the axial load, (N, 5)."""
    moments = loads[:, 3:6] - np.cross(coordinates.lever(points), loads[:, :3])
    return np.column_stack([loads[:, [0, 2]], moments]) / loads[:, 1:2]


def quantities_of(
    coordinates: CondyleCoordinates,
    loads: FloatArray,
    points: FloatArray,
    root: FloatArray,
    degree: float,
) -> FloatArray:
    """Return area over the root, pressures over its power, centre from the point, (N, 6)."""
    pressures = loads[:, 7:9] / root[:, None] ** (degree - 1.0)
    centres = loads[:, 9:] - coordinates.lever(points)
    return np.column_stack([loads[:, 6] / root, pressures, centres])
