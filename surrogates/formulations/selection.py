"""The cheapest surrogate of a compartment that reaches a wanted error.

Learning from few samples and evaluating cheaply are two aims. Kriging learns best from few samples,
but an evaluation visits every sample: it is *compressed* into a spline-polynomial, which is fitted
to as many predictions of Kriging as are wanted. Many samples are fitted directly, by
spline-polynomials of more and more terms; where none reaches the wanted error, by more and more
networks.

All errors are out-of-sample: leave-one-out residuals, of networks held-back samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_in
from foundation.base.errors import InputError
from surrogates.families.cross_validation import CrossCheck, fit_spread, spread_at
from surrogates.families.kriging import local_error, spread_picks
from surrogates.families.regressor import no_outputs
from surrogates.families.spline import TERMS, SplineSettings, fit_splines
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.compartment_fit import Fitter, Trained, assembled, fit_compartment
from surrogates.formulations.training_data import FORMULATIONS, Samples
from surrogates.sampling.space import SampleSpace

_STEP = 1e-4  # of the scaled root of the load, for the slope of the height


def largest_errors(
    surrogate: CompartmentSurrogate,
    check: CrossCheck,
    poses: ArrayLike,
    load: ArrayLike,
    count: int,
) -> NDArray[np.int64]:
    """Return candidates (count,) to evaluate next, by the expected error of the load [N]."""
    # An error of the height causes an error of the load in proportion to the slope of the load. The
    # standard error of the height is that of Kriging, times the ratio of actual to expected
    # leave-one-out errors nearby; each choice lowers it as if the sample had been taken. Candidates
    # are poses (m, 6) [rad, m], whose height is not read, and axial loads (m,) [N].
    check_in("formulation", surrogate.formulation, ("inverted",))
    height = surrogate.regressors[0]
    inputs = surrogate.inputs_at_load(poses, load)
    weights = load_per_height(surrogate, inputs) * local_error(height, check, inputs)
    return spread_picks(height, inputs, weights, count)


def load_error(surrogate: CompartmentSurrogate, check: CrossCheck, inputs: FloatArray) -> float:
    """Return the RMS error of the axial load over the largest load [1], from inputs (N, 6) [1]."""
    x = inputs[check.rows]
    return float(np.sqrt(np.mean((load_per_height(surrogate, x) * check.residuals[:, 0]) ** 2)))


def load_per_height(surrogate: CompartmentSurrogate, inputs: FloatArray) -> FloatArray:
    """Return |dF/dy| over the largest load at inputs (m, 6) [1/m]."""
    points = check_array("inputs", inputs, (None, 6))
    height = surrogate.regressors[0]
    ahead, behind = points.copy(), points.copy()
    ahead[:, 5] += _STEP
    behind[:, 5] -= _STEP
    fall = np.abs(height.predict(ahead)[:, 0] - height.predict(behind)[:, 0]) / (2.0 * _STEP)
    root = 0.5 * (points[:, 5] + 1.0)
    steepness = 0.5 * surrogate.degree * np.maximum(root, 0.0) ** (surrogate.degree - 1.0)
    return steepness / np.maximum(fall, 1e-3 * np.median(fall))


#: Most samples that Kriging is fitted to.
MOST_FOR_KRIGING = 2000
#: A compressed surrogate may have this factor times the error of the surrogate it stands for.
_COMPRESSED = 1.3
#: Fewest predictions for a compression.
_LEAST_PREDICTED = 1000
#: A cheaper surrogate is preferred up to this factor times the least error.
_PREFERRED = 1.1
#: Twice the terms are worth it if they bring the error below this factor.
_WORTH_IT = 0.9
#: Name of the residuals of all outputs together.
_ALL = "height+ratios+quantities"


class FrontPoint(NamedTuple):
    """A surrogate of the front."""

    #: Family of the regressors; "spline of kriging" if compressed.
    family: str
    #: Terms of a spline-polynomial, samples of Kriging, units of a network.
    size: int
    #: Largest out-of-sample RMS error of forces, moments at a pose, over their peaks [1].
    load_error: float
    #: Out-of-sample RMS error of the height at a load [m].
    height_error: float
    #: Multiplications of an evaluation.
    operations: int


class Selected(NamedTuple):
    """The chosen surrogate, and the points of the front, the chosen one's number among them."""

    trained: Trained
    front: list[FrontPoint]
    chosen: int

    @property
    def point(self) -> FrontPoint:
        """The chosen surrogate's point of the front."""
        return self.front[self.chosen]


class Drawn(NamedTuple):
    """Candidates that Kriging predicts: poses (M, 6) [rad, m], whose height is not read."""

    poses: FloatArray
    load: FloatArray
    #: Returns which predicted loads (M, 12) [SI] are feasible, (M,) bool.
    kept: Callable[[FloatArray], NDArray[np.bool_]]


class Fitters(NamedTuple):
    """Fits of the families that are no spline-polynomials."""

    #: Of few samples.
    kriging: Fitter
    #: Of many samples, from the cheapest network to the most expensive one.
    networks: tuple[Fitter, ...]


def fit_cheapest(
    space: SampleSpace,
    samples: Samples,
    drawn: Drawn,
    fitters: Fitters,
    wanted: float,
    splines: SplineSettings,
    load_degree: float = 2.0,
) -> Selected:
    """Fit the front of "inverted" to the samples of one compartment; choose by `wanted` [1]."""
    # `drawn` is predicted where Kriging is compressed; `splines` has the highest degree and pieces.
    if np.sum(_full(samples)) <= MOST_FOR_KRIGING:
        return _compressed_front(space, samples, drawn, fitters.kriging, wanted, splines,
                                 load_degree)  # fmt: skip
    trained: list[Trained] = []
    front: list[FrontPoint] = []
    data = FORMULATIONS["inverted"].training_data(samples, float(space.load[1]), load_degree)
    outputs = np.column_stack(data.groups)
    draw = np.random.default_rng(0)
    for fitted in fit_splines(data.inputs, outputs, splines, TERMS, draw, samples.weights):
        surrogate = assembled("inverted", space, data, [fitted.regressor])
        trained.append(Trained(surrogate, {_ALL: fitted.check}))
        front.append(_spline_point("spline", trained[-1], samples))
        if front[-1].load_error <= wanted:
            return Selected(trained[-1], front, len(front) - 1)
        if len(front) > 2 and front[-1].load_error > _WORTH_IT * front[-3].load_error:
            break
    for number, fitter in enumerate(fitters.networks):
        trained.append(fit_compartment("inverted", space, samples, fitter, load_degree))
        units = trained[-1].surrogate.regressors[0].inner_bias.size
        front.append(front_point("network", units, trained[-1], samples))
        if front[-1].load_error <= wanted:
            return Selected(trained[-1], front, len(front) - 1)
        if number and front[-1].load_error > _WORTH_IT * front[-2].load_error:
            break
    return _cheapest(trained, front)


def _cheapest(found: list[Trained], front: list[FrontPoint]) -> Selected:
    """Return the cheapest surrogate of about the least error."""
    least = min(point.load_error for point in front)
    near = [k for k, point in enumerate(front) if point.load_error <= _PREFERRED * least]
    chosen = min(near, key=lambda k: front[k].operations)
    return Selected(found[chosen], front, chosen)


def _compressed_front(
    space: SampleSpace,
    samples: Samples,
    drawn: Drawn,
    kriging: Fitter,
    wanted: float,
    splines: SplineSettings,
    load_degree: float,
) -> Selected:
    """Return Kriging of few samples, compressed into the cheapest spline-polynomial that does."""
    # Kriging itself if none suffices, or is cheaper, or if few candidates are feasible.
    full = _full(samples)
    few = Samples(samples.poses[full], samples.loads[full])
    learnt = fit_compartment("inverted", space, few, kriging, load_degree)
    front = [front_point("kriging", len(few.poses), learnt, few)]
    limit = max(wanted, _COMPRESSED * front[0].load_error)
    feasible = drawn.kept(learnt.surrogate.at_load(drawn.poses, drawn.load)[1])
    inputs = learnt.surrogate.inputs_at_load(drawn.poses[feasible], drawn.load[feasible])
    counts = TERMS if len(inputs) >= _LEAST_PREDICTED else ()
    # Some samples do not allow splines, as those of a single flexion.
    with suppress(InputError):
        for compressed in compressions(learnt, few, inputs, splines, counts):
            point = _spline_point("spline of kriging", compressed, few)
            if point.operations >= front[0].operations:
                break
            front.append(point)
            if point.load_error <= limit:
                return Selected(compressed, front, len(front) - 1)
    return Selected(learnt, front, 0)


def compressions(
    learnt: Trained,
    samples: Samples,
    inputs: FloatArray,
    settings: SplineSettings,
    counts: Sequence[int],
) -> Iterator[Trained]:
    """Yield spline-polynomials of rising `counts` of terms, fitted to predictions (M, 6) [1]."""
    # Residuals at the samples are those of the fitted compartment plus the difference of
    # predictions.
    surrogate, check = learnt.surrogate, joint_check(learnt)

    def predict(x: FloatArray) -> FloatArray:
        return np.column_stack([r.predict(x) for r in surrogate.regressors if r.outputs])

    if not counts:
        return
    checked = _inputs_of(surrogate, samples)[check.rows]
    known = check.residuals + predict(checked)
    for fitted in fit_splines(inputs, predict(inputs), settings, counts, np.random.default_rng(0)):
        residuals = known - fitted.regressor.predict(checked)
        z = (checked - fitted.regressor.x_offset) / fitted.regressor.x_scale
        spread = fit_spread(z, residuals)
        parts = (replace(fitted.regressor, spread=spread), no_outputs(6), no_outputs(6))
        total = check._replace(residuals=residuals, standard_errors=spread_at(spread, z))
        yield Trained(replace(surrogate, regressors=parts), {_ALL: total})


def _spline_point(family: str, trained: Trained, samples: Samples) -> FrontPoint:
    terms = len(trained.surrogate.regressors[0].exponents)
    return front_point(family, terms, trained, samples)


def front_point(family: str, size: int, trained: Trained, samples: Samples) -> FrontPoint:
    """Return the errors and the cost of a compartment fitted to samples."""
    check, surrogate = joint_check(trained), trained.surrogate
    loads = samples.loads[check.rows]
    inputs = _inputs_of(surrogate, samples)[check.rows]
    axial = surrogate.space.load[1] * load_per_height(surrogate, inputs) * check.residuals[:, 0]
    full = _full(samples)[check.rows]
    errors = []
    for column in range(6):
        # A ratio's error counts by the axial load, and the axial load's error by the ratio.
        ratio = loads[:, column] / loads[:, 1]
        ratio_error = 0.0 if column == 1 else check.residuals[:, _RATIOS[column]] * loads[:, 1]
        miss = np.hypot(ratio_error, ratio * axial)[full]
        peak = np.abs(loads[full, column]).max()
        errors.append(np.sqrt(np.mean(miss**2)) / peak if peak > 0.0 else 0.0)
    height = float(np.sqrt(np.mean(check.residuals[full, 0] ** 2)))
    operations = sum(r.operations for r in surrogate.regressors)
    return FrontPoint(family, size, float(max(errors)), height, operations)


#: Outputs of the ratios of the loads, by the columns of the loads.
_RATIOS = {0: 1, 2: 2, 3: 3, 4: 4, 5: 5}


def joint_check(trained: Trained) -> CrossCheck:
    """Return the residuals of all twelve outputs, the height first, at the same rows."""
    checks = list(trained.checks.values())
    return CrossCheck(
        checks[0].rows,
        np.column_stack([check.residuals for check in checks]),
        np.column_stack([check.standard_errors for check in checks]),
        checks[0].kind,
    )


def _inputs_of(surrogate: CompartmentSurrogate, samples: Samples) -> FloatArray:
    return surrogate.inputs_at_load(samples.poses, samples.loads[:, 1])


def _full(samples: Samples) -> NDArray[np.bool_]:
    """Return which samples have the full weight, (N,) bool."""
    if samples.weights is None:
        return np.ones(len(samples.poses), dtype=bool)
    return samples.weights >= 0.5 * samples.weights.max()
