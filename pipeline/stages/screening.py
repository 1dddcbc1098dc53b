"""Stages d to f of Lin et al. (2010): prediction, feasibility, and which are evaluated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from foundation.base.loads import (
    COMPARTMENTS,
    LOAD_COLUMNS,
)
from pipeline.config.schema import DesignConfig, FeasibilityConfig
from pipeline.errors import StageError
from pipeline.stages.feasibility import infeasibility
from pipeline.stages.fitting import TrainedKnee
from pipeline.store.run_documents import Counts
from pipeline.store.samples import OK, POSE_COLUMNS, loads_of, poses_of
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.selection import largest_errors

#: States of a predicted candidate: kept by stage e and left for want of budget, dropped by it, or
#: evaluated in stage f.
KEPT, DROPPED, EVALUATED = "kept", "dropped", "evaluated"
#: Standard errors of predicted loads.
ERROR_COLUMNS = tuple(f"error_{name}" for name in LOAD_COLUMNS)


def predict_candidates(remaining: pd.DataFrame, knee: ContactSurrogate) -> pd.DataFrame:
    """Stage d: predict height, loads and their standard errors of the remaining candidates.

    The first surrogates must have the inverted formulation, as candidates are drawn by load.
    """
    parts = []
    for name in knee.compartments:
        rows = remaining[remaining["compartment"] == name].reset_index(drop=True)
        surrogate = knee.compartment(name)
        at_load = poses_of(rows), rows["load_N"].to_numpy()
        values = np.hstack([*surrogate.at_load(*at_load), surrogate.errors_at_load(*at_load)[1]])
        columns = (*POSE_COLUMNS, *LOAD_COLUMNS, *ERROR_COLUMNS)
        parts.append(rows.assign(**dict(zip(columns, values.T, strict=True))))
    return pd.concat(parts, ignore_index=True)


def screen_candidates(predicted: pd.DataFrame, feasibility: FeasibilityConfig) -> pd.DataFrame:
    """Stage e: mark each predicted candidate "kept" or "dropped", with the reason for a drop.

    A candidate is dropped if its prediction exceeds a bound (plus margin) by `doubt` standard
    errors. The reason is the first bound that is exceeded.
    """
    errors = predicted[list(ERROR_COLUMNS)].to_numpy(dtype=np.float64)
    reason = infeasibility(loads_of(predicted), feasibility, feasibility.margin, errors)
    state = np.where(reason == "", KEPT, DROPPED)
    return predicted.assign(screening=state, drop_reason=reason)


def training_samples(
    evaluated: Sequence[pd.DataFrame], feasibility: FeasibilityConfig
) -> pd.DataFrame:
    """Return the samples of stage g with their `weight`: 1 where feasible, margin included.

    The samples of stage b were not screened. Samples that gait cannot produce (the femur on a rim,
    on the eminence) reduce the accuracy for gait; their weight is `outside_weight`.
    """
    samples = pd.concat(list(evaluated), ignore_index=True)
    samples = samples[samples["status"] == OK]
    reason = infeasibility(loads_of(samples), feasibility, feasibility.margin)
    weights = np.where(reason == "", 1.0, feasibility.outside_weight)
    return samples.assign(weight=weights)[weights > 0.0].reset_index(drop=True)


def choose_kept(
    screened: pd.DataFrame,
    early: TrainedKnee,
    design: DesignConfig,
    count: int,
) -> pd.DataFrame:
    """Stage f: return at most `count` kept candidates, which are evaluated in this round.

    They are the next of the design or, for `infill = "error"`, those with the largest predicted
    error of the load: the standard error of the height times the change of the load with the
    height. The variance is updated after each choice as if the sample had been evaluated.
    """
    parts = []
    for name in early.knee.compartments:
        rows = screened[(screened["compartment"] == name) & (screened["screening"] == KEPT)]
        if len(rows) > count:
            if design.infill == "error" and count:
                surrogate, check = early.knee.compartment(name), early.checks[name]["height"]
                load = rows["load_N"].to_numpy()
                chosen = largest_errors(surrogate, check, poses_of(rows), load, count)
                rows = rows.iloc[np.sort(chosen)]
            else:
                rows = rows.sort_values("index").iloc[:count]
        parts.append(rows)
    return pd.concat(parts, ignore_index=True)


def bookkeeping(
    candidates: pd.DataFrame,
    first: pd.DataFrame,
    screened: pd.DataFrame,
    kept: pd.DataFrame,
    training: pd.DataFrame,
    names: Sequence[str] = COMPARTMENTS,
) -> dict[str, Counts]:
    """Return the sample counts through the stages, per compartment and in total.

    Raises `StageError` if the counts do not add up.
    """
    counts: dict[str, Counts] = {}
    for name in (*names, "total"):
        parts = names if name == "total" else (name,)
        drawn, early, states, late, fitted = (
            table[table["compartment"].isin(parts)]
            for table in (candidates, first, screened, kept, training)
        )
        failed, late_failed = (int((table["status"] != OK).sum()) for table in (early, late))
        trained = int((fitted["weight"] == 1.0).sum())
        row = Counts(
            candidates=len(drawn),
            first=len(early),
            first_failed=failed,
            predicted=len(states),
            dropped=int((states["screening"] == DROPPED).sum()),
            left=int((states["screening"] == KEPT).sum()),
            evaluated=len(late),
            evaluated_failed=late_failed,
            infeasible=len(early) - failed + len(late) - late_failed - trained,
            training=trained,
        )
        if (
            row.first + row.predicted != row.candidates
            or row.dropped + row.left + row.evaluated != row.predicted
            or row.infeasible < 0
        ):
            raise StageError(f"stage counts of {name} do not add up: {row.content()}")
        counts[name] = row
    return counts
