"""A study from its configuration to its report: the stages in order."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

from foundation.base.errors import InputError
from foundation.base.findings import Finding
from foundation.base.loads import WRENCH_COLUMNS
from foundation.base.threads import one_thread
from foundation.base.wording import counted
from pipeline.config.data_folder import data_files
from pipeline.config.knee_schema import KneeConfig
from pipeline.config.reading import dump_config
from pipeline.config.schema import Config
from pipeline.config.stage_schema import AUTO
from pipeline.errors import StageError
from pipeline.originals.candidates import choose_samples, sample_space
from pipeline.originals.contact_original import preparation_of
from pipeline.originals.knee import OriginalModel, contact_model
from pipeline.originals.table_original import build_original, completed
from pipeline.preparation.checkup import run_findings
from pipeline.preparation.expected_time import seconds_per_evaluation, stages_of
from pipeline.preparation.findings import Findings
from pipeline.progress import StageCounter, say, without_warnings
from pipeline.reports.report import Report, write_report
from pipeline.simulation import gait_cycle, gait_ligaments
from pipeline.stages.adaptive_sampling import (
    Sampled,
    candidates_along_gait,
    learning_point,
    sample_knee,
)
from pipeline.stages.assessment import (
    assess,
    compared,
    feasible,
    field_figures,
    front_rows,
    held_out_point,
    learn_domains,
    prediction_table,
    with_fields,
)
from pipeline.stages.fitting import Candidates, TrainedKnee, fit_surrogates, with_gait_bounds
from pipeline.stages.gait_cycle import simulate_cycle
from pipeline.stages.run_folder import Run, stored_path
from pipeline.store.figures import AT_LOAD, AT_POSE, Figures, Fitted, Validation
from pipeline.store.job import configuration_digest
from pipeline.store.run_documents import FromModel, FromTable, RunRecord, StoredFinding, Triangles
from pipeline.store.samples import digest, without, write_table
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.selection import MOST_FOR_KRIGING
from surrogates.sampling.space import SampleSpace

#: Candidates of a compartment that are predicted to compress a surrogate: in the sample space, and
#: along gait, where the compressed surrogate must be as good as the surrogate it stands for.
_PREDICTED, _ALONG_GAIT = 16_384, 32_768


def run_study(
    config: Config,
    folder: Path,
    *,
    resume: bool = False,
    replace: bool = False,
    despite_errors: bool = False,
) -> Report:
    """Carry out stages a to h in a run directory; return the content of `report.json`.

    The options are those of `pipeline.studies.dispatch.carry_out`.
    """
    config = completed(config)
    # One thread: sums in threaded linear algebra depend on the number of cores.
    with Run(config, folder) as run, one_thread:
        return _carry_out(run, resume=resume, replace=replace, despite_errors=despite_errors)


def _carry_out(run: Run, *, resume: bool, replace: bool, despite_errors: bool) -> Report:
    """Carry out the stages of a run; return its report."""
    config, folder = run.config, run.folder
    run.stages = StageCounter(stages_of(config), run.workers)
    # Unusable inputs are reported before an earlier run's files are touched or hours are spent.
    with run.timed("surfaces and contact model"):
        if config.simulation.kind == "gait":
            gait_cycle(config.simulation)
            gait_ligaments(config.simulation)
        heard = Findings()
        with heard.hearing(config.original.sections):
            original = build_original(config, folder)
        if config.feasibility.bounds == "gait":
            run.config = config = _bounded(config, original)
    run.prepare(resume=resume, replace=replace)
    with run.timed("reference path"):
        with heard.hearing("[space.path], [simulation]"):
            space = sample_space(config, stored_path(run, original))
        findings = run_findings(config, original, space, heard)
    if not despite_errors:
        _refuse_errors(findings)
    _prepare(run, original, space)
    sampled = sample_knee(run, original, space)
    with run.timed("g: final surrogates"):
        trained = _fit_all(run, sampled, space)
    with run.timed("g: poses where the surrogates can be trusted"):
        trained = learn_domains(run, original, space, trained, sampled)
    with run.timed("held-out samples"):
        rows = partial(original.held_out, space, config, sampled.candidates)
        evaluation = original.evaluation()
        held_out = run.table("heldout", lambda: run.evaluate(rows(), evaluation))
    with run.timed("validation"):
        validation = _validate(run, original, trained, sampled, held_out)
        say(_held_out_errors(validation.figures))
    main = _with_header(run, trained[0].knee, original, sampled.training, validation)
    if config.surrogate.fields is not None:
        with run.timed("g: pressure fields"):
            main = _with_fields(run, main, original, sampled.training, held_out)
    run.save(main)
    hashes = {"samples": digest(sampled.training), "held_out": digest(held_out)}
    description = original.describe(space, main)
    provenance = _provenance(run, original, sampled, hashes, description, findings)
    run.write_json("run.json", provenance)
    if config.simulation.kind == "gait":
        simulate_cycle(run, original, main, space.path)
    provenance.seconds = run.seconds
    run.write_json("run.json", provenance)
    say("  report")
    return write_report(folder)


def _bounded(config: Config, original: OriginalModel) -> Config:
    """Return the configuration with the bounds of its gait cycle."""
    with without_warnings:  # of the path, given where the path of the run is found
        path = original.reference_path(config)
    return with_gait_bounds(config, contact_model(original, quick=True), path)


def _prepare(run: Run, original: OriginalModel, space: SampleSpace) -> None:
    """Prepare the original model and measure an evaluation."""
    if original.model is None:
        return
    if (preparation := preparation_of(run.config)) is not None:
        with run.timed(preparation.stage):
            original.prepare(say)
    run.stages.per_evaluation = seconds_per_evaluation(original.model, space.path)


def _fit_all(run: Run, sampled: Sampled, space: SampleSpace) -> list[TrainedKnee]:
    """Stage g: fit the main surrogate and those it is compared with."""
    config = run.config
    settings = config.surrogate
    main = (settings.formulation, settings.family)
    pairs = [main, *(pair for pair in settings.compare if pair != main)]
    seed, names = config.run.seed, config.knee.compartments
    candidates = Candidates(_drawn(run, sampled, space), config.feasibility)
    trained = fit_surrogates(
        sampled.training, space, settings, pairs, seed, run.execution, names, candidates
    )
    name = {"name": config.run.name}
    return [t._replace(knee=replace(t.knee, header=name | dict(t.knee.header))) for t in trained]


def _drawn(run: Run, sampled: Sampled, space: SampleSpace) -> pd.DataFrame:
    """Return the candidates that the family "auto" predicts to compress a surrogate."""
    config = run.config
    if config.surrogate.family != AUTO or config.original.kind == "table":
        return sampled.candidates
    design = config.design.model_copy(update={"candidates": _PREDICTED})
    drawn = choose_samples(
        space, design, config.run.seed, config.knee.compartments, config.space.motion
    )
    full = sampled.training[sampled.training["weight"] == 1.0]
    # More samples are fitted directly.
    many = full["compartment"].value_counts().max() > MOST_FOR_KRIGING
    if many or sampled.along.empty:
        return drawn
    rng = np.random.default_rng(np.random.SeedSequence([config.run.seed, 4]))
    surrogate, first = sampled.early.knee, int(drawn["index"].max()) + 1
    along = candidates_along_gait(config.simulation, space, surrogate, _ALONG_GAIT, first, rng)
    return pd.concat([drawn, along], ignore_index=True)


def _validate(
    run: Run,
    original: OriginalModel,
    trained: list[TrainedKnee],
    sampled: Sampled,
    held_out: pd.DataFrame,
) -> Validation:
    """Judge every surrogate on the held-out samples; keep the main one's predictions."""
    feasibility = run.config.feasibility
    judged = [assess(fitted.knee, held_out, feasibility, fitted.checks) for fitted in trained]
    rounds = [assess(fitted.knee, held_out, feasibility) for fitted in sampled.fits]
    points = [*sampled.curve, learning_point(trained[0], sampled.training)]
    curve, largest = [*rounds, judged[0]], float(trained[0].knee.spaces[0].load[1])
    judged.append(rounds[-1])
    knees = {"g: all samples": trained, "c: last round": [sampled.early]}
    others = [row for k, found in enumerate(judged[1:], start=1) for row in compared(found, k)]
    content = Validation(
        models=[
            Fitted(
                formulation=fitted.knee.compartment(fitted.knee.compartments[0]).formulation,
                family=fitted.knee.header.get("family", ""),
                trained_on=stage,
                fit_s=fitted.knee.header.get("fit_seconds"),
            )
            for stage, found in knees.items()
            for fitted in found
        ],
        figures=Figures([*judged[0].root, *others]),
        front=front_rows(trained[0].fronts),
        learning_curve=[
            point.model_copy(update=held_out_point(figures, largest))
            for point, figures in zip(points, curve, strict=True)
        ],
    )
    predicted = prediction_table(trained[0].knee, held_out, feasibility)
    predicted = without(predicted, original.not_given)
    write_table(predicted, run.folder / "samples" / "heldout_prediction.parquet")
    run.write_json("validation.json", content)
    return content


def _held_out_errors(figures: Figures) -> str:
    """Return the errors of a surrogate on held-out samples, of the worse compartment, in a line."""
    told = []
    for about, statistic, columns, words in (
        (AT_POSE, "nrmse", WRENCH_COLUMNS, "% of the worst load at a pose"),
        (AT_POSE, "nrmse", ("peak_pressure_Pa",), "% of the peak pressure (RMS over range)"),
        (AT_LOAD, "rmse", ("height_m",), "um of the height at a load (RMS)"),
    ):
        worst = figures.worst(about, statistic, *columns)
        if worst is not None and worst.value is not None:
            told.append(f"{worst.displayed['value']:.2g} {words}")
    return f"  errors on held-out samples: {', '.join(told)}"


def _with_header(
    run: Run,
    knee: ContactSurrogate,
    original: OriginalModel,
    samples: pd.DataFrame,
    validation: Validation,
) -> ContactSurrogate:
    """Return the main surrogate with its errors and provenance in the header."""
    header = {
        **{k: v for k, v in knee.header.items() if k != "fit_seconds"},
        "errors": [row.content() for row in validation.figures.root],
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


def _with_fields(
    run: Run,
    knee: ContactSurrogate,
    original: OriginalModel,
    samples: pd.DataFrame,
    held_out: pd.DataFrame,
) -> ContactSurrogate:
    """Return the main surrogate with pressure fields, and their held-out errors in the header."""
    if original.model is None:
        raise StageError("[surrogate.fields]: a table has no pressure fields; remove the section")
    settings, seed = run.config.surrogate, run.config.run.seed
    found = with_fields(knee, original.model, samples, settings, seed)
    inside = feasible(held_out, run.config.feasibility)
    figures = field_figures(found, original.model, inside)
    return replace(found, header={**found.header, "field_errors": figures})


def _provenance(
    run: Run,
    original: OriginalModel,
    sampled: Sampled,
    hashes: dict[str, str],
    description: FromModel | FromTable,
    findings: list[Finding],
) -> RunRecord:
    """Return the content of `run.json`: versions, seeds, digests, counts, times and findings."""
    model = original.model
    configuration = configuration_digest(dump_config(run.config))
    digests = {"configuration": configuration, **_file_digests(run.config.knee)}
    triangles = None
    if model is not None:
        triangles = Triangles(femur=len(model.femur.faces), tibia=len(model.tibia.faces))
    return RunRecord(
        **run.provenance,
        seed=run.config.run.seed,
        held_out_seed=run.config.validation.seed,
        hashes={"original": original.digest, **hashes, **digests},
        triangles=triangles,
        counts=sampled.counts,
        original=description,
        remarks=[StoredFinding.of(finding) for finding in findings],
    )


def _refuse_errors(findings: list[Finding]) -> None:
    """Raise `InputError` with the errors of the checks of a run."""
    errors = [StoredFinding.of(found).words for found in findings if found.is_error]
    if errors:
        remedy = (
            f"{counted(len(errors), 'error')} of the study, as `check` reports: correct the study, "
            "or run with --despite-errors, which states the errors in the report"
        )
        raise InputError("\n".join([*errors, remedy]))


def _file_digests(knee: KneeConfig) -> dict[str, str]:
    """Return the SHA-256 of the mesh files, as `sha256sum` prints them; none without files."""
    meshes = {"femur": knee.femur, "tibia": knee.tibia, "tibia_solid": knee.tibia_solid}
    files = {f"{body}_file": mesh.files for body, mesh in meshes.items() if mesh is not None}
    if knee.shape is not None:
        bodies = zip(("femur", "tibia"), knee.shape.files, strict=True)
        files |= {f"{body}_shape_file": of_body for body, of_body in bodies}
    digests = {}
    for name, of_body in files.items():
        for number, path in enumerate(data_files(of_body), start=1):
            with path.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
            digests[name if number == 1 else f"{name}_{number}"] = digest
    return digests
