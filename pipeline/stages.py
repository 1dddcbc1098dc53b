"""Stages a to h of Lin, Haftka, Queipo & Fregly (2010, Med Eng Phys 32:584-594), a function each.

They are pure: tables and models in, tables and models out. Order, files and progress are the
runner's. A *sample* is one pose of one compartment with the axial load it carries there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from foundation.checks import FloatArray
from foundation.loads import COMPARTMENTS, LOAD_COLUMNS
from pipeline.samples import CANDIDATE_COLUMNS, OK, POSE_COLUMNS, loads_of, poses_of, usable
from pipeline.schema import DesignConfig, FeasibilityConfig, SurrogateConfig, ValidationConfig
from surrogates.designs import first_subset, unit_design
from surrogates.formulations import Fit, InvertedCompartment, formulation
from surrogates.knee import KneeSurrogate
from surrogates.regressor import FAMILIES, Regressor, fit_regressor
from surrogates.space import SampleSpace

#: Evaluates the original model at the rows of a table and returns it with results added.
Evaluate = Callable[[pd.DataFrame], pd.DataFrame]
KEPT = "kept"
_HELD_OUT = 1


class StageError(RuntimeError):
    """A stage that cannot go on; the message names it, what it needs and what it found."""


def choose_samples(space: SampleSpace, design: DesignConfig, seed: int) -> pd.DataFrame:
    """Stage a: draw m candidates per compartment and mark the n that are evaluated first.

    Returns a table with `pipeline.samples.CANDIDATE_COLUMNS` and `first` (bool).
    """
    parts = []
    for name, sequence in zip(COMPARTMENTS, np.random.SeedSequence(seed).spawn(2), strict=True):
        generator = np.random.default_rng(sequence)
        unit = unit_design(design.kind, design.candidates, 6, generator)
        first = np.zeros(len(unit), dtype=bool)
        first[first_subset(unit, design.first, kind=design.kind, rng=generator)] = True
        parts.append(_candidates(space, unit, name).assign(first=first))
    return pd.concat(parts, ignore_index=True)


def held_out_samples(
    space: SampleSpace, validation: ValidationConfig, candidates: pd.DataFrame
) -> pd.DataFrame:
    """Draw the held-out samples: a design of their own, with their own seed.

    Parameters
    ----------
    space : SampleSpace
        Where they are drawn.
    validation : ValidationConfig
        Design, number and seed.
    candidates : DataFrame
        The training design; a point of it is left out (two full factorials have points in common).

    Raises
    ------
    StageError
        If fewer than half of the points are no candidates.
    """
    parts = []
    # Of another entropy than the training design's even where the seeds are equal.
    sequences = np.random.SeedSequence([validation.seed, _HELD_OUT]).spawn(2)
    for name, sequence in zip(COMPARTMENTS, sequences, strict=True):
        generator = np.random.default_rng(sequence)
        unit = unit_design(validation.kind, validation.points, 6, generator)
        drawn = _candidates(space, unit, name)
        columns = [*POSE_COLUMNS, "load_N"]
        known = candidates.loc[candidates["compartment"] == name, columns]
        taken = set(map(tuple, known.to_numpy()))
        new = np.array([tuple(row) not in taken for row in drawn[columns].to_numpy()])
        if 2 * new.sum() < len(drawn):
            raise StageError(
                f"held-out samples: {len(drawn) - new.sum()} of {len(drawn)} {name} points are "
                f"candidates of the training design; choose another validation.kind"
            )
        parts.append(drawn[new])
    return pd.concat(parts, ignore_index=True)


def _candidates(space: SampleSpace, unit: FloatArray, compartment: str) -> pd.DataFrame:
    poses, load = space.draw(unit)
    table = pd.DataFrame(poses, columns=pd.Index(POSE_COLUMNS))
    table = table.assign(compartment=compartment, index=np.arange(len(unit)), load_N=load)
    return table[list(CANDIDATE_COLUMNS)]


def evaluate_first(candidates: pd.DataFrame, evaluate: Evaluate) -> pd.DataFrame:
    """Stage b: evaluate the original model at the first n candidates of each compartment."""
    chosen = candidates[candidates["first"]].drop(columns="first")
    return evaluate(chosen.reset_index(drop=True))


def fit_surrogates(
    samples: pd.DataFrame,
    space: SampleSpace,
    settings: SurrogateConfig,
    pair: tuple[str, str],
    seed: int,
) -> KneeSurrogate:
    """Stages c and g: fit a formulation by a family to all samples that have an answer.

    Parameters
    ----------
    samples : DataFrame
        Evaluated samples of both compartments.
    space : SampleSpace
        Where they were drawn.
    settings : SurrogateConfig
        Settings of the families.
    pair : (str, str)
        Formulation and family.
    seed : int
        Seed of whatever the fit draws.

    Raises
    ------
    StageError
        If a compartment has no usable samples or cannot be fitted.
    """
    what, family = pair
    chosen = formulation(what)
    fit = family_fit(settings, family, seed)
    parts = []
    for name in COMPARTMENTS:
        rows = usable(samples, name)
        if rows.empty:
            raise StageError(
                f"fitting {what}/{family}: the {name} compartment has no usable sample; all "
                "failed (see the reasons in the samples) or broke the bounds of [feasibility]"
            )
        try:
            # One thread: sums in threaded linear algebra depend on the number of cores.
            with threadpool_limits(1):
                parts.append(chosen.fit(space, poses_of(rows), loads_of(rows), fit))
        except ValueError as error:
            raise StageError(
                f"fitting {what}/{family}, {name}, to {len(rows)} samples that have an answer and "
                f"keep to [feasibility]: {error}"
            ) from error
    return KneeSurrogate(parts[0], parts[1])


def family_fit(settings: SurrogateConfig, family: str, seed: int) -> Fit:
    """Return the function that fits a regressor of a family with these settings."""
    chosen = FAMILIES[family].settings(**getattr(settings, family).model_dump())

    def fit(inputs: FloatArray, outputs: FloatArray) -> Regressor:
        # Each fit draws from its own generator, so that no fit depends on those before it.
        return fit_regressor(family, inputs, outputs, chosen, np.random.default_rng(seed))

    return fit


def predict_candidates(candidates: pd.DataFrame, knee: KneeSurrogate) -> pd.DataFrame:
    """Stage d: predict height and loads of the remaining m - n candidates.

    The first surrogates must be of the inverted formulation: candidates are given by load.
    """
    remaining = candidates[~candidates["first"]].drop(columns="first")
    parts = []
    for name in COMPARTMENTS:
        rows = remaining[remaining["compartment"] == name].reset_index(drop=True)
        surrogate = knee.compartment(name)
        if not isinstance(surrogate, InvertedCompartment):
            raise StageError("stage d: the first surrogates must be of the inverted formulation")
        poses, loads = surrogate.at_load(poses_of(rows), rows["load_N"].to_numpy())
        rows = rows.assign(**dict(zip(POSE_COLUMNS, poses.T, strict=True)))
        parts.append(rows.assign(**dict(zip(LOAD_COLUMNS, loads.T, strict=True))))
    return pd.concat(parts, ignore_index=True)


@dataclass(frozen=True)
class Bound:
    """An upper bound of stage e: its name for the reason, unit for people, value and limit."""

    name: str
    unit: str
    value: FloatArray
    limit: float


def feasibility_bounds(loads: FloatArray, feasibility: FeasibilityConfig) -> list[Bound]:
    """Return the upper bounds that loads (N, 12) are held to, without the margin."""
    axial = loads[:, 1]
    return [
        Bound("AP force over axial load", "", np.abs(loads[:, 0]) / axial, feasibility.ap_ratio),
        Bound("ML force over axial load", "", np.abs(loads[:, 2]) / axial, feasibility.ml_ratio),
        Bound("peak pressure", " MPa", 1e-6 * loads[:, 7], feasibility.peak_pressure_MPa),
        Bound("axial load", " N", axial, feasibility.load_N[1]),
    ]


def screen_candidates(predicted: pd.DataFrame, feasibility: FeasibilityConfig) -> pd.DataFrame:
    """Stage e: mark each predicted candidate "kept" or "dropped", with the reason for a drop.

    Every bound is relaxed by the margin, since the prediction itself errs. The first bound that a
    candidate breaks is its reason.
    """
    reason = infeasibility(loads_of(predicted), feasibility, feasibility.margin)
    state = np.where(reason == "", KEPT, "dropped")
    return predicted.assign(screening=state, drop_reason=reason)


def infeasibility(
    loads: FloatArray, feasibility: FeasibilityConfig, margin: float
) -> NDArray[np.object_]:
    """Return why loads (N, 12) are infeasible, (N,) str, "" where they are feasible."""
    reason = np.full(len(loads), "", dtype=object)
    for bound in feasibility_bounds(loads, feasibility):
        for k in np.flatnonzero((bound.value > (1.0 + margin) * bound.limit) & (reason == "")):
            reason[k] = (
                f"{bound.name} {bound.value[k]:.3g}{bound.unit} above {bound.limit:g}{bound.unit}"
            )
    low = feasibility.load_N[0]
    for k in np.flatnonzero((loads[:, 1] < (1.0 - margin) * low) & (reason == "")):
        reason[k] = f"axial load {loads[k, 1]:.3g} N below {low:g} N"
    return reason


def training_samples(
    first: pd.DataFrame, kept: pd.DataFrame, feasibility: FeasibilityConfig
) -> pd.DataFrame:
    """Return the samples of stage g: all evaluated ones that are feasible, margin included.

    Stage b's samples were not screened. Those that no gait would produce (the femur on a rim, the
    eminence) cost accuracy where it matters.
    """
    samples = pd.concat([first, kept], ignore_index=True)
    samples = samples[samples["status"] == OK]
    reason = infeasibility(loads_of(samples), feasibility, feasibility.margin)
    return samples[reason == ""].reset_index(drop=True)


def evaluate_kept(
    screened: pd.DataFrame, candidates: pd.DataFrame, evaluate: Evaluate
) -> pd.DataFrame:
    """Stage f: evaluate the original model at the candidates that stage e kept."""
    kept = screened.loc[screened["screening"] == KEPT, ["compartment", "index"]]
    rows = kept.merge(candidates.drop(columns="first"), on=["compartment", "index"], how="left")
    return evaluate(rows[list(CANDIDATE_COLUMNS)].reset_index(drop=True))


def bookkeeping(
    candidates: pd.DataFrame,
    first: pd.DataFrame,
    screened: pd.DataFrame,
    kept: pd.DataFrame,
    training: pd.DataFrame,
) -> dict[str, dict[str, int]]:
    """Return the sample counts through the stages, per compartment and in total.

    Raises
    ------
    StageError
        If they do not add up: m = n + predicted, predicted = dropped + evaluated, and
        first + evaluated = failed + infeasible + training.
    """
    counts: dict[str, dict[str, int]] = {}
    for name in (*COMPARTMENTS, "total"):

        def rows(table: pd.DataFrame, name: str = name) -> pd.DataFrame:
            return table if name == "total" else table[table["compartment"] == name]

        row = {
            "candidates": len(rows(candidates)),
            "first": len(rows(first)),
            "first_failed": int((rows(first)["status"] != OK).sum()),
            "predicted": len(rows(screened)),
            "dropped": int((rows(screened)["screening"] != KEPT).sum()),
            "evaluated": len(rows(kept)),
            "evaluated_failed": int((rows(kept)["status"] != OK).sum()),
        }
        row["training"] = len(rows(training))
        answered = row["first"] - row["first_failed"] + row["evaluated"] - row["evaluated_failed"]
        row["infeasible"] = answered - row["training"]
        sums = (
            row["first"] + row["predicted"] == row["candidates"],
            row["dropped"] + row["evaluated"] == row["predicted"],
            row["infeasible"] >= 0,
        )
        if not all(sums):
            raise StageError(f"stage counts of {name} do not add up: {row}")
        counts[name] = row
    return counts
