"""Fits of the formulations of one compartment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from foundation.base.checks import FloatArray, check_in, check_number
from surrogates.families.cross_validation import CrossCheck, Fitted
from surrogates.families.regressor import Regressor, no_outputs
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.training_data import FORMULATIONS, Formulation, Samples, TrainingData
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
    peak_influence, quantities_influence : float
        Influence, on a joint fit, of the peak pressure over other quantities, and of all quantities
        (area, pressures, centre of pressure) over the other outputs [1].
    """

    fit: Callable[[FloatArray, FloatArray, FloatArray | None], Fitted]
    joint: bool = False
    peak_influence: float = 1.0
    quantities_influence: float = 1.0


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
    kind = FORMULATIONS[formulation]
    data = kind.training_data(samples, float(space.load[1]), load_degree)
    return fit_training_data(formulation, space, data, fitter, samples.weights)


def fit_training_data(
    formulation: str,
    space: SampleSpace,
    data: TrainingData,
    fitter: Fitter,
    weights: FloatArray | None,
) -> Trained:
    """Fit the regressors of a compartment to training data of samples with weights (N,) [1]."""
    kind = FORMULATIONS[formulation]
    checks: dict[str, CrossCheck] = {}
    parts = []
    for name, outputs in outputs_of(kind, data, fitter.joint):
        fitted = fitter.fit(data.inputs, outputs, influences(fitter, outputs, weights))
        parts.append(fitted.regressor)
        checks[name] = fitted.check
    return Trained(assembled(formulation, space, data, parts), checks)


def assembled(
    formulation: str, space: SampleSpace, data: TrainingData, parts: Sequence[Regressor]
) -> CompartmentSurrogate:
    """Return the surrogate of a compartment from one to three regressors of training data."""
    none = no_outputs(data.inputs.shape[1])
    first, second, third = [*parts, *[none] * (3 - len(parts))]
    return CompartmentSurrogate(
        formulation, space, data.coordinates, data.largest, data.degree, data.depth,
        (first, second, third),
    )  # fmt: skip


def influences(
    fitter: Fitter, outputs: FloatArray, weights: FloatArray | None
) -> FloatArray | None:
    """Return the weights (N,) of the samples, or (N, k) of their outputs (N, k) [1]."""
    if not fitter.joint or fitter.peak_influence == fitter.quantities_influence == 1.0:
        return weights
    influence = np.ones(outputs.shape[1])
    influence[_QUANTITIES] = fitter.quantities_influence
    influence[_PEAK] *= fitter.peak_influence
    return np.outer(np.ones(len(outputs)) if weights is None else weights, influence)


def outputs_of(
    kind: Formulation, data: TrainingData, joint: bool
) -> Sequence[tuple[str, FloatArray]]:
    """Return names and values (N, k) [SI] of the outputs of each regressor."""
    if not joint:
        return list(zip(kind.groups, data.groups, strict=True))
    return [("+".join(kind.groups), np.column_stack(data.groups))]
