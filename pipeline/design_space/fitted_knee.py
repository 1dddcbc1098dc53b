"""A new knee in a run over modes of shape: weights of its meshes, and measured errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from foundation.anatomy.mode_fit import FittedShape
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import AXIAL_FORCE
from pipeline.config.schema import Config
from pipeline.design_space.base_design import BaseValue
from pipeline.design_space.design_contact import silent
from pipeline.design_space.errors import sample_errors
from pipeline.design_space.sampling import candidates_within
from pipeline.design_space.taken_design import design_values
from pipeline.design_space.trained_designs import TrainedDesigns
from pipeline.originals.contact_original import kind_of
from pipeline.originals.evaluation import evaluate_rows
from pipeline.originals.knee import Knee, KneeInputs
from pipeline.originals.knee_surfaces import surfaces_of_shape
from pipeline.originals.new_shape import shape_of_knee
from pipeline.stages import infeasibility
from pipeline.store.samples import loads_of, poses_of, usable

#: Key of a mode of shape, up to its number.
_MODE = "knee.shape.mode_"
#: Part of the range of a weight within which a weight counts as at the end.
_END = 1e-6
#: Samples of each compartment at which errors are measured.
_SAMPLES = 64
#: Axial force at a pose that a surrogate is accepted with, RMS over the range [%].
ACCEPTED_FORCE = 5.0
#: Name of the error of that force.
FORCE = "force_at_pose_percent"


class FittedKnee(NamedTuple):
    """A knee in a run over modes of shape.

    Parameters
    ----------
    values : dict of str to BaseValue
        Value of each parameter of the run: weights of modes, and others.
    shape : FittedShape
        The knee's shape by the modes, before placement.
    knee : Knee
        Original model of the knee itself.
    ends : tuple of str
        Weights at the end of their range.
    """

    values: dict[str, BaseValue]
    shape: FittedShape
    knee: Knee
    ends: tuple[str, ...]


def fit_knee(
    run: TrainedDesigns, files: tuple[str, str], texts: Sequence[str] = (), side: str | None = None
) -> FittedKnee:
    """Return the weights of a new knee in a run over modes of shape, and its original model.

    Parameters
    ----------
    run : TrainedDesigns
        The run.
    files : tuple of str
        Meshes of femur and tibia, with unit, axes and frame of the run's own.
    texts : sequence of str
        Values of other parameters, such as "youngs_modulus_MPa=8"; by default the `base_values`.
    side : {"left", "right"}, optional
        Side of the knee; by default that of the run.

    Raises
    ------
    InputError
        If the run has no modes of shape, a mesh cannot be used, or a value is refused.
    """
    names = _modes(run)
    if given := [text for text in texts if text.partition("=")[0].strip() in names.values()]:
        raise InputError(f"{given[0]}: expected no weight of a mode, which the meshes give")
    values = design_values(run, texts)
    config = run.config_of({name: each.value for name, each in values.items()})
    if side is not None:
        config = config.model_copy(update={"knee": config.knee.model_copy(update={"side": side})})
    assert config.knee.shape is not None
    varied = np.isin(np.arange(1, config.knee.shape.kept + 1), list(names))
    chosen = [run.knee.parameters.names.index(name) for _, name in sorted(names.items())]
    low, high = run.knee.parameters.low[chosen], run.knee.parameters.high[chosen]
    shape = shape_of_knee(config.knee, files, varied, (low, high))
    near = _END * (high - low)
    ends = (shape.weights <= low + near) | (shape.weights >= high - near)
    ordered = [name for _, name in sorted(names.items())]
    values |= {
        name: BaseValue(float(weight), "fitted")
        for name, weight in zip(ordered, shape.weights, strict=True)
    }
    at_ends = tuple(name for name, end in zip(ordered, ends, strict=True) if end)
    return FittedKnee(values, shape, _original(config, shape), at_ends)


def _modes(run: TrainedDesigns) -> dict[int, str]:
    """Return the names of the run's parameters that are weights of modes, by number of the mode."""
    space = run.config.design_space
    assert space is not None
    found = {
        int(each.key.removeprefix(_MODE)): each.label
        for each in space.parameter
        if each.key.startswith(_MODE)
    }
    if not found:
        raise InputError(
            f"{run.folder}: expected a run over modes of shape, with parameters {_MODE}1, ..., "
            f"found {', '.join(run.knee.parameters.names)}"
        )
    return found


def _original(config: Config, shape: FittedShape) -> Knee:
    surfaces = surfaces_of_shape(config, shape.femur, shape.tibia)
    knee = kind_of(config).build(KneeInputs(config, surfaces))
    knee.prepare(silent)
    return knee


def measured_errors(run: TrainedDesigns, fitted: FittedKnee) -> dict[str, float]:
    """Return the errors of the surrogate at some samples of a knee, by its original model.

    Returns
    -------
    dict
        `sample_errors` (height [um], AP and ML ratio [%]), and `FORCE`: the axial force at a pose,
        RMS over the range, the worse compartment's [%]. NaN without feasible samples.
    """
    values = {name: each.value for name, each in fitted.values.items()}
    first = run.knee.by_name[run.knee.compartments[0]]
    table = pd.DataFrame([{"design": 0, **values}])
    rows = candidates_within(run.config, table, first.space, _SAMPLES)
    rows = evaluate_rows(fitted.knee.model, rows, "load")
    found = sample_errors(run.config, run.knee, values, rows, 1.0)
    return found | {FORCE: _force_at_pose(run, values, rows)}


def _force_at_pose(run: TrainedDesigns, values: dict[str, float], rows: pd.DataFrame) -> float:
    own, errors = run.knee.at(values), []
    for number, name in enumerate(own.compartments):
        chosen = usable(rows, name)
        loads = loads_of(chosen)
        inside = infeasibility(loads, run.config.feasibility, 0.0) == ""
        truth, poses = loads[inside, AXIAL_FORCE], poses_of(chosen)[inside]
        if len(truth) < 2:
            return float("nan")
        force: FloatArray = own.evaluate_batch(poses)[0][:, number, AXIAL_FORCE]
        errors.append(np.sqrt(np.mean((force - truth) ** 2)) / np.ptp(truth))
    return 100.0 * float(max(errors))
