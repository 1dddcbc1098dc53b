"""A study from its configuration to its report: the stages in order."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

import surrogates
from pipeline import stages
from pipeline.config.reading import dump_config
from pipeline.config.schema import Config
from pipeline.files import writing
from pipeline.originals.candidates import sample_space
from pipeline.originals.protocol import OriginalModel
from pipeline.originals.table_original import build_original, completed
from pipeline.preparation.expected_time import seconds_per_evaluation, stages_of
from pipeline.progress import StageCounter
from pipeline.reports.report import write_report
from pipeline.simulation import gait_cycle, gait_ligaments
from pipeline.stages import knee_samples
from pipeline.stages.adaptive_sampling import Sampled, learning_point, sample_knee
from pipeline.stages.assessment import assess, prediction_table
from pipeline.stages.domains import learn_domains
from pipeline.stages.gait_cycle import simulate_cycle
from pipeline.stages.reference_samples import reference_kind, samples_for
from pipeline.stages.run_folder import Run, stored_path
from pipeline.store.made_with import configuration_digest
from pipeline.store.run_documents import RunRecord
from pipeline.store.samples import digest, without, write_table
from pipeline.store.validation_document import Round, Validation
from surrogates.formulations.whole_knee import AnyKnee
from surrogates.sampling.space import SampleSpace

_PACKAGES = ("numpy", "scipy", "scikit-learn", "smt", "trimesh", "joblib", "numba", "pandas")


def run_study(
    config: Config, folder: Path, *, resume: bool = False, quiet: bool = False
) -> dict[str, Any]:
    """Carry out stages a to h and write the run directory.

    Parameters
    ----------
    config : Config
        The study.
    folder : Path
        The run directory.
    resume : bool
        Whether to go on with what an interrupted run left there.
    quiet : bool
        Whether to leave out progress bars.

    Returns
    -------
    dict
        The content of `report.json`.
    """
    with Run(completed(config), folder, quiet=quiet) as run:
        return _carry_out(run, resume=resume)


def _carry_out(run: Run, *, resume: bool) -> dict[str, Any]:
    """Carry out the stages of a run; return the content of its report."""
    config, folder = run.config, run.folder
    run.stages = StageCounter(stages_of(config), run.workers)
    # What cannot be used is told before an earlier run's files are touched or hours are spent.
    with run.timed("knee"):
        gait_cycle(config.simulation)
        gait_ligaments(config.simulation)
        run.compile_kernels()
        original = build_original(config)
    run.prepare(resume=resume)
    with run.timed("reference path"):
        space = sample_space(config, stored_path(run, original))
        if original.model is not None:
            run.stages.per_evaluation = seconds_per_evaluation(original.model, space.path)
    sampled = sample_knee(run, original, space)
    with run.timed("g: final surrogates"):
        trained, fitted_to = _fit_all(run, original, sampled.training, space)
    with run.timed("g: domains"):
        trained = learn_domains(run, original, space, trained, sampled)
    with run.timed("held-out samples"):
        held_out = run.table("heldout", partial(_held_out, run, original, space, sampled))
    with run.timed("validation"):
        validation = _validate(run, original, trained, sampled, fitted_to, held_out)
    main = _with_header(run, trained[0].knee, original, fitted_to, validation)
    with writing(folder / "knee.npz"):
        surrogates.save(main, folder / "knee.npz")
    description = original.describe(space, main)
    provenance = _provenance(run, original, sampled, fitted_to, held_out, description)
    run.write_json("run.json", provenance.content())
    with run.timed("h: gait simulation"):
        run.wait_for_kernels()
        simulate_cycle(run, original, main, space.path)
    run.write_json("run.json", provenance.content() | {"seconds": run.seconds})
    (folder / "times.json").unlink()
    return write_report(folder)


def _fit_all(
    run: Run, original: OriginalModel, samples: pd.DataFrame, space: SampleSpace
) -> tuple[list[stages.TrainedKnee], pd.DataFrame]:
    """Stage g: fit the main surrogate and those it is compared with; return its samples too."""
    config = run.config
    settings, folds = config.surrogate, config.validation.folds
    main = (settings.formulation, settings.family)
    pairs = [main, *(pair for pair in settings.compare if pair != main)]
    whole = [pair for pair in pairs if knee_samples.is_whole(pair)]
    parted = [pair for pair in pairs if pair not in whole]
    given = space, settings
    trained: dict[tuple[str, str], stages.TrainedKnee] = {}
    for formulations in _alike(parted, settings.touch_points):
        pairs_of = [pair for pair in parted if pair[0] in formulations]
        chosen = samples_for(run, original, samples, formulations[0])
        found = stages.fit_surrogates(
            chosen, *given, pairs_of, config.run.seed, run.execution, folds
        )
        trained |= zip(pairs_of, found, strict=True)
    if whole:
        count = knee_samples.most_of_a_compartment(samples)
        both = knee_samples.training_samples(run, original, space, count)
        knees = knee_samples.fit_knees(both, *given, whole, config.run.seed, run.execution, folds)
        trained |= zip(whole, knees, strict=True)
    name = {"name": config.run.name}
    named = [
        t._replace(knee=replace(t.knee, header=name | dict(t.knee.header)))
        for t in map(trained.__getitem__, pairs)
    ]
    return named, both if main in whole else samples


def _alike(pairs: Sequence[tuple[str, str]], touch_points: bool) -> list[list[str]]:
    """Return the formulations of pairs in groups that learn from the same samples."""
    groups: dict[tuple[str | None, bool], list[str]] = {}
    for name in dict.fromkeys(formulation for formulation, _ in pairs):
        key = reference_kind(name, touch_points=touch_points), name == "energy"
        groups.setdefault(key, []).append(name)
    return list(groups.values())


def _validate(
    run: Run,
    original: OriginalModel,
    trained: list[stages.TrainedKnee],
    sampled: Sampled,
    fitted_to: pd.DataFrame,
    held_out: pd.DataFrame,
) -> Validation:
    """Judge every surrogate on the held-out samples; keep the main one's predictions."""
    feasibility = run.config.feasibility
    points = [*sampled.curve, learning_point(trained[0], fitted_to)]
    content = Validation(
        models=[assess(fitted.knee, held_out, feasibility, fitted.checks) for fitted in trained],
        first=assess(sampled.early.knee, held_out, feasibility, sampled.early.checks),
        learning_curve=[Round.model_validate(point) for point in points],
    )
    write_table(
        without(
            prediction_table(trained[0].knee, held_out, feasibility),
            original.not_given,
            ("predicted_",),
        ),
        run.folder / "samples" / "heldout_prediction.parquet",
    )
    run.write_json("validation.json", content.content())
    return content


def _with_header(
    run: Run,
    knee: AnyKnee,
    original: OriginalModel,
    samples: pd.DataFrame,
    validation: Validation,
) -> AnyKnee:
    """Return the main surrogate with its errors and provenance in the header."""
    header = {
        **{k: v for k, v in knee.header.items() if k != "fit_seconds"},
        "errors": validation.models[0].content()["compartments"],
        "provenance": {
            "package": version("knee-contact"),
            "original": original.digest,
            "samples": digest(samples),
            "seed": run.config.run.seed,
        },
    }
    if original.model is None:
        # The predictions of these columns have no meaning.
        header["not_given"] = list(original.not_given)
    return replace(knee, header=header)


def _held_out(
    run: Run, original: OriginalModel, space: SampleSpace, sampled: Sampled
) -> pd.DataFrame:
    """Return the evaluated held-out samples."""
    rows = original.held_out(space, run.config, sampled.candidates)
    return run.evaluate("heldout", rows, original.evaluation())


def _provenance(
    run: Run,
    original: OriginalModel,
    sampled: Sampled,
    fitted_to: pd.DataFrame,
    held_out: pd.DataFrame,
    description: dict[str, Any],
) -> RunRecord:
    """Return the content of `run.json`: versions, seeds, digests, counts and times."""
    model = original.model
    content = {
        "name": run.config.run.name,
        "seed": run.config.run.seed,
        "held_out_seed": run.config.validation.seed,
        "workers": run.workers,
        "python": platform.python_version(),
        "packages": {name: version(name) for name in (*_PACKAGES, "knee-contact")},
        "hashes": {
            "original": original.digest,
            "samples": digest(fitted_to),
            "held_out": digest(held_out),
            "configuration": configuration_digest(dump_config(run.config)),
        },
        "triangles": None
        if model is None
        else {"femur": len(model.femur.faces), "tibia": len(model.tibia.faces)},
        "counts": sampled.counts,
        "seconds": run.seconds,
        "original": description,
    }
    return RunRecord.model_validate(content)
