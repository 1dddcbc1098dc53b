"""A run over the designs of a design space, from its configuration to its report."""

from __future__ import annotations

import platform
from dataclasses import replace as replaced
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pandas as pd

import surrogates
from foundation.base.threads import one_thread
from pipeline.config.designs import check_designs, design_space_of
from pipeline.config.reading import dump_config
from pipeline.config.schema import Config
from pipeline.design_space.checkup import stages_over_designs
from pipeline.design_space.document import DesignsDocument, summary_lines, write_designs_page
from pipeline.design_space.drawn_designs import HELD_OUT, UNSEEN, Drawn, draw_designs
from pipeline.design_space.errors import worst
from pipeline.design_space.fitting import fit_designs
from pipeline.design_space.sampling import (
    counts_of,
    design_paths,
    parametric_space,
    path_errors,
    sample_designs,
    unlearnt_samples,
)
from pipeline.design_space.validation import (
    JudgedDesign,
    derivative_errors,
    judged_designs,
    with_domains,
    with_expected_errors,
)
from pipeline.files import writing
from pipeline.originals.contact_original import build_knee
from pipeline.preparation.expected_time import seconds_per_evaluation
from pipeline.progress import StageCounter
from pipeline.stages.run_folder import Run
from pipeline.store.job import configuration_digest
from pipeline.store.samples import digest
from surrogates.parametric.surrogate import ParametricSurrogate

_PACKAGES = ("numpy", "scipy", "pandas", "knee-contact")


def run_designs(
    config: Config, folder: Path, *, resume: bool = False, replace: bool = False
) -> DesignsDocument:
    """Carry out stages a to h over designs, as `run_study` for one; return `designs.json`."""
    check_designs(config)
    # One thread: sums in threaded linear algebra depend on the number of cores.
    with Run(config, folder) as run, one_thread:
        return _carry_out(run, resume=resume, replace=replace)


def _carry_out(run: Run, *, resume: bool, replace: bool) -> DesignsDocument:
    config = run.config
    run.stages = StageCounter(stages_over_designs(config), run.workers)
    with run.timed("knee"):
        base = build_knee(config)
    run.prepare(resume=resume, replace=replace)
    with run.timed("a: designs"):
        drawn = draw_designs(config)
        designs = run.table("designs", lambda: drawn.table, derived=True)
    with run.timed("reference paths"):
        paths = design_paths(run, designs)
        space = parametric_space(config, designs, paths)
        run.stages.per_evaluation = seconds_per_evaluation(base.quick, space.path)
    sampled = sample_designs(run, designs, space)
    with run.timed("unseen designs"):
        unseen = unlearnt_samples(run, designs, space, UNSEEN)
    with run.timed("held-out designs"):
        held_out = unlearnt_samples(run, designs, space, HELD_OUT)
    with run.timed("g: final surrogate"):
        knee = fit_designs(config, designs, sampled.training, space, run.execution)
    with run.timed("g: domain"):
        knee = with_domains(run, knee, designs, unseen)
    with run.timed("h: gait of unseen designs"):
        knee, judged_unseen = with_expected_errors(run, knee, designs, unseen)
    with run.timed("h: gait of held-out designs"):
        judged = judged_designs(run, knee, designs, held_out, HELD_OUT)
    with run.timed("h: derivatives by parameters"):
        slopes = derivative_errors(run, knee, designs, held_out)
    tables = {"training": sampled.training, "unseen": unseen, "held_out": held_out}
    knee = _with_header(run, knee, tables, judged)
    with writing(run.folder / "knee.npz"):
        surrogates.save_parametric(knee, run.folder / "knee.npz")
    away = path_errors(config, designs, paths, space)
    document = _document(run, drawn, sampled.evaluated, away, knee, judged_unseen, judged, slopes)
    run.write_json("designs.json", document)
    write_designs_page(run.folder, document, dump_config(config))
    (run.folder / "times.json").unlink()
    return document


def _with_header(
    run: Run,
    knee: ParametricSurrogate,
    tables: dict[str, pd.DataFrame],
    judged: list[JudgedDesign],
) -> ParametricSurrogate:
    header = {
        **knee.header,
        "errors": worst([each.errors for each in judged]),
        "provenance": {
            "package": version("knee-contact"),
            "samples": {name: digest(table) for name, table in tables.items()},
            "configuration": configuration_digest(dump_config(run.config)),
            "seed": design_space_of(run.config).seed,
        },
    }
    return replaced(knee, header=header)


def _document(
    run: Run,
    drawn: Drawn,
    evaluated: pd.DataFrame,
    away: dict[str, float],
    knee: ParametricSurrogate,
    unseen: list[JudgedDesign],
    judged: list[JudgedDesign],
    slopes: dict[str, dict[str, float]],
) -> DesignsDocument:
    config = run.config
    document = DesignsDocument(
        name=config.run.name,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        parameters=knee.parameters.to_header(),
        constraints=list(design_space_of(config).constraints),
        drawn=drawn.drawn,
        dropped=drawn.dropped,
        counts=counts_of(evaluated, config),
        path_errors=away,
        family=str(knee.header["family"]),
        unseen=[each._asdict() for each in unseen],
        held_out=[each._asdict() for each in judged],
        errors=worst([each.errors for each in judged]),
        derivatives=slopes,
        packages={name: version(name) for name in _PACKAGES},
        python=platform.python_version(),
        workers=run.workers,
        seconds=dict(run.seconds),
        summary=[],
    )
    return document.model_copy(update={"summary": summary_lines(document)})
