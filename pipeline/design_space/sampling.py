"""Stages a to f over designs: samples within designs, and rounds that choose the next designs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from pipeline.config.designs import design_space_of
from pipeline.config.schema import Config
from pipeline.design_space.design_contact import evaluate_designs
from pipeline.design_space.drawn_designs import LEARNT, UNSEEN, parameters_of
from pipeline.design_space.fitting import FirstFit, first_fit
from pipeline.stages import infeasibility, training_samples
from pipeline.stages.run_folder import Run
from pipeline.store.sample_store import Evaluation
from pipeline.store.samples import OK, candidate_table, poses_of
from surrogates.parametric.compartment import ParametricSpace
from surrogates.sampling.designs import unit_design

#: Candidates within a design for each sample, of which predicted infeasible ones are left out.
_CANDIDATES_EACH = 1.5
#: Number of a design's samples of the whole box, for domains, over those that are learnt.
_UNSEEN_PART = 0.5
#: Degree of the root of the load that is even over samples for domains.
DOMAIN_SPREAD = 2.0


@dataclass(frozen=True, eq=False)
class SampledDesigns:
    """What the stages a to f end with."""

    #: Evaluated samples for stage g, with `weight`.
    training: pd.DataFrame
    #: All samples of designs that are learnt.
    evaluated: pd.DataFrame
    #: First surrogates of each round but the first.
    rounds: list[FirstFit]
    #: Designs of each round.
    chosen: list[list[int]]


def sample_designs(run: Run, designs: pd.DataFrame, space: ParametricSpace) -> SampledDesigns:
    """Carry out stages a to f: the first designs, then rounds at designs of large errors."""
    config = run.config
    settings = design_space_of(config)
    sizes = _sizes(settings.designs, settings.rounds)
    learnt = designs[designs["use"] == LEARNT].reset_index(drop=True)
    chosen, left = [learnt.head(sizes[0])], learnt.iloc[sizes[0] :]
    with run.timed("b: first designs"):
        tables = [run.table("first", partial(_evaluated, run, chosen[0], space))]
    fits: list[FirstFit] = []
    for number, size in enumerate(sizes[1:], start=1):
        with run.timed("c: first surrogates"):
            training = training_samples(tables, config.feasibility)
            begun = time.perf_counter()
            fits.append(first_fit(config, designs, training, space, run.execution))
            run.stages.fitted(2.0 * (time.perf_counter() - begun))
        with run.timed("d: predicted errors of designs"):
            known = pd.concat(chosen, ignore_index=True)
            picked = next_designs(config, fits[-1], known, left, space, size)
            chosen.append(left.loc[picked])
            left = left.drop(index=picked)
        with run.timed("f: kept designs"):
            make = partial(_kept, run, chosen[-1], space, fits[-1])
            tables.append(run.table(f"kept-{number}", make))
    training = training_samples(tables, config.feasibility)
    numbers = [each["design"].astype(int).tolist() for each in chosen]
    return SampledDesigns(training, pd.concat(tables, ignore_index=True), fits, numbers)


def _sizes(designs: int, rounds: int) -> list[int]:
    """Return how many designs each round has, the first ones one more."""
    ends = np.linspace(0, designs, rounds + 1).round().astype(int)
    return np.diff(ends).tolist()[::-1]


def unseen_samples(run: Run, designs: pd.DataFrame, space: ParametricSpace) -> pd.DataFrame:
    """Return samples of the whole box at designs that no surrogate is fitted to."""
    chosen = designs[designs["use"] == UNSEEN]
    count = max(round(_UNSEEN_PART * design_space_of(run.config).poses), 20)

    def make() -> pd.DataFrame:
        rows = candidates_within(run.config, chosen, space, count, DOMAIN_SPREAD)
        return evaluated(run, rows)

    return run.table("unseen", make)


def candidates_within(
    config: Config,
    designs: pd.DataFrame,
    space: ParametricSpace,
    count: int,
    spread: float = 1.0,
) -> pd.DataFrame:
    """Return `count` candidates of each compartment within each design, with its parameters.

    Poses and loads are Sobol sequences in the box about the path of the design, of `spread` as
    `SampleSpace.draw`.
    """
    parameters, seed = parameters_of(config), design_space_of(config).seed
    parts = []
    for _, design in designs.iterrows():
        values = design[list(parameters.names)].to_numpy(float)
        box = space.at(parameters.scaled_row(values))
        for k, name in enumerate(config.knee.compartments):
            rng = np.random.default_rng(np.random.SeedSequence([seed, int(design["design"]), k]))
            poses, load = box.draw(unit_design("sobol", count, 6, rng), spread)
            table = candidate_table(poses, load, name)
            parts.append(table.assign(design=int(design["design"]), **parameters.named(values)))
    return pd.concat(parts, ignore_index=True)


def evaluated(run: Run, rows: pd.DataFrame) -> pd.DataFrame:
    """Return samples of designs with their results at the loads of the samples."""
    shared = run.config, parameters_of(run.config).names
    source = run.config.model_dump_json(include={"knee", "contact", "space"})
    return run.evaluate(rows, Evaluation(evaluate_designs, shared, source, ("superior_m",)))


def _evaluated(run: Run, designs: pd.DataFrame, space: ParametricSpace) -> pd.DataFrame:
    """Return the samples of the first designs."""
    count = design_space_of(run.config).poses
    return evaluated(run, candidates_within(run.config, designs, space, count))


def _kept(run: Run, designs: pd.DataFrame, space: ParametricSpace, fit: FirstFit) -> pd.DataFrame:
    """Stages d to f within designs: drop candidates predicted infeasible, evaluate others."""
    count = design_space_of(run.config).poses
    rows = candidates_within(run.config, designs, space, round(_CANDIDATES_EACH * count))
    feasible = rows[_predicted_feasible(run.config, rows, fit)]
    kept = feasible.groupby(["design", "compartment"], sort=False).head(count)
    return evaluated(run, kept.reset_index(drop=True))


def _predicted_feasible(config: Config, rows: pd.DataFrame, fit: FirstFit) -> NDArray[np.bool_]:
    """Return which candidates (N,) have predicted loads within the bounds of stage e."""
    parameters, bounds = parameters_of(config), config.feasibility
    found = np.zeros(len(rows), dtype=bool)
    for (_, name), own in rows.groupby(["design", "compartment"], sort=False):
        z = parameters.scaled_row(own.iloc[0][list(parameters.names)].to_numpy(float))
        part = fit.parts[str(name)].surrogate.at(z)
        _, loads = part.at_load(poses_of(own), own["load_N"].to_numpy())
        found[own.index] = infeasibility(loads, bounds, bounds.margin) == ""
    return found


def next_designs(
    config: Config,
    fit: FirstFit,
    known: pd.DataFrame,
    candidates: pd.DataFrame,
    space: ParametricSpace,
    count: int,
) -> list[int]:
    """Return the index of the next designs: of large predicted errors and far from each other.

    Each choice is the candidate of the largest product of its predicted error of the height and
    its distance from the nearest design that is known or chosen, in scaled parameters.
    """
    parameters = parameters_of(config)
    names = list(parameters.names)
    z = parameters.scaled_rows(candidates[names].to_numpy(float))
    near = _distances(z, parameters.scaled_rows(known[names].to_numpy(float))).min(axis=1)
    errors = np.array([fit.height_error(row) for row in z])
    chosen: list[int] = []
    for _ in range(min(count, len(z))):
        best = int(np.argmax(errors * near))
        chosen.append(best)
        near = np.minimum(near, _distances(z, z[best : best + 1])[:, 0])
    return candidates.index[chosen].tolist()


def _distances(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the distances (N, M) of points (N, P) and (M, P) [1]."""
    return np.asarray(np.linalg.norm(a[:, None] - b[None], axis=2))


def counts_of(designs: pd.DataFrame, table: pd.DataFrame, config: Config) -> dict[str, int]:
    """Return the number of designs without an answer, of samples, and of failed samples."""
    failed = table["status"] != OK
    lost = table[failed].groupby("design").size()
    whole = table.groupby("design").size()
    without = int((lost == whole.loc[lost.index]).sum())
    del designs
    trained = training_samples([table], config.feasibility)
    return {
        "designs": len(whole),
        "designs_without_answer": without,
        "samples": len(table),
        "failed": int(failed.sum()),
        "training": int((trained["weight"] == 1.0).sum()),
    }
