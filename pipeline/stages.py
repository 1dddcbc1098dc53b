"""Stages a to h of Lin, Haftka, Queipo & Fregly (2010, Med Eng Phys 32:584-594), a function each.

They are pure: tables and models in, tables and models out. Order, files and progress are the
runner's. A *sample* is one pose of one compartment with the axial load it carries there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from foundation.checks import FloatArray
from foundation.errors import InputError
from foundation.loads import COMPARTMENTS, LOAD_COLUMNS
from pipeline.execution import IN_THIS_PROCESS, Execution
from pipeline.schema import DesignConfig, FeasibilityConfig, SurrogateConfig, ValidationConfig
from pipeline.store.samples import CANDIDATE_COLUMNS, OK, POSE_COLUMNS, loads_of, poses_of, usable
from surrogates.cross_validation import CrossCheck, Fitted
from surrogates.designs import first_subset, unit_design
from surrogates.families import FAMILIES, fit_family
from surrogates.formulations import (
    Fitter,
    FormulationSettings,
    Samples,
    Trained,
    fit_compartment,
)
from surrogates.infill import largest_errors
from surrogates.knee import KneeSurrogate
from surrogates.space import SampleSpace
from surrogates.whole_knee import AnyKnee

#: Evaluates the original model at the rows of a table and returns it with results added.
Evaluate = Callable[[pd.DataFrame], pd.DataFrame]
#: States of a predicted candidate: kept by stage e and left for want of budget, dropped by it, or
#: evaluated in stage f.
KEPT, DROPPED, EVALUATED = "kept", "dropped", "evaluated"
#: Standard errors of predicted loads.
ERROR_COLUMNS = tuple(f"error_{name}" for name in LOAD_COLUMNS)
#: Role of a sample at the reference load, which only some formulations learn.
REFERENCE = "reference"
_HELD_OUT, _DOMAIN = 1, 4
#: The load's root of this degree is spread evenly over the samples of `domain_candidates`.
_DOMAIN_SPREAD = 2.0


class StageError(RuntimeError):
    """A stage that cannot go on; the message names it, what it needs and what it found."""


def choose_samples(space: SampleSpace, design: DesignConfig, seed: int) -> pd.DataFrame:
    """Stage a: draw m candidates per compartment and mark the n that are evaluated first.

    Returns a table with `pipeline.store.samples.CANDIDATE_COLUMNS` and `first` (bool).
    """
    parts = []
    for name, sequence in zip(COMPARTMENTS, np.random.SeedSequence(seed).spawn(2), strict=True):
        generator = np.random.default_rng(sequence)
        unit = unit_design(design.kind, design.candidates, 6, generator)
        first = np.zeros(len(unit), dtype=bool)
        first[first_subset(unit, design.first, kind=design.kind, rng=generator)] = True
        drawn = _candidates(space, unit, name, design.load_spread)
        parts.append(drawn.assign(first=first))
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
        drawn = _candidates(space, unit, name, validation.load_spread)
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


def domain_candidates(space: SampleSpace, design: DesignConfig, seed: int) -> pd.DataFrame:
    """Draw the samples of the whole box that tell where the surrogates hold.

    A Sobol sequence of their own seed, the root of the load evenly: some are near first contact.
    """
    parts = []
    sequences = np.random.SeedSequence([seed, _DOMAIN]).spawn(2)
    for name, sequence in zip(COMPARTMENTS, sequences, strict=True):
        generator = np.random.default_rng(sequence)
        unit = unit_design("sobol", design.domain_samples, 6, generator)
        parts.append(_candidates(space, unit, name, _DOMAIN_SPREAD))
    return pd.concat(parts, ignore_index=True)


def _candidates(
    space: SampleSpace, unit: FloatArray, compartment: str, spread: float
) -> pd.DataFrame:
    poses, load = space.draw(unit, spread)
    table = pd.DataFrame(poses, columns=pd.Index(POSE_COLUMNS))
    table = table.assign(compartment=compartment, index=np.arange(len(unit)), load_N=load)
    return table[list(CANDIDATE_COLUMNS)]


def evaluate_first(candidates: pd.DataFrame, evaluate: Evaluate) -> pd.DataFrame:
    """Stage b: evaluate the original model at the first n candidates of each compartment."""
    chosen = candidates[candidates["first"]].drop(columns="first")
    return evaluate(chosen.reset_index(drop=True))


AnyKneeT = TypeVar("AnyKneeT", bound=AnyKnee)


class TrainedKnee(NamedTuple, Generic[AnyKneeT]):
    """A fitted knee, and the cross-validation residuals of each compartment's outputs.

    `seconds` is what its fits took, one after the other.
    """

    knee: AnyKneeT
    checks: dict[str, dict[str, CrossCheck]]
    family: str
    seconds: float


def fit_surrogates(
    samples: pd.DataFrame,
    space: SampleSpace,
    settings: SurrogateConfig,
    pairs: Sequence[tuple[str, str]],
    seed: int,
    execution: Execution = IN_THIS_PROCESS,
    folds: int = 0,
) -> list[TrainedKnee[KneeSurrogate]]:
    """Stages c and g: fit formulations by families to all samples that have an answer.

    Parameters
    ----------
    samples : DataFrame
        Evaluated samples of both compartments. Rows of the role "reference" are at the reference
        load; a column `energy_J` is needed by the formulation "energy".
    space : SampleSpace
        Where they were drawn.
    settings : SurrogateConfig
        Settings of formulations and families.
    pairs : sequence of (str, str)
        Formulation and family of each knee wanted.
    seed : int
        Seed of whatever a fit draws.
    execution : Execution
        Where the fits are carried out; the numbers do not depend on it.
    folds : int
        Folds of a further cross-validation, 0 for none.

    Raises
    ------
    StageError
        If a compartment has no usable samples or cannot be fitted.
    """
    jobs = [
        (_chosen(samples, name, pair), space, settings, pair, seed, name, folds)
        for pair in pairs
        for name in COMPARTMENTS
    ]
    parts = execution.map(_fit_compartment, jobs)
    return [_trained(pair, *parts[2 * k : 2 * k + 2]) for k, pair in enumerate(pairs)]


def _chosen(samples: pd.DataFrame, name: str, pair: tuple[str, str]) -> pd.DataFrame:
    rows = fitted_rows(usable(samples, name), pair[1])
    if rows.empty:
        raise StageError(
            f"fitting {pair[0]}/{pair[1]}: the {name} compartment has no usable sample; all "
            "failed (see the reasons in the samples) or broke the bounds of [feasibility]"
        )
    return rows


def _fit_compartment(
    rows: pd.DataFrame,
    space: SampleSpace,
    settings: SurrogateConfig,
    pair: tuple[str, str],
    seed: int,
    name: str,
    folds: int,
) -> tuple[Trained, float]:
    """Return the fit of one compartment and the seconds that it took."""
    what, family = pair
    told = FormulationSettings(
        load_degree=settings.load_degree,
        at_centre=settings.pose_at == "condyle",
        reference_load=settings.reference_load_N if what == "load_stiffness" else 0.0,
    )
    start = time.perf_counter()
    try:
        # One thread: sums in threaded linear algebra depend on the number of cores.
        with threadpool_limits(1):
            fitter = family_fitter(settings, family, seed)._replace(folds=folds)
            found = fit_compartment(what, space, compartment_samples(rows), fitter, told)
    except (InputError, np.linalg.LinAlgError) as error:
        raise StageError(
            f"fitting {what}/{family}, {name}, to {len(rows)} samples that have an answer and "
            f"keep to [feasibility]: {error}"
        ) from error
    return found, time.perf_counter() - start


def _trained(
    pair: tuple[str, str], medial: tuple[Trained, float], lateral: tuple[Trained, float]
) -> TrainedKnee[KneeSurrogate]:
    parts, seconds = (medial[0], lateral[0]), medial[1] + lateral[1]
    header = {"family": pair[1], "fit_seconds": seconds}
    knee = KneeSurrogate(parts[0].surrogate, parts[1].surrogate, header)
    checks = {name: part.checks for name, part in zip(COMPARTMENTS, parts, strict=True)}
    return TrainedKnee(knee, checks, pair[1], seconds)


def fitted_rows(rows: pd.DataFrame, family: str) -> pd.DataFrame:
    """Return the rows that a family is fitted to: all if it can weigh them, else those of 1."""
    if family == "network" or "weight" not in rows.columns:
        return rows
    return rows[rows["weight"] == 1.0].drop(columns="weight")


def compartment_samples(rows: pd.DataFrame) -> Samples:
    """Return the samples of one compartment's rows."""
    reference = rows["role"] == REFERENCE if "role" in rows.columns else np.zeros(len(rows), bool)
    own = rows[~reference]
    energy = own["energy_J"].to_numpy() if "energy_J" in rows.columns else None
    level = poses_of(rows[reference]) if reference.any() else None
    weights = own["weight"].to_numpy() if "weight" in rows.columns else None
    return Samples(poses_of(own), loads_of(own), energy, level, weights)


def family_fitter(settings: SurrogateConfig, family: str, seed: int) -> Fitter:
    """Return how a family's regressors are fitted with these settings."""
    chosen = FAMILIES[family].settings(**getattr(settings, family).model_dump())

    def fit(inputs: FloatArray, outputs: FloatArray, weights: FloatArray | None) -> Fitted:
        # Each fit draws from its own generator, so that no fit depends on those before it.
        rng = np.random.default_rng(seed)
        return fit_family(family, inputs, outputs, chosen, rng, weights)

    return Fitter(fit, joint=family == "network")


def predict_candidates(remaining: pd.DataFrame, knee: KneeSurrogate) -> pd.DataFrame:
    """Stage d: predict height, loads and their standard errors of the remaining candidates.

    The first surrogates must be of the inverted formulation: candidates are given by load.
    """
    parts = []
    for name in COMPARTMENTS:
        rows = remaining[remaining["compartment"] == name].reset_index(drop=True)
        surrogate = knee.compartment(name)
        given = poses_of(rows), rows["load_N"].to_numpy()
        poses, loads = surrogate.at_load(*given)
        errors = surrogate.errors_at_load(*given)[1]
        rows = rows.assign(**dict(zip(POSE_COLUMNS, poses.T, strict=True)))
        rows = rows.assign(**dict(zip(LOAD_COLUMNS, loads.T, strict=True)))
        parts.append(rows.assign(**dict(zip(ERROR_COLUMNS, errors.T, strict=True))))
    return pd.concat(parts, ignore_index=True)


@dataclass(frozen=True)
class Bound:
    """An upper bound of stage e: its name for the reason, unit for people, value and limit.

    The error is the standard error of a predicted value, 0 for a true one.
    """

    name: str
    unit: str
    value: FloatArray
    error: FloatArray
    limit: float


def feasibility_bounds(
    loads: FloatArray, feasibility: FeasibilityConfig, errors: FloatArray | None = None
) -> list[Bound]:
    """Return the upper bounds that loads (N, 12) are held to, without the margin."""
    axial = loads[:, 1]
    error = np.zeros_like(loads) if errors is None else errors
    ap, ml = (np.abs(loads[:, k]) / axial for k in (0, 2))
    ap_error, ml_error = error[:, 0] / axial, error[:, 2] / axial
    peak, peak_error = 1e-6 * loads[:, 7], 1e-6 * error[:, 7]
    exact = np.zeros(len(axial))
    return [
        Bound("AP force over axial load", "", ap, ap_error, feasibility.ap_ratio),
        Bound("ML force over axial load", "", ml, ml_error, feasibility.ml_ratio),
        Bound("peak pressure", " MPa", peak, peak_error, feasibility.peak_pressure_MPa),
        Bound("axial load", " N", axial, exact, feasibility.load_N[1]),
    ]


def screen_candidates(predicted: pd.DataFrame, feasibility: FeasibilityConfig) -> pd.DataFrame:
    """Stage e: mark each predicted candidate "kept" or "dropped", with the reason for a drop.

    A candidate is dropped where it breaks a bound, relaxed by the margin, even if its prediction
    is wrong by some standard errors (`doubt`). The first bound that it breaks is its reason.
    """
    errors = predicted[list(ERROR_COLUMNS)].to_numpy(dtype=np.float64)
    reason = infeasibility(loads_of(predicted), feasibility, feasibility.margin, errors)
    state = np.where(reason == "", KEPT, DROPPED)
    return predicted.assign(screening=state, drop_reason=reason)


def infeasibility(
    loads: FloatArray,
    feasibility: FeasibilityConfig,
    margin: float,
    errors: FloatArray | None = None,
) -> NDArray[np.object_]:
    """Return why loads (N, 12) are infeasible, (N,) str, "" where they are feasible.

    Standard errors (N, 12) of the loads, if given, are their benefit of the doubt, `doubt` times.
    """
    reason = np.full(len(loads), "", dtype=object)
    for bound in feasibility_bounds(loads, feasibility, errors):
        surely = bound.value - feasibility.doubt * bound.error
        for k in np.flatnonzero((surely > (1.0 + margin) * bound.limit) & (reason == "")):
            reason[k] = (
                f"{bound.name} {bound.value[k]:.3g}{bound.unit} above {bound.limit:g}{bound.unit}"
            )
    low = feasibility.load_N[0]
    for k in np.flatnonzero((loads[:, 1] < (1.0 - margin) * low) & (reason == "")):
        reason[k] = f"axial load {loads[k, 1]:.3g} N below {low:g} N"
    return reason


def training_samples(
    evaluated: Sequence[pd.DataFrame], feasibility: FeasibilityConfig
) -> pd.DataFrame:
    """Return the samples of stage g with their `weight`: 1 where feasible, margin included.

    Stage b's samples were not screened. Those that no gait would produce (the femur on a rim, the
    eminence) cost accuracy where it matters: they have the weight `outside_weight`, if any.
    """
    samples = pd.concat(list(evaluated), ignore_index=True)
    samples = samples[samples["status"] == OK]
    reason = infeasibility(loads_of(samples), feasibility, feasibility.margin)
    weights = np.where(reason == "", 1.0, feasibility.outside_weight)
    return samples.assign(weight=weights)[weights > 0.0].reset_index(drop=True)


def choose_kept(
    screened: pd.DataFrame, early: TrainedKnee[KneeSurrogate], design: DesignConfig, count: int
) -> pd.DataFrame:
    """Stage f: return the kept candidates that are evaluated in this round, `count` at most.

    In the order of the design, or, for `infill = "error"`, where the predicted error of the load
    is largest: the standard error of the height times the load's change with it, the variance
    falling with each choice as if its sample were taken.
    """
    parts = []
    for name in COMPARTMENTS:
        rows = screened[(screened["compartment"] == name) & (screened["screening"] == KEPT)]
        if len(rows) > count:
            if design.infill == "error" and count:
                chosen = largest_errors(
                    early.knee.compartment(name),
                    early.checks[name]["height"],
                    poses_of(rows),
                    rows["load_N"].to_numpy(),
                    count,
                )
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
) -> dict[str, dict[str, int]]:
    """Return the sample counts through the stages, per compartment and in total.

    `screened` has the last word on each candidate that was not evaluated first.

    Raises
    ------
    StageError
        If they do not add up: m = n + predicted, predicted = dropped + left + evaluated, and
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
            "dropped": int((rows(screened)["screening"] == DROPPED).sum()),
            "left": int((rows(screened)["screening"] == KEPT).sum()),
            "evaluated": len(rows(kept)),
            "evaluated_failed": int((rows(kept)["status"] != OK).sum()),
        }
        row["training"] = int((rows(training)["weight"] == 1.0).sum())
        answered = row["first"] - row["first_failed"] + row["evaluated"] - row["evaluated_failed"]
        row["infeasible"] = answered - row["training"]
        sums = (
            row["first"] + row["predicted"] == row["candidates"],
            row["dropped"] + row["left"] + row["evaluated"] == row["predicted"],
            row["infeasible"] >= 0,
        )
        if not all(sums):
            raise StageError(f"stage counts of {name} do not add up: {row}")
        counts[name] = row
    return counts
