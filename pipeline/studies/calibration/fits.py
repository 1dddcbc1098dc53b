"""Fits of the free parameters of a spring law by least squares, and their errors elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from foundation.base.checks import FloatArray
from foundation.base.errors import PoseError
from foundation.base.loads import AREA, AXIAL_FORCE, CENTRE, PEAK_PRESSURE
from foundation.base.pose import Pose
from foundation.elastic_foundation.model import ElasticFoundation
from pipeline.studies.calibration.laws import Bounds, FreeLaw
from pipeline.studies.calibration.samples import CalibrationSamples

#: What is compared, as logarithm of the ratio: force and stiffness at a given pose, peak pressure
#: and area at a given load; the centre of pressure at a given load by its distance [m].
FIGURES = ("force", "stiffness", "peak_pressure", "area", "centre")
#: Figures that are fitted, each with the same weight.
FITTED = (0, 2, 3)
#: Ratio of a figure that the springs do not have: out of contact, or without an answer.
_NONE = 1e-2
#: Steps of Newton's method to a load, and when they end [1].
_MOST_STEPS, _CLOSE = 8, 5e-4
#: Step of the differences, beyond the roughness of loads; end of the search; evaluations.
_DIFFERENCE, _TOLERANCE, _MOST_EVALUATIONS = 5e-3, 1e-3, 30

#: Residuals beyond this count linearly: ridges of a mesh make single peaks of pressure.
_OUTLYING = 0.05

#: Takes the free parameters (P,) and returns the bed of springs.
BedOf = Callable[[FloatArray], ElasticFoundation]


class Fit(NamedTuple):
    """Sum of squares of a fit [1], its parameters (P,) and the bounds of its search."""

    cost: float
    values: FloatArray
    bounds: Bounds


def errors_of(bed: ElasticFoundation, samples: CalibrationSamples) -> FloatArray:
    """Return the `FIGURES` of springs compared with samples, (N, 5) [1, m]."""
    columns = samples.poses, samples.compartments.tolist(), samples.loads, samples.stiffness
    rows = [_errors_at(bed, Pose.from_array(p), *rest) for p, *rest in zip(*columns, strict=True)]
    return np.array(rows)


def fit_law(law: FreeLaw, bed_of: BedOf, samples: CalibrationSamples) -> Fit:
    """Fit the parameters of a law to samples by least squares, from each start of the law."""
    fits = [_fitted(bed_of, samples, *start) for start in law.starts]
    return min(fits, key=lambda fit: fit.cost)


def held_out_errors(fit: Fit, bed_of: BedOf, samples: CalibrationSamples, folds: int) -> FloatArray:
    """Return the `FIGURES` (N, 5) [1, m] of each of `folds` parts by a fit to the other parts.

    The parts are taken in turn along the sequence of samples, so that the result does not depend
    on chance; each search starts from the fit to all samples.
    """
    errors = np.empty((len(samples), len(FIGURES)))
    turn = np.arange(len(samples)) % folds
    for fold in range(folds):
        other = _fitted(bed_of, samples.part(turn != fold), tuple(fit.values), fit.bounds)
        errors[turn == fold] = errors_of(bed_of(other.values), samples.part(turn == fold))
    return errors


def _fitted(
    bed_of: BedOf, samples: CalibrationSamples, start: tuple[float, ...], bounds: Bounds
) -> Fit:
    """Return the fit of a search from a start."""

    def residuals(values: FloatArray) -> FloatArray:
        return errors_of(bed_of(values), samples)[:, FITTED].ravel()

    found = least_squares(
        residuals,
        start,
        bounds=bounds,
        loss="soft_l1",
        f_scale=_OUTLYING,
        diff_step=np.full(len(start), _DIFFERENCE),
        ftol=_TOLERANCE,
        xtol=_TOLERANCE,
        max_nfev=_MOST_EVALUATIONS,
    )
    return Fit(float(found.cost), found.x, bounds)


def _errors_at(
    bed: ElasticFoundation, pose: Pose, compartment: str, target: FloatArray, stiffness: float
) -> FloatArray:
    """Return the `FIGURES` (5,) at one sample."""
    errors = np.full(len(FIGURES), np.log(_NONE))
    errors[-1] = np.nan
    try:
        loads, jacobian, _ = bed.compartment_loads(pose, compartment)
        if loads[AXIAL_FORCE] <= 0.0:
            return errors
        errors[0] = np.log(loads[AXIAL_FORCE] / target[AXIAL_FORCE])
        errors[1] = np.log(max(-jacobian[1, 4] / stiffness, _NONE))
        under = _at_load(bed, pose, compartment, target[AXIAL_FORCE], loads, -jacobian[1, 4])
    except PoseError:
        return errors
    for place, column in ((2, PEAK_PRESSURE), (3, AREA)):
        errors[place] = np.log(max(under[column] / target[column], _NONE))
    errors[4] = np.linalg.norm(under[CENTRE] - target[CENTRE])
    return errors


def _at_load(
    bed: ElasticFoundation, pose: Pose, compartment: str, load: float, loads: FloatArray,
    stiffness: float,
) -> FloatArray:  # fmt: skip
    """Return the loads (12,) [SI] of springs at the height that carries an axial load [N].

    `loads` (12,) and `stiffness` [N/m] are those at the pose, from where Newton's method follows
    the root of the load, which is nearly linear in the height.
    """
    for _ in range(_MOST_STEPS):
        force = loads[AXIAL_FORCE]
        if abs(force / load - 1.0) < _CLOSE or not (force > 0.0 and stiffness > 0.0):
            break
        rise = 2.0 * (force - np.sqrt(force * load)) / stiffness
        pose = replace(pose, superior=pose.superior + float(rise))
        loads, jacobian, _ = bed.compartment_loads(pose, compartment)
        stiffness = -jacobian[1, 4]
    return loads
