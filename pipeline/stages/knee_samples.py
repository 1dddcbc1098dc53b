"""Whole-knee samples, both condyles loaded at once, and fits of whole-knee formulations to them.

A *whole-knee sample* is drawn as flexion, rotation, anterior and lateral offsets of the sample
space and an axial load of each compartment; the original model finds height and adduction. It takes
two rows of a table, one after the other, of the same pose: one for each compartment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS
from pipeline import stages
from pipeline.config.schema import (
    DesignConfig,
    FeasibilityConfig,
    SurrogateConfig,
    ValidationConfig,
)
from pipeline.execution.backends import IN_THIS_PROCESS, Execution
from pipeline.originals.evaluation import evaluate_knee_rows
from pipeline.originals.protocol import Evaluation, OriginalModel, contact_model
from pipeline.stages.fitting import timed_fit
from pipeline.stages.run_folder import Run
from pipeline.store.samples import OK, candidate_table, loads_of, poses_of, usable
from surrogates.formulations.compartment_fit import Fitter, FormulationSettings
from surrogates.formulations.whole_knee import WholeKneeSurrogate
from surrogates.formulations.whole_knee_fit import TrainedWholeKnee, fit_whole_knee
from surrogates.sampling.designs import PREFIX_KINDS, unit_design
from surrogates.sampling.space import SampleSpace

#: Samples that are evaluated for each that is wanted: some have no answer, some break a bound.
_DRAWN_PER_SAMPLE = 3
_TRAINING, _HELD_OUT = 2, 3


def training_samples(
    run: Run, original: OriginalModel, space: SampleSpace, count: int
) -> pd.DataFrame:
    """Return `count` feasible whole-knee samples, or as many as there are, with `weight` 1.

    Their bounds have the margin, as those of the compartments' samples do. The table "knee" of the
    run keeps all that were evaluated.
    """
    design, feasibility = run.config.design, run.config.feasibility
    table = _evaluated(
        run, original, space, "knee", design, count, (run.config.run.seed, _TRAINING)
    )
    return feasible_samples(table, feasibility, feasibility.margin, count).assign(weight=1.0)


def held_out_samples(run: Run, original: OriginalModel, space: SampleSpace) -> pd.DataFrame:
    """Return feasible held-out whole-knee samples, at most as many as a compartment has.

    The table "knee-heldout" of the run keeps all that were evaluated.

    Raises
    ------
    StageError
        If there are fewer than two.
    """
    validation = run.config.validation
    count, seed = validation.points, (validation.seed, _HELD_OUT)
    table = _evaluated(run, original, space, "knee-heldout", validation, count, seed)
    found = feasible_samples(table, run.config.feasibility, 0.0, count)
    if len(found) < 4:
        raise stages.StageError(
            f"whole-knee validation: expected at least 2 feasible held-out samples, found "
            f"{len(found) // 2} of {len(table) // 2}; draw more (validation.points) or widen "
            "[feasibility] or space.adduction_deg"
        )
    return found


def draw_samples(
    space: SampleSpace, kind: str, count: int, spread: float, seed: Sequence[int]
) -> pd.DataFrame:
    """Return the rows of at least `count` whole-knee samples, at the path's adduction and height.

    Any first rows of the table are spread over the space.
    """
    generator = np.random.default_rng(np.random.SeedSequence(seed))
    unit = unit_design(kind, count, 6, generator)
    if kind not in PREFIX_KINDS:
        unit = generator.permutation(unit)
    middle = np.full(len(unit), 0.5)
    parts = []
    for place, name in enumerate(COMPARTMENTS):
        # Columns of the design: flexion, rotation, anterior, lateral, medial and lateral load.
        cube = np.column_stack([unit[:, 0], middle, unit[:, 1:4], unit[:, 4 + place]])
        parts.append(candidate_table(*space.draw(cube, spread), name))
    return pd.concat(parts).sort_values("index", kind="stable", ignore_index=True)


def _evaluated(
    run: Run,
    original: OriginalModel,
    space: SampleSpace,
    name: str,
    section: DesignConfig | ValidationConfig,
    count: int,
    seed: Sequence[int],
) -> pd.DataFrame:
    """Return the table of a run with its samples evaluated: the stored one, or made now."""
    evaluate = partial(evaluate_knee_rows, reach=float(space.offsets[0]))
    evaluation = Evaluation(evaluate, (contact_model(original),), together=2)
    drawn = draw_samples(space, section.kind, _DRAWN_PER_SAMPLE * count, section.load_spread, seed)
    return run.table(name, lambda: run.evaluate(name, drawn, evaluation))


def feasible_samples(
    table: pd.DataFrame, feasibility: FeasibilityConfig, margin: float, count: int
) -> pd.DataFrame:
    """Return the first `count` samples of which both compartments keep to the bounds."""
    answered = table[table["status"] == OK]
    reasons = stages.infeasibility(loads_of(answered), feasibility, margin).reshape(-1, 2)
    kept = np.flatnonzero((reasons == "").all(axis=1))[:count]
    rows = np.column_stack([2 * kept, 2 * kept + 1]).ravel()
    return answered.iloc[rows].reset_index(drop=True)


def paired(table: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Return the poses (N, 6) [rad, m] and loads (N, 2, 12) [SI] of whole-knee samples."""
    return poses_of(table)[::2].copy(), loads_of(table).reshape(-1, 2, len(LOAD_COLUMNS))


def fit_knees(
    samples: pd.DataFrame,
    space: SampleSpace,
    settings: SurrogateConfig,
    pairs: Sequence[tuple[str, str]],
    seed: int,
    execution: Execution = IN_THIS_PROCESS,
    folds: int = 0,
) -> list[stages.TrainedKnee[WholeKneeSurrogate]]:
    """Stage g: fit whole-knee formulations by families to feasible whole-knee samples.

    Parameters as of `pipeline.stages.fit_surrogates`.

    Raises
    ------
    StageError
        If there are no samples or a fit is not possible.
    """
    jobs = [(samples, space, settings, pair, seed, folds) for pair in pairs]
    return execution.map(_fit, jobs)


def _fit(
    samples: pd.DataFrame,
    space: SampleSpace,
    settings: SurrogateConfig,
    pair: tuple[str, str],
    seed: int,
    folds: int,
) -> stages.TrainedKnee[WholeKneeSurrogate]:
    def fit(fitter: Fitter) -> TrainedWholeKnee:
        chosen = FormulationSettings(load_degree=settings.load_degree)
        return fit_whole_knee(pair[0], space, *paired(samples), fitter, chosen)

    text = (
        f" to {len(samples) // 2} whole-knee samples that have an answer and keep to [feasibility]"
    )
    fitted, seconds = timed_fit(fit, settings, pair, seed, folds, text)
    knee = replace(fitted.surrogate, header={"family": pair[1], "fit_seconds": seconds})
    return stages.TrainedKnee(knee, fitted.checks, pair[1], seconds)


def most_of_a_compartment(samples: pd.DataFrame) -> int:
    """Return how many feasible samples the compartment has that has more of them."""
    rows = samples[samples["weight"] == 1.0]
    return max(len(usable(rows, name)) for name in COMPARTMENTS)
