"""Stages b to g over designs: paths, samples within designs, rounds, and fits."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.wording import counted
from pipeline.config.reading import design_space_of
from pipeline.config.schema import Config, SurrogateConfig
from pipeline.config.stage_schema import AUTO
from pipeline.design_space.designs import (
    HELD_OUT,
    LEARNT,
    UNSEEN,
    evaluate_designs,
    parameters_of,
    scaled_designs,
    settled_path,
    values_of,
)
from pipeline.design_space.errors import standard_errors
from pipeline.errors import StageError
from pipeline.execution import Execution
from pipeline.originals.candidates import sample_space
from pipeline.stages.adaptive_sampling import training_samples
from pipeline.stages.fitting import compartment_samples, family_fitter, infeasibility
from pipeline.stages.run_folder import Run
from pipeline.store.sample_store import Evaluation
from pipeline.store.samples import FAILED, OK, POSE_COLUMNS, candidate_table, poses_of, usable
from surrogates.families.network import NetworkSettings, fit_network
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.compartment_fit import Fitter
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.design_fit import DesignSamples, fit_parametric
from surrogates.sampling.designs import unit_design
from surrogates.sampling.space import ReferencePath, SampleSpace

#: Fewest samples of a compartment that a design needs to be learnt.
LEAST_SAMPLES = 10
#: Steps of the training of a single network in stage c.
_FIRST_STEPS = 3000


def first_fit(
    config: Config,
    designs: pd.DataFrame,
    training: pd.DataFrame,
    space: SampleSpace,
    execution: Execution,
) -> ContactSurrogate:
    """Stage c: fit one network to the samples so far."""
    network = config.surrogate.network.model_copy(update={"networks": 1, "steps": _FIRST_STEPS})
    settings = config.surrogate.model_copy(update={"network": network, "family": "network"})
    first = config.model_copy(update={"surrogate": settings})
    return fit_designs(first, designs, training, space, execution)


def fit_designs(
    config: Config,
    designs: pd.DataFrame,
    training: pd.DataFrame,
    space: SampleSpace,
    execution: Execution,
) -> ContactSurrogate:
    """Stages c and g: fit a surrogate over all designs; raises `StageError` if that fails."""
    names = config.knee.compartments
    jobs = [(config, designs, usable(training, name), space, name) for name in names]
    parts = dict(zip(names, execution.map(_fit_compartment, jobs), strict=True))
    families = sorted({part.regressors[0].family for part in parts.values()})
    header = {"name": config.run.name, "family": " and ".join(families)}
    return ContactSurrogate(parts, header, parameters=parameters_of(config))


def _fit_compartment(
    config: Config, designs: pd.DataFrame, rows: pd.DataFrame, space: SampleSpace, name: str
) -> CompartmentSurrogate:
    """Return the fit of one compartment; a `StageError` names the compartment and the samples."""
    settings = config.surrogate
    try:
        samples = design_samples(config, designs, rows)
        fitter = designs_fitter(settings, config.run.seed)
        return fit_parametric(
            settings.formulation, space, samples, fitter, settings.load_degree
        ).surrogate
    except (InputError, np.linalg.LinAlgError) as error:
        raise StageError(
            f"fitting {settings.formulation}, {name}, to {len(rows)} samples with an answer within "
            f"[feasibility]: {error}"
        ) from error


def design_samples(
    config: Config, designs: pd.DataFrame, rows: pd.DataFrame
) -> list[DesignSamples]:
    """Return the samples of one compartment by design, without designs of too few samples."""
    z = dict(zip(designs["design"], scaled_designs(config, designs), strict=True))
    return [
        DesignSamples(z[number], compartment_samples(own))
        for number, own in rows.groupby("design", sort=True)
        if len(own) >= LEAST_SAMPLES
    ]


def designs_fitter(settings: SurrogateConfig, seed: int) -> Fitter:
    """Return how regressors over designs are fitted: by default, networks on a cubic.

    Splines beside networks do not pay over designs: kinks do not lie at constant values.
    """
    if settings.family not in (AUTO, "network"):
        return family_fitter(settings, settings.family, seed)
    alike = family_fitter(settings, "network", seed)
    chosen = NetworkSettings(**settings.network.model_dump(), terms=0)
    return alike._replace(
        fit=lambda x, y, w: fit_network(x, y, chosen, np.random.default_rng(seed), w)
    )


#: Designs whose path is settled, for each term of a quadratic of the parameters.
_DESIGNS_PER_TERM = 2
#: Part of the designs that must settle.
_LEAST_SETTLED = 0.5


def design_paths(run: Run, designs: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each design and knot of settled paths, one failed row for others."""
    count = len(parameters_of(run.config))
    chosen = designs.head(_DESIGNS_PER_TERM * (count + 1) * (count + 2) // 2)

    def make() -> pd.DataFrame:
        jobs = [(run.config, values) for values in values_of(run.config, chosen).values()]
        found = run.execution.map(settled_path, jobs)
        rows = [_rows(int(k), *each) for k, each in zip(chosen["design"], found, strict=True)]
        return pd.concat(rows, ignore_index=True)

    return run.table("paths", make)


def _rows(design: int, path: ReferencePath | None, reason: str) -> pd.DataFrame:
    if path is None:
        poses, status = np.full((1, 6), np.nan), FAILED
    else:
        poses, status = path.poses(path.flexion), OK
    table = pd.DataFrame(poses, columns=pd.Index(POSE_COLUMNS))
    return table.assign(design=design, status=status, reason=reason)


def parametric_space(config: Config, designs: pd.DataFrame, paths: pd.DataFrame) -> SampleSpace:
    """Return the sample space of all designs from the paths of some; few may not settle."""
    settled = paths[paths["status"] == OK]
    numbers = settled["design"].unique()
    tried = paths["design"].nunique()
    if len(numbers) < _LEAST_SETTLED * tried:
        reasons = paths.loc[paths["status"] != OK, "reason"]
        raise StageError(
            f"reference path: {len(numbers)} of {counted(tried, 'design')} settle; the first that "
            f"does not: {reasons.iloc[0]}"
        )
    poses = [poses_of(settled[settled["design"] == number]) for number in numbers]
    found = [ReferencePath.through(each[:, 0], each[:, 1:]) for each in poses]
    z = scaled_designs(config, designs.set_index("design").loc[numbers])
    return sample_space(config, ReferencePath.over_designs(z, found))


def path_errors(
    config: Config, designs: pd.DataFrame, paths: pd.DataFrame, space: SampleSpace
) -> dict[str, float]:
    """Return the largest distance [mm] and angle [deg] of settled paths from the smooth path."""
    z = dict(zip(designs["design"], scaled_designs(config, designs), strict=True))
    away = np.zeros(2)
    for number, rows in paths[paths["status"] == OK].groupby("design"):
        poses = poses_of(rows)
        miss = np.abs(space.path.at(z[number]).poses(poses[:, 0]) - poses)
        away = np.maximum(away, [1e3 * miss[:, 3:].max(), np.degrees(miss[:, 1:3].max())])
    return {"distance_mm": float(away[0]), "angle_deg": float(away[1])}


#: Candidates within a design for each sample, of which predicted infeasible ones are left out.
_CANDIDATES_EACH = 1.5
#: Samples within a design that is not learnt, over those of one that is, and the least number.
_UNLEARNT_PART, _LEAST = 0.5, 20
#: Degree of the root of the load that is even over samples, which tell domains at unseen designs.
SPREADS = {UNSEEN: 2.0, HELD_OUT: 1.0}


def sample_designs(
    run: Run, designs: pd.DataFrame, space: SampleSpace
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Carry out stages a to f; return the samples for stage g, with `weight`, and all samples."""
    config = run.config
    settings = design_space_of(config)
    sizes = _sizes(settings.designs, settings.rounds)
    learnt = designs[designs["use"] == LEARNT].reset_index(drop=True)
    chosen, left = [learnt.head(sizes[0])], learnt.iloc[sizes[0] :]
    with run.timed("b: first designs"):
        tables = [run.table("first", partial(_evaluated, run, chosen[0], space))]
    for number, size in enumerate(sizes[1:], start=1):
        with run.timed("c: first surrogates"):
            training = training_samples(tables, config.feasibility)
            fit = first_fit(config, designs, training, space, run.execution)
        with run.timed("d: predicted errors of designs"):
            known = pd.concat(chosen, ignore_index=True)
            picked = next_designs(config, fit, known, left, size)
            chosen.append(left.loc[picked])
            left = left.drop(index=picked)
        with run.timed("f: kept designs"):
            make = partial(_kept, run, chosen[-1], space, fit)
            tables.append(run.table(f"kept-{number}", make))
    training = training_samples(tables, config.feasibility)
    return training, pd.concat(tables, ignore_index=True)


def _sizes(designs: int, rounds: int) -> list[int]:
    """Return how many designs each round has, the first ones one more."""
    ends = np.linspace(0, designs, rounds + 1).round().astype(int)
    return np.diff(ends).tolist()[::-1]


def unlearnt_samples(run: Run, designs: pd.DataFrame, space: SampleSpace, use: str) -> pd.DataFrame:
    """Return evaluated samples of the designs of a use of `SPREADS`, which no fit learns."""
    chosen, name = designs[designs["use"] == use], use.replace("_", "")
    count = max(round(_UNLEARNT_PART * design_space_of(run.config).poses), _LEAST)

    def make() -> pd.DataFrame:
        rows = candidates_within(run.config, chosen, space, count, SPREADS[use])
        return evaluated(run, rows)

    return run.table(name, make)


def candidates_within(
    config: Config,
    designs: pd.DataFrame,
    space: SampleSpace,
    count: int,
    spread: float = 1.0,
) -> pd.DataFrame:
    """Return `count` candidates of each compartment within each design, of a `spread` [1]."""
    seed, parts = design_space_of(config).seed, []
    z = scaled_designs(config, designs)
    for row, (number, values) in zip(z, values_of(config, designs).items(), strict=True):
        box = space.at(row)
        for k, name in enumerate(config.knee.compartments):
            rng = np.random.default_rng(np.random.SeedSequence([seed, number, k]))
            poses, load = box.draw(unit_design("sobol", count, 6, rng), spread)
            parts.append(candidate_table(poses, load, name).assign(design=number, **values))
    return pd.concat(parts, ignore_index=True)


def evaluated(run: Run, rows: pd.DataFrame) -> pd.DataFrame:
    """Return samples of designs with their results at the loads of the samples."""
    shared = run.config, parameters_of(run.config).names
    source = run.config.model_dump_json(include={"knee", "contact", "space"})
    return run.evaluate(rows, Evaluation(evaluate_designs, shared, source, ("superior_m",)))


def _evaluated(run: Run, designs: pd.DataFrame, space: SampleSpace) -> pd.DataFrame:
    """Return the samples of the first designs."""
    count = design_space_of(run.config).poses
    return evaluated(run, candidates_within(run.config, designs, space, count))


def _kept(
    run: Run, designs: pd.DataFrame, space: SampleSpace, fit: ContactSurrogate
) -> pd.DataFrame:
    """Stages d to f within designs: drop candidates predicted infeasible, evaluate others."""
    count = design_space_of(run.config).poses
    rows = candidates_within(run.config, designs, space, round(_CANDIDATES_EACH * count))
    feasible = rows[_predicted_feasible(run.config, rows, fit)]
    kept = feasible.groupby(["design", "compartment"], sort=False).head(count)
    return evaluated(run, kept.reset_index(drop=True))


def _predicted_feasible(
    config: Config, rows: pd.DataFrame, fit: ContactSurrogate
) -> NDArray[np.bool_]:
    """Return which candidates (N,) have predicted loads within the bounds of stage e."""
    bounds, found = config.feasibility, np.zeros(len(rows), dtype=bool)
    for (_, name), own in rows.groupby(["design", "compartment"], sort=False):
        part = fit.by_name[str(name)].at(scaled_designs(config, own.head(1))[0])
        _, loads = part.at_load(poses_of(own), own["load_N"].to_numpy())
        found[own.index] = infeasibility(loads, bounds, bounds.margin) == ""
    return found


def next_designs(
    config: Config,
    fit: ContactSurrogate,
    known: pd.DataFrame,
    candidates: pd.DataFrame,
    count: int,
) -> list[int]:
    """Return the index of designs of large predicted errors that are far from each other."""
    z = scaled_designs(config, candidates)
    near = _distances(z, scaled_designs(config, known)).min(axis=1)
    errors = np.array([standard_errors(fit, row)[0] for row in z])
    chosen: list[int] = []
    for _ in range(min(count, len(z))):
        best = int(np.argmax(errors * near))
        chosen.append(best)
        near = np.minimum(near, _distances(z, z[best : best + 1])[:, 0])
    return candidates.index[chosen].tolist()


def _distances(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the distances (N, M) of points (N, P) and (M, P) [1]."""
    return np.asarray(np.linalg.norm(a[:, None] - b[None], axis=2))


def counts_of(table: pd.DataFrame, config: Config) -> dict[str, int]:
    """Return the number of designs without an answer, of samples, and of failed samples."""
    failed = table["status"] != OK
    lost = table[failed].groupby("design").size()
    whole = table.groupby("design").size()
    without = int((lost == whole.loc[lost.index]).sum())
    trained = training_samples([table], config.feasibility)
    return {
        "designs": len(whole),
        "designs_without_answer": without,
        "samples": len(table),
        "failed": int(failed.sum()),
        "training": int((trained["weight"] == 1.0).sum()),
    }
