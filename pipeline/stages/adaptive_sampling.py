"""Stages a to f of a run: first samples, then rounds of fitting, screening and sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from pipeline import stages
from pipeline.config.schema import DesignConfig
from pipeline.originals.protocol import OriginalModel
from pipeline.progress import say
from pipeline.stages.gait_samples import gait_samples
from pipeline.stages.run_folder import Run
from pipeline.store.figures import Round
from pipeline.store.run_documents import Budget, Counts
from pipeline.store.samples import CANDIDATE_COLUMNS, poses_of, usable, without
from surrogates.formulations.selection import load_error
from surrogates.sampling.space import SampleSpace

_KEY = ["compartment", "index"]


@dataclass(frozen=True, eq=False)
class Sampled:
    """What the stages a to f end with."""

    #: The design.
    candidates: pd.DataFrame
    #: The evaluated samples for stage g.
    training: pd.DataFrame
    #: All samples that were evaluated over the box, feasible or not.
    evaluated: pd.DataFrame
    #: Surrogates of the last round's stage c.
    early: stages.TrainedKnee
    #: Samples through the stages (`stages.bookkeeping`).
    counts: dict[str, Counts]
    #: What each budget added.
    added: list[Budget]
    #: Learning curve: samples and errors of each round's surrogates.
    curve: list[Round]
    #: Surrogates of the points of the learning curve.
    fits: list[stages.TrainedKnee]
    #: The samples of `training` along gait; none without `design.gait_samples`.
    along: pd.DataFrame


def sample_knee(run: Run, original: OriginalModel, space: SampleSpace) -> Sampled:
    """Carry out the stages a to f; each round repeats the stages c to f."""
    config = run.config
    design = config.design
    with run.timed("a: candidates", f"{design.candidates} poses and loads of each compartment"):
        candidates = run.table(
            "candidates", lambda: original.candidates(space, config), derived=True
        )
    with run.timed("b: first evaluations", f"{design.first} candidates of each compartment"):
        evaluate = partial(run.evaluate, evaluation=original.evaluation())
        first = run.table("first", partial(stages.evaluate_first, candidates, evaluate))
    remaining = candidates[~candidates["first"]].drop(columns="first").reset_index(drop=True)
    fits, screened, kept, curve = _rounds(run, original, space, first, remaining)
    early = fits[-1]
    training = stages.training_samples([first, *kept], config.feasibility)
    evaluated = run.table("kept", lambda: pd.concat(kept, ignore_index=True), derived=True)
    states = run.table("screened", lambda: _final_states(screened, kept), derived=True)
    names = config.knee.compartments
    counts = stages.bookkeeping(candidates, first, states, evaluated, training, names)
    along = training.head(0)
    if design.gait_samples:
        told = f"{design.gait_samples} of each compartment"
        with run.timed("f: evaluations along gait", told):
            # A larger budget does not move samples that lie along the gait of a smaller one.
            walking = fits[min(len(fits), design.rounds) - 1]
            along = gait_samples(run, original, space, walking.knee, training)
        full = along.loc[along["weight"] == 1.0, "compartment"]
        for name, row in counts.items():
            row.gait = len(full) if name == "total" else int((full == name).sum())
        training = pd.concat([training, along], ignore_index=True)
    everywhere = pd.concat([first, evaluated], ignore_index=True)
    added = _added(design, first, kept)
    return Sampled(candidates, training, everywhere, early, counts, added, curve, fits, along)


def _rounds(
    run: Run,
    original: OriginalModel,
    space: SampleSpace,
    first: pd.DataFrame,
    remaining: pd.DataFrame,
) -> tuple[list[stages.TrainedKnee], pd.DataFrame, list[pd.DataFrame], list[Round]]:
    """Return each round's surrogates, the last screening, each round's samples, the learning curve.

    `first` are the samples of stage b, `remaining` the candidates that stage b left.
    """
    config, design = run.config, run.config.design
    screened = pd.DataFrame()
    kept: list[pd.DataFrame] = []
    curve: list[Round] = []
    fits: list[stages.TrainedKnee] = []
    sizes = round_sizes(design)
    for number, size in enumerate(sizes, start=1):
        told = f"round {number} of {len(sizes)}"
        with run.timed("c: surrogates", told):
            training = stages.training_samples([first, *kept], config.feasibility)
            pairs = [("inverted", design.family)]
            (early,) = stages.fit_surrogates(
                training, space, config.surrogate, pairs, config.run.seed, run.execution,
                names=config.knee.compartments, stored=run.fits,
            )  # fmt: skip
            run.stages.fitted(early.seconds)
            fits.append(early)
            curve.append(learning_point(early, training))
        error, height = curve[-1].load_error_share, curve[-1].height_m
        assert error is not None  # the surrogates learn heights
        assert height is not None
        say(
            f"  leave-one-out errors of {curve[-1].samples} samples: {100.0 * error:.2g} % of the "
            f"axial load at a pose, {1e6 * height:.2g} um of the height at a load (RMS)"
        )
        if number > 1 and 100.0 * error < design.wanted_error_percent:
            break
        with run.timed("d: predicted loads of the other candidates", told):
            predicted = stages.predict_candidates(_without(remaining, kept), early.knee)
            predicted = without(predicted, original.not_given)
        with run.timed("e: candidates within the bounds of gait", told):
            screen = partial(stages.screen_candidates, predicted, config.feasibility)
            screened = run.table(f"screened-{number}", screen, derived=True)
        with run.timed("f: evaluations of kept candidates", told):
            make = partial(_evaluate_kept, run, original, early, screened, number, size)
            kept.append(run.table(f"kept-{number}", make))
        if not sum(sizes[number:]) or stages.KEPT not in set(screened["screening"]):
            break
    return fits, screened, kept, curve


def _evaluate_kept(
    run: Run,
    original: OriginalModel,
    early: stages.TrainedKnee,
    screened: pd.DataFrame,
    number: int,
    size: int,
) -> pd.DataFrame:
    """Stage f of a round, for `size` samples of a compartment."""
    design = run.config.design
    chosen = stages.choose_kept(screened, early, design, size)
    rows = chosen[list(CANDIDATE_COLUMNS)].reset_index(drop=True)
    return run.evaluate(rows, original.evaluation(design.follow))


def round_sizes(design: DesignConfig) -> list[int]:
    """Return how many samples a compartment gets in each round.

    Each budget has `design.rounds` rounds. Its rounds are equal shares of what the samples before
    leave; without a budget, the remaining candidates enlarge the sample set by the same factor
    each round, and the last round takes all. The rounds of a budget do not depend on later budgets.
    """
    sizes: list[int] = []
    known = design.first
    for budget in (*design.earlier_budgets, design.budget):
        if budget:
            shares = np.linspace(0, budget - known, design.rounds + 1).round()
            sizes += np.diff(shares).astype(int).tolist()
            known = budget
        else:
            growth = (design.candidates / known) ** (1.0 / design.rounds)
            rounds = range(design.rounds - 1)
            sizes += [round(known * growth**k * (growth - 1.0)) for k in rounds]
            sizes.append(design.candidates)
    return sizes


def _added(design: DesignConfig, first: pd.DataFrame, kept: Sequence[pd.DataFrame]) -> list[Budget]:
    """Return each budget with the samples of all compartments that its rounds evaluated."""
    added = []
    for k, budget in enumerate((*design.earlier_budgets, design.budget)):
        rounds = kept[k * design.rounds : (k + 1) * design.rounds]
        evaluated = sum(map(len, rounds)) + (len(first) if k == 0 else 0)
        added.append(Budget(budget=budget, evaluated=evaluated))
    return added


def learning_point(trained: stages.TrainedKnee, training: pd.DataFrame) -> Round:
    """Return samples and cross-validated errors of a fitted knee, the worse compartment's.

    The load error is that of the axial load at a given pose over the largest load [1], the height
    that at a given load [m]. Formulations other than "inverted" have no errors.
    """
    samples = int((training["weight"] == 1.0).sum())
    errors, heights = [], []
    for name in trained.knee.compartments:
        surrogate = trained.knee.compartment(name)
        if not surrogate.learns_heights:
            return Round(samples=samples)
        rows = stages.fitted_rows(usable(training, name), trained.family)
        check = next(check for key, check in trained.checks[name].items() if "height" in key)
        inputs = surrogate.inputs_at_load(poses_of(rows), rows["force_y_N"].to_numpy())
        errors.append(load_error(surrogate, check, inputs))
        heights.append(float(np.sqrt((check.residuals[:, 0] ** 2).mean())))
    return Round(samples=samples, load_error_share=max(errors), height_m=max(heights))


def _without(remaining: pd.DataFrame, kept: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the candidates that no round has evaluated yet."""
    if not kept:
        return remaining
    done = pd.MultiIndex.from_frame(pd.concat([table[_KEY] for table in kept]))
    return remaining[~pd.MultiIndex.from_frame(remaining[_KEY]).isin(done)].reset_index(drop=True)


def _final_states(screened: pd.DataFrame, kept: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the state of every candidate that was not evaluated first.

    The last screening holds all but those of earlier rounds; those evaluated in the end say so.
    """
    done = pd.concat([table[_KEY] for table in kept], ignore_index=True)
    left = _without(screened[[*_KEY, "screening", "drop_reason"]], kept)
    done = done.assign(screening=stages.EVALUATED, drop_reason="")
    return pd.concat([left, done], ignore_index=True)
