"""Stages a to f of a run: first samples, rounds of fitting and screening, samples along gait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.checks import FloatArray
from foundation.base.loads import (
    COMPARTMENTS,
    LOAD_COLUMNS,
)
from pipeline.config.schema import DesignConfig, FeasibilityConfig
from pipeline.config.stage_schema import SimulationConfig
from pipeline.errors import StageError
from pipeline.originals.candidates import evaluate_first
from pipeline.originals.knee import OriginalModel
from pipeline.progress import say
from pipeline.simulation import GaitSimulation
from pipeline.stages.fitting import TrainedKnee, fit_surrogates, fitted_rows, infeasibility
from pipeline.stages.run_folder import Run
from pipeline.store.figures import Round
from pipeline.store.run_documents import Counts
from pipeline.store.samples import (
    CANDIDATE_COLUMNS,
    OK,
    POSE_COLUMNS,
    candidate_table,
    loads_of,
    poses_of,
    usable,
    without,
)
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.selection import largest_errors, load_error
from surrogates.sampling.space import SampleSpace

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
    """Return the sample counts through the stages, per compartment and in total."""
    counts: dict[str, Counts] = {}
    for name in (*names, "total"):
        parts = names if name == "total" else (name,)
        drawn, early, states, late, fitted = (
            table[table["compartment"].isin(parts)]
            for table in (candidates, first, screened, kept, training)
        )
        failed, late_failed = (int((table["status"] != OK).sum()) for table in (early, late))
        trained = int((fitted["weight"] == 1.0).sum())
        counts[name] = Counts(
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
    return counts


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
    early: TrainedKnee
    #: Samples through the stages (`bookkeeping`).
    counts: dict[str, Counts]
    #: Learning curve: samples and errors of each round's surrogates.
    curve: list[Round]
    #: Surrogates of the points of the learning curve.
    fits: list[TrainedKnee]
    #: The samples of `training` along gait; none without `design.gait_samples`.
    along: pd.DataFrame


def sample_knee(run: Run, original: OriginalModel, space: SampleSpace) -> Sampled:
    """Carry out the stages a to f; each round repeats the stages c to f."""
    config = run.config
    design = config.design
    with run.timed("a: candidates", f"{design.candidates} poses and loads of each compartment"):
        candidates = run.table("candidates", lambda: original.candidates(space, config))
    with run.timed("b: first evaluations", f"{design.first} candidates of each compartment"):
        evaluate = partial(run.evaluate, evaluation=original.evaluation())
        first = run.table("first", partial(evaluate_first, candidates, evaluate))
    remaining = candidates[~candidates["first"]].drop(columns="first").reset_index(drop=True)
    fits, screened, kept, curve = _rounds(run, original, space, first, remaining)
    early = fits[-1]
    training = training_samples([first, *kept], config.feasibility)
    evaluated = run.table("kept", lambda: pd.concat(kept, ignore_index=True))
    states = run.table("screened", lambda: _final_states(screened, kept))
    names = config.knee.compartments
    counts = bookkeeping(candidates, first, states, evaluated, training, names)
    along = training.head(0)
    if design.gait_samples:
        detail = f"{design.gait_samples} of each compartment"
        with run.timed("f: evaluations along gait", detail):
            along = gait_samples(run, original, space, early.knee, training)
        full = along.loc[along["weight"] == 1.0, "compartment"]
        for name, row in counts.items():
            row.gait = len(full) if name == "total" else int((full == name).sum())
        training = pd.concat([training, along], ignore_index=True)
    everywhere = pd.concat([first, evaluated], ignore_index=True)
    return Sampled(candidates, training, everywhere, early, counts, curve, fits, along)


def _rounds(
    run: Run,
    original: OriginalModel,
    space: SampleSpace,
    first: pd.DataFrame,
    remaining: pd.DataFrame,
) -> tuple[list[TrainedKnee], pd.DataFrame, list[pd.DataFrame], list[Round]]:
    """Return each round's surrogates, the last screening, the samples, the learning curve."""
    config, design = run.config, run.config.design
    screened = pd.DataFrame()
    kept: list[pd.DataFrame] = []
    curve: list[Round] = []
    fits: list[TrainedKnee] = []
    sizes = round_sizes(design)
    for number, size in enumerate(sizes, start=1):
        detail = f"round {number} of {len(sizes)}"
        with run.timed("c: surrogates", detail):
            training = training_samples([first, *kept], config.feasibility)
            pairs = [("inverted", design.family)]
            (early,) = fit_surrogates(
                training, space, config.surrogate, pairs, config.run.seed, run.execution,
                names=config.knee.compartments,
            )  # fmt: skip
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
        with run.timed("d: predicted loads of the other candidates", detail):
            predicted = predict_candidates(_without(remaining, kept), early.knee)
            predicted = without(predicted, original.not_given)
        with run.timed("e: candidates within the bounds of gait", detail):
            screen = partial(screen_candidates, predicted, config.feasibility)
            screened = run.table(f"screened-{number}", screen)
        with run.timed("f: evaluations of kept candidates", detail):
            make = partial(_evaluate_kept, run, original, early, screened, number, size)
            kept.append(run.table(f"kept-{number}", make))
        if not sum(sizes[number:]) or KEPT not in set(screened["screening"]):
            break
    return fits, screened, kept, curve


def _evaluate_kept(
    run: Run,
    original: OriginalModel,
    early: TrainedKnee,
    screened: pd.DataFrame,
    number: int,
    size: int,
) -> pd.DataFrame:
    """Stage f of a round, for `size` samples of a compartment."""
    design = run.config.design
    chosen = choose_kept(screened, early, design, size)
    rows = chosen[list(CANDIDATE_COLUMNS)].reset_index(drop=True)
    return run.evaluate(rows, original.evaluation(design.follow))


def round_sizes(design: DesignConfig) -> list[int]:
    """Return how many samples a compartment gets in each round, which grow without a budget."""
    known, rounds = design.first, design.rounds
    if design.budget:
        shares = np.linspace(0, design.budget - known, rounds + 1).round()
        return np.diff(shares).astype(int).tolist()
    growth = (design.candidates / known) ** (1.0 / rounds)
    sizes = [round(known * growth**k * (growth - 1.0)) for k in range(rounds - 1)]
    return [*sizes, design.candidates]


def learning_point(trained: TrainedKnee, training: pd.DataFrame) -> Round:
    """Return samples and cross-validated errors of a fitted knee, of the worse compartment."""
    samples = int((training["weight"] == 1.0).sum())
    errors, heights = [], []
    for name in trained.knee.compartments:
        surrogate = trained.knee.compartment(name)
        if not surrogate.learns_heights:
            return Round(samples=samples)
        rows = fitted_rows(usable(training, name), trained.family)
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
    """Return the state of every candidate that was not evaluated first, by the last screening."""
    done = pd.concat([table[_KEY] for table in kept], ignore_index=True)
    undone = _without(screened[[*_KEY, "screening", "drop_reason"]], kept)
    done = done.assign(screening=EVALUATED, drop_reason="")
    return pd.concat([undone, done], ignore_index=True)


#: Least and largest factors on axial force, AP force, torque and flexion, and the offset [m] of the
#: axial line of action.
_INPUTS = np.array([[0.7, 0.6, 0.6, 0.88, -2e-3], [1.3, 1.4, 1.4, 1.12, 2e-3]])
#: Cycles that are simulated.
_CYCLES = 64
#: Largest displacement from a pose of gait: adduction, rotation, anterior, lateral as parts of the
#: sample space's half widths.
_MOVES = np.array([0.15, 0.1, 0.1, 0.3])
#: Largest factor on a load of gait; its inverse is the least.
_LOAD_FACTOR = 1.6


def gait_samples(
    run: Run,
    original: OriginalModel,
    space: SampleSpace,
    surrogate: ContactSurrogate,
    training: pd.DataFrame,
) -> pd.DataFrame:
    """Return evaluated samples along gait of each compartment, with the weights of training."""
    config = run.config

    def make() -> pd.DataFrame:
        rng = np.random.default_rng(np.random.SeedSequence([config.run.seed, 3]))
        first = int(training["index"].max()) + 1
        count = config.design.gait_samples
        drawn = candidates_along_gait(config.simulation, space, surrogate, count, first, rng)
        return run.evaluate(drawn, original.evaluation("pose"))

    return training_samples([run.table("gait", make)], config.feasibility)


def candidates_along_gait(
    config: SimulationConfig,
    space: SampleSpace,
    surrogate: ContactSurrogate,
    count: int,
    first: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return `count` candidates of each compartment near poses of gait, numbered from `first`."""
    states = _states(config, space, surrogate, rng)
    parts = []
    _, half = space.centre_and_half
    for k, name in enumerate(COMPARTMENTS):
        chosen = states[rng.integers(len(states), size=count)]
        poses = chosen[:, :6].copy()
        poses[:, [1, 2, 3, 5]] += half[1:5] * _MOVES * rng.uniform(-1.0, 1.0, (count, 4))
        factor = _LOAD_FACTOR ** rng.uniform(-1.0, 1.0, count)
        load = np.clip(factor * chosen[:, 6 + k], *space.load)
        at_load, _ = surrogate.compartment(name).at_load(poses, load)
        parts.append(candidate_table(at_load, load, name, first))
    return pd.concat(parts, ignore_index=True)


def _states(
    config: SimulationConfig,
    space: SampleSpace,
    surrogate: ContactSurrogate,
    rng: np.random.Generator,
) -> FloatArray:
    """Return poses and axial loads of both compartments (N, 8) along cycles of varied inputs."""
    from scipy.stats import qmc  # slow to import; a trained surrogate needs no design

    gait = GaitSimulation.of(config, space.path)
    inputs = qmc.scale(qmc.Sobol(5, rng=rng).random(_CYCLES), *_INPUTS)
    states, reason = [], ""
    for axial, ap, torque, flexion, offset in inputs:
        cycle = gait.cycle.scaled(axial=axial, ap=ap, torque=torque)
        cycle = replace(cycle, flexion=flexion * cycle.flexion)
        simulator = replace(gait.simulator, medial_offset=gait.simulator.medial_offset + offset)
        try:
            result = replace(gait, simulator=simulator)(surrogate, cycle)
        except (SimulationError, EquilibriumError) as error:
            reason = str(error)
            continue
        states.append(np.column_stack((result.poses, result.compartment_loads[:, :, 1].T))[:-1])
    if not states:
        raise StageError(
            f"samples along gait: the surrogates of the last round completed 0 of {_CYCLES} cycles "
            f"(the last: {reason}); take more samples, or design.gait_samples = 0"
        )
    return np.concatenate(states)
