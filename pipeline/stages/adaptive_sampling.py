"""Stages a to f of a run: first samples, rounds of fitting and sampling, samples along gait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from pipeline import stages
from pipeline.config.schema import DesignConfig
from pipeline.config.simulation_schema import SimulationConfig
from pipeline.originals.protocol import OriginalModel
from pipeline.progress import say
from pipeline.simulation import GaitSimulation
from pipeline.stages.run_folder import Run
from pipeline.store.figures import Round
from pipeline.store.run_documents import Counts
from pipeline.store.samples import CANDIDATE_COLUMNS, candidate_table, poses_of, usable, without
from surrogates.formulations.contact_surrogate import ContactSurrogate
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
) -> tuple[list[stages.TrainedKnee], pd.DataFrame, list[pd.DataFrame], list[Round]]:
    """Return each round's surrogates, the last screening, the samples, the learning curve."""
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

    Rounds are equal shares of the budget; without a budget each enlarges the set by the same
    factor.
    """
    known, rounds = design.first, design.rounds
    if design.budget:
        shares = np.linspace(0, design.budget - known, rounds + 1).round()
        return np.diff(shares).astype(int).tolist()
    growth = (design.candidates / known) ** (1.0 / rounds)
    sizes = [round(known * growth**k * (growth - 1.0)) for k in range(rounds - 1)]
    return [*sizes, design.candidates]


def learning_point(trained: stages.TrainedKnee, training: pd.DataFrame) -> Round:
    """Return samples and cross-validated errors of a fitted knee, of the worse compartment."""
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
    """Return the state of every candidate that was not evaluated first, by the last screening."""
    done = pd.concat([table[_KEY] for table in kept], ignore_index=True)
    left = _without(screened[[*_KEY, "screening", "drop_reason"]], kept)
    done = done.assign(screening=stages.EVALUATED, drop_reason="")
    return pd.concat([left, done], ignore_index=True)


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

    return stages.training_samples([run.table("gait", make)], config.feasibility)


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
    found, reason = [], ""
    for axial, ap, torque, flexion, offset in inputs:
        cycle = gait.cycle.scaled(axial=axial, ap=ap, torque=torque)
        cycle = replace(cycle, flexion=flexion * cycle.flexion)
        simulator = replace(gait.simulator, medial_offset=gait.simulator.medial_offset + offset)
        try:
            result = replace(gait, simulator=simulator)(surrogate, cycle)
        except (SimulationError, EquilibriumError) as error:
            reason = str(error)
            continue
        found.append(np.column_stack((result.poses, result.compartment_loads[:, :, 1].T))[:-1])
    if not found:
        raise stages.StageError(
            f"samples along gait: the surrogates of the last round completed 0 of {_CYCLES} cycles "
            f"(the last: {reason}); take more samples, or design.gait_samples = 0"
        )
    return np.concatenate(found)
