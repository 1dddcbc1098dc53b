"""A run over the designs of a design space: stages, validation, files and report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from dataclasses import replace as replaced
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from foundation.base.findings import Finding
from foundation.base.threads import one_thread
from foundation.base.wording import counted
from pipeline.advice import of_configuration
from pipeline.config.reading import check_designs, design_space_of, dump_config, load_config
from pipeline.config.schema import Config
from pipeline.design_space.designs import (
    BOTH,
    HELD_OUT,
    UNSEEN,
    DesignOutcome,
    Drawn,
    draw_designs,
    fitted_patch,
    outcome_of,
    scaled_designs,
    settled_path,
    values_of,
)
from pipeline.design_space.errors import (
    ERRORS,
    OF_SAMPLES,
    errors_for_page,
    fitted_errors,
    sample_errors,
    worst,
)
from pipeline.design_space.sampling import (
    SPREADS,
    counts_of,
    design_paths,
    fit_designs,
    parametric_space,
    path_errors,
    sample_designs,
    unlearnt_samples,
)
from pipeline.errors import StageError
from pipeline.execution import Execution
from pipeline.originals.contact_original import build_knee, preparation_of
from pipeline.preparation.expected_time import seconds_per_evaluation
from pipeline.preparation.findings import Findings
from pipeline.progress import Stage, StageCounter, rounded
from pipeline.reports.charts import parity_chart
from pipeline.reports.figures import Picture
from pipeline.reports.live_knee import live_section
from pipeline.reports.pages import write_page
from pipeline.simulation import KEY_OUTPUTS, OUTPUTS, GaitSimulation
from pipeline.stages.assessment import learn_domain
from pipeline.stages.run_folder import Run
from pipeline.store.job import configuration_digest
from pipeline.store.run_documents import MODELS, Computed
from pipeline.store.samples import digest, usable
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.design_fit import OverDesigns
from surrogates.formulations.domain import Domain

_ABOUT = "[design_space]"
#: Designs whose contact model is built and settled.
_TRIED = 3


def with_designs_checked(
    file: Path, overrides: tuple[str, ...], found: list[Finding], figures: dict[str, Any]
) -> list[Finding]:
    """Return findings on a configuration with those on its design space, if there is one."""
    if any(finding.level == "error" for finding in found):
        return found
    config = load_config(file, overrides)
    if config.design_space is None:
        return found
    findings = Findings()
    # The time of a run is that of all designs.
    findings.add([each for each in found if each.about != "run"])
    check_design_space(config, findings, figures)
    return [replace(each, text=of_configuration(each.text, file)) for each in findings.ordered()]


def check_design_space(config: Config, findings: Findings, figures: dict[str, Any]) -> None:
    """Check the parameters, draw the designs and settle some; tell the time of all designs."""
    if findings.attempt(_ABOUT, check_designs, config) is None:
        return
    try:
        drawn = draw_designs(config)
    except StageError as error:
        findings.error(_ABOUT, str(error))
        return
    lost = sum(drawn.dropped.values())
    reasons = "; ".join(f"{number} times {reason}" for reason, number in drawn.dropped.items())
    findings.note(
        _ABOUT,
        f"{lost} of {counted(drawn.drawn, 'drawn design')} infeasible"
        + f": {reasons}" * bool(lost),
    )
    tried = drawn.table[drawn.table["use"] == HELD_OUT].head(_TRIED)
    for values in values_of(config, tried).values():
        path, reason = settled_path(config, values)
        if path is None:
            told = ", ".join(f"{name} = {value:.4g}" for name, value in values.items())
            findings.warning(_ABOUT, f"the design with {told} does not settle: {reason}")
    _tell_time(config, findings, figures)


def _tell_time(config: Config, findings: Findings, figures: dict[str, Any]) -> None:
    """Tell the expected time of the run over all designs."""
    if "evaluation_s" not in figures:
        return
    space, workers = design_space_of(config), Execution.of(config.run).workers
    each = figures["evaluation_s"]
    seconds = sum(stage.expected(each, workers) for stage in stages_over_designs(config))
    count = space.designs + space.unseen + space.held_out
    if preparation_of(config) is not None:
        prepared = count * figures.get("preparation_s", 0.0) / workers
        seconds += prepared
        findings.note(
            _ABOUT,
            f"{counted(count, 'design')} are condensed, which takes about {rounded(prepared)}",
        )
    figures["run_s"] = seconds
    findings.note(
        _ABOUT,
        f"a run over {counted(count, 'design')} takes about {rounded(seconds)} with "
        f"{counted(workers, 'worker')}",
    )


def stages_over_designs(config: Config) -> list[Stage]:
    """Return the stages with their expected costs."""
    space = design_space_of(config)
    parts = len(config.knee.compartments)
    each = parts * space.poses
    per_load, steps = 6.0, config.surrogate.network.steps * config.surrogate.network.networks
    first = -(-space.designs // space.rounds)
    rounds = [
        stage
        for _ in range(space.rounds - 1)
        for stage in (
            Stage("c: first surrogates", seconds=30.0),
            Stage("d: predicted errors of designs", seconds=10.0),
            Stage("f: kept designs", first * each, per_load, 0.5 * first),
        )
    ]
    return [
        Stage("knee", seconds=2.0),
        Stage("a: designs", seconds=2.0),
        Stage("reference paths", seconds=2.0 * min(space.designs, 64)),
        Stage("b: first designs", first * each, per_load, 0.5 * first),
        *rounds,
        Stage("unseen designs", space.unseen * each // 2, per_load, 0.5 * space.unseen),
        Stage("held-out designs", space.held_out * each // 2, per_load, 0.5 * space.held_out),
        Stage("g: final surrogate", seconds=parts * 1.5e-3 * steps),
        Stage("g: domain", seconds=parts * 10.0),
        Stage("h: gait of unseen designs", seconds=3.0 * space.unseen),
        Stage("h: gait of held-out designs", seconds=3.0 * space.held_out),
    ]


class DesignsDocument(Computed):
    """Designs, counts, errors at held-out designs, and provenance of a run."""

    name: str
    date: str
    parameters: list[dict[str, Any]]
    constraints: list[str]
    drawn: int
    dropped: dict[str, int]
    counts: dict[str, int]
    path_errors: dict[str, float]
    family: str
    unseen: list[DesignOutcome]
    held_out: list[DesignOutcome]
    errors: dict[str, dict[str, float | None]]
    packages: dict[str, str]
    python: str
    workers: int
    seconds: dict[str, float]
    summary: list[str]


def summary_lines(document: DesignsDocument) -> list[str]:
    """Return the lines on the terminal."""
    counts, dropped = document.counts, sum(document.dropped.values())
    lines = [
        f"{counted(counts['designs'], 'design')} of {len(document.parameters)} parameters, "
        f"{counts['training']} training samples; {dropped} of {document.drawn} drawn designs "
        "infeasible",
    ]
    held = document.held_out
    lines.append(f"errors at {counted(len(held), 'held-out design')} (RMS, largest, accepted):")
    for name, (words, unit, _) in ERRORS.items():
        row = document.errors[name]
        if row["rms"] is not None:
            lines.append(
                f"  {words}: {row['rms']:.2g}, {row['largest']:.2g}, {row['accepted']:g} {unit}"
            )
    doubted = sum(bool(each.doubts) for each in held)
    if doubted:
        lines.append(
            f"{counted(doubted, 'held-out design')} with an expected error above twice this"
        )
    if failed := [reason for each in held for reason in each.failures.values()]:
        lines.append(f"{counted(len(failed), 'held-out design')} without a gait cycle: {failed[0]}")
    lines.append(f"{sum(document.seconds.values()):.0f} s")
    return lines


def live_designs(
    knee: ContactSurrogate, config: Config, designs: Mapping[str, Mapping[str, float]] | None = None
) -> dict[str, Any] | None:
    """Return the section "Move the knee" of a page over designs, which offers some by name."""

    def gait_of(single: ContactSurrogate) -> GaitSimulation:
        return GaitSimulation.of(config.simulation, single.spaces[0].path)

    return live_section(knee, gait_of, designs, errors_for_page(knee))


def write_designs_page(
    folder: Path, document: DesignsDocument, config: Config, knee: ContactSurrogate
) -> None:
    """Write `report.html` of a run over designs with a surrogate."""
    write_page(
        folder / "report.html",
        template="designs.html",
        run=document,
        errors=[
            {"label": words, "unit": unit, **document.errors[name]}
            for name, (words, unit, _) in ERRORS.items()
        ],
        designs=[(k, _row(each)) for k, each in enumerate(document.held_out, start=1)],
        columns=[
            "design",
            *(row["name"] for row in document.parameters),
            *(
                (f"error of\n{words} [{unit}]", name, 2)
                for name, (words, unit, _) in ERRORS.items()
            ),
            ("told by the surrogate", "told"),
        ],
        parameters=[(row["name"], row) for row in document.parameters],
        pictures=list(_parity(document)),
        live=live_designs(knee, config),
        config_text=dump_config(config),
    )


def _row(design: DesignOutcome) -> dict[str, Any]:
    """Return a row of the table of held-out designs."""
    told = [
        *design.doubts,
        *([f"{design.flagged} of {design.instants} instants flagged"] if design.flagged else []),
        *design.failures.values(),
    ]
    errors = dict.fromkeys(ERRORS) | design.errors
    return errors | design.values | {"told": "; ".join(told) or "nothing"}


def _parity(document: DesignsDocument) -> Iterator[Picture]:
    """Yield the key outputs of the surrogate over those of the original model."""
    cycles = [each.outputs for each in document.held_out if not each.failures]
    for name in KEY_OUTPUTS if cycles else ():
        truth, other = (np.array([c[m][name] for c in cycles]) for m in MODELS)
        text = f"{OUTPUTS[name].label} of held-out designs, surrogate over original"
        found = {"designs": truth}, {"designs": other}
        yield parity_chart(f"parity-{name}", text, *found, OUTPUTS[name].axis)


def _domain(
    config: Config, part: CompartmentSurrogate, designs: pd.DataFrame, rows: pd.DataFrame
) -> Domain:
    """Return where a compartment can be trusted, from its samples of designs that no fit learns."""
    z = scaled_designs(config, designs.set_index("design").loc[rows["design"]])
    return learn_domain(OverDesigns(part, z), rows, config.feasibility)


def judged_designs(
    run: Run, knee: ContactSurrogate, designs: pd.DataFrame, samples: pd.DataFrame, use: str
) -> list[DesignOutcome]:
    """Return the errors of the surrogate at designs of a use, in samples and gait cycles."""
    config, values = run.config, values_of(run.config, designs[designs["use"] == use])
    jobs = [(config, knee, own, BOTH, number) for number, own in values.items()]
    found = []
    for outcome in run.execution.map(outcome_of, jobs):
        rows = samples[samples["design"] == outcome.design]
        measured = sample_errors(config, knee.at(outcome.values), rows, SPREADS[use])
        errors = {k: size for k, size in (measured | outcome.errors).items() if np.isfinite(size)}
        found.append(outcome.model_copy(update={"errors": errors}))
    return found


def with_expected_errors(
    run: Run, knee: ContactSurrogate, designs: pd.DataFrame, samples: pd.DataFrame
) -> tuple[ContactSurrogate, list[DesignOutcome]]:
    """Return the surrogate with expected errors and contact patches, and the unseen designs."""
    judged = judged_designs(run, knee, designs, samples, UNSEEN)
    z = scaled_designs(run.config, designs[designs["use"] == UNSEEN])
    header: dict[str, Any] = dict(knee.header)
    if judged:
        errors = [_without_flagged_gait(each) for each in judged]
        header |= fitted_errors(knee, [each.values for each in judged], errors)
    patches = {k: each.patch for k, each in enumerate(judged) if not each.failures}
    if patches:
        header |= fitted_patch(z[list(patches)], np.array(list(patches.values())))
    return replace(knee, header=header), judged


def _without_flagged_gait(judged: DesignOutcome) -> dict[str, float]:
    """Return the errors of a design, without those of a gait cycle that is flagged anyway."""
    return {k: v for k, v in judged.errors.items() if not judged.flagged or k in OF_SAMPLES}


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
        designs = run.table("designs", lambda: drawn.table)
    with run.timed("reference paths"):
        paths = design_paths(run, designs)
        space = parametric_space(config, designs, paths)
        run.stages.per_evaluation = seconds_per_evaluation(base.quick, space.path)
    training, evaluated = sample_designs(run, designs, space)
    with run.timed("unseen designs"):
        unseen = unlearnt_samples(run, designs, space, UNSEEN)
    with run.timed("held-out designs"):
        held_out = unlearnt_samples(run, designs, space, HELD_OUT)
    with run.timed("g: final surrogate"):
        knee = fit_designs(config, designs, training, space, run.execution)
    with run.timed("g: domain"):
        parts = knee.by_name.items()
        jobs = [(config, part, designs, usable(unseen, name)) for name, part in parts]
        knee = knee.with_domains(run.execution.map(_domain, jobs))
    with run.timed("h: gait of unseen designs"):
        knee, judged_unseen = with_expected_errors(run, knee, designs, unseen)
    with run.timed("h: gait of held-out designs"):
        judged = judged_designs(run, knee, designs, held_out, HELD_OUT)
    tables = {"training": training, "unseen": unseen, "held_out": held_out}
    knee = _with_header(run, knee, tables, judged)
    run.save(knee)
    away = path_errors(config, designs, paths, space)
    document = _document(run, drawn, evaluated, away, knee, judged_unseen, judged)
    run.write_json("designs.json", document)
    write_designs_page(run.folder, document, config, knee)
    return document


def _with_header(
    run: Run,
    knee: ContactSurrogate,
    tables: dict[str, pd.DataFrame],
    judged: list[DesignOutcome],
) -> ContactSurrogate:
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
    knee: ContactSurrogate,
    unseen: list[DesignOutcome],
    judged: list[DesignOutcome],
) -> DesignsDocument:
    config = run.config
    document = DesignsDocument(
        **run.provenance,
        parameters=knee.parameters.to_header(),
        constraints=list(design_space_of(config).constraints),
        drawn=drawn.drawn,
        dropped=drawn.dropped,
        counts=counts_of(evaluated, config),
        path_errors=away,
        family=str(knee.header["family"]),
        unseen=unseen,
        held_out=judged,
        errors=worst([each.errors for each in judged]),
        summary=[],
    )
    return document.model_copy(update={"summary": summary_lines(document)})
