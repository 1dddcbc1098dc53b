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
from matplotlib.figure import Figure

from foundation.base.threads import one_thread
from foundation.base.wording import counted
from pipeline.config.reading import check_designs, design_space_of, dump_config
from pipeline.config.schema import Config
from pipeline.design_space.checkup import stages_over_designs
from pipeline.design_space.design_contact import cycle_document, fitted_patch
from pipeline.design_space.errors import (
    TOLD,
    doubts,
    errors_for_page,
    expected_errors,
    fitted_errors,
    sample_errors,
    worst,
)
from pipeline.design_space.sampling import (
    HELD_OUT,
    SPREADS,
    UNSEEN,
    Drawn,
    counts_of,
    design_paths,
    draw_designs,
    fit_designs,
    parametric_space,
    path_errors,
    sample_designs,
    scaled_designs,
    unlearnt_samples,
    values_of,
)
from pipeline.originals.contact_original import build_knee
from pipeline.preparation.expected_time import seconds_per_evaluation
from pipeline.progress import StageCounter
from pipeline.reports import figures as fig
from pipeline.reports.charts import parity_chart
from pipeline.reports.figures import Picture, picture
from pipeline.reports.live_knee import live_section
from pipeline.reports.pages import write_page
from pipeline.simulation import GaitSimulation
from pipeline.stages.assessment import learn_domain
from pipeline.stages.model_cycles import KEY_OUTPUTS, OUTPUTS
from pipeline.stages.run_folder import Run
from pipeline.store.job import configuration_digest
from pipeline.store.run_documents import Computed
from pipeline.store.samples import digest, usable
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.design_fit import OverDesigns
from surrogates.formulations.domain import Domain


class JudgedDesign(Computed):
    """A design with known errors, the gait `cycle` of both models, and expected errors."""

    design: int
    values: dict[str, float]
    errors: dict[str, float]
    cycle: dict[str, Any]
    expected: dict[str, float]
    doubts: list[str]


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
    unseen: list[JudgedDesign]
    held_out: list[JudgedDesign]
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
    for name, (words, unit) in TOLD.items():
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
    if failed := [each.cycle["reason"] for each in held if each.cycle["reason"]]:
        lines.append(f"{counted(len(failed), 'held-out design')} without a gait cycle: {failed[0]}")
    lines.append(f"{sum(document.seconds.values()):.0f} s")
    return lines


#: Heights of pictures with a row for each error [inch]: least, and for each row.
_BASE, _ROW = 1.1, 0.3


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
            for name, (words, unit) in TOLD.items()
        ],
        designs=[(k, _row(each)) for k, each in enumerate(document.held_out, start=1)],
        columns=[
            "design",
            *(row["name"] for row in document.parameters),
            *((f"error of\n{words} [{unit}]", name, 2) for name, (words, unit) in TOLD.items()),
            ("told by the surrogate", "told"),
        ],
        parameters=[(row["name"], row) for row in document.parameters],
        pictures={
            "errors": [_error_picture("errors at held-out designs", document)],
            "outputs": list(_parity(document)),
        },
        live=live_designs(knee, config),
        config_text=dump_config(config),
    )


def _row(design: JudgedDesign) -> dict[str, Any]:
    """Return a row of the table of held-out designs."""
    cycle = design.cycle
    flagged = cycle.get("flagged", 0)
    told = [
        *design.doubts,
        *([f"{flagged} of {cycle['instants']} instants flagged"] if flagged else []),
        *([cycle["reason"]] if cycle["reason"] else []),
    ]
    errors = dict.fromkeys(TOLD) | design.errors
    return errors | design.values | {"told": "; ".join(told) or "nothing"}


@picture("svg")
def _error_picture(document: DesignsDocument) -> Figure:
    """Draw every error of every held-out design over what is accepted, on a logarithmic axis."""
    rows = list(TOLD)
    figure, axes = fig.panel((4.6, _BASE + _ROW * len(rows)), x="error over accepted error")
    for place, name in enumerate(rows):
        sizes = np.array([each.errors.get(name, np.nan) for each in document.held_out])
        accepted = document.errors[name]["accepted"] or 1.0
        axes.plot(
            np.maximum(sizes / accepted, 1e-3), np.full(len(sizes), place), "o",
            color=fig.BLUE, alpha=0.5, ms=5.0, label="a design" if place == 0 else None,
        )  # fmt: skip
        rms = document.errors[name]["rms"]
        if rms is not None:
            label = "RMS" if place == 0 else None
            axes.plot(rms / accepted, place, "D", color=fig.VERMILLION, ms=6.0, label=label)
    axes.axvline(1.0, color=fig.INK, lw=1.2, ls=fig.DASHES, label="accepted")
    axes.set_xscale("log")
    axes.set_yticks(np.arange(len(rows)), [TOLD[name][0] for name in rows])
    axes.invert_yaxis()
    fig.legend_above(axes, 3)
    return figure


def _parity(document: DesignsDocument) -> Iterator[Picture]:
    """Yield the key outputs of the surrogate over those of the original model."""
    cycles = [each.cycle for each in document.held_out if not each.cycle["reason"]]
    for name in KEY_OUTPUTS if cycles else ():
        truth, other = (np.array([c[m][name] for c in cycles]) for m in ("original", "surrogate"))
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
) -> list[JudgedDesign]:
    """Return the errors of the surrogate at designs of a use, in samples and gait cycles."""
    config, values = run.config, values_of(run.config, designs[designs["use"] == use])
    jobs = [(config, knee, each) for each in values.values()]
    cycles, found = run.execution.map(cycle_document, jobs), []
    for (number, own), cycle in zip(values.items(), cycles, strict=True):
        rows = samples[samples["design"] == number]
        errors = sample_errors(config, knee.at(own), rows, SPREADS[use]) | cycle.get("errors", {})
        errors = {name: size for name, size in errors.items() if np.isfinite(size)}
        expected = expected_errors(knee, own)
        found.append(
            JudgedDesign(
                design=number,
                values=own,
                errors=errors,
                cycle=cycle,
                expected=expected,
                doubts=doubts(expected),
            )
        )
    return found


def with_expected_errors(
    run: Run, knee: ContactSurrogate, designs: pd.DataFrame, samples: pd.DataFrame
) -> tuple[ContactSurrogate, list[JudgedDesign]]:
    """Return the surrogate with expected errors and contact patches, and the unseen designs."""
    judged = judged_designs(run, knee, designs, samples, UNSEEN)
    z = scaled_designs(run.config, designs[designs["use"] == UNSEEN])
    header: dict[str, Any] = dict(knee.header)
    if judged:
        errors = [_without_flagged_gait(each) for each in judged]
        header |= fitted_errors(knee, [each.values for each in judged], errors)
    patches = {k: each.cycle["patch"] for k, each in enumerate(judged) if "patch" in each.cycle}
    if patches:
        header |= fitted_patch(z[list(patches)], np.array(list(patches.values())))
    return replace(knee, header=header), judged


def _without_flagged_gait(judged: JudgedDesign) -> dict[str, float]:
    """Return the errors of a design, without those of a gait cycle that is flagged anyway."""
    if not judged.cycle.get("flagged", 0):
        return judged.errors
    of_gait = judged.cycle["errors"]
    return {name: size for name, size in judged.errors.items() if name not in of_gait}


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
    judged: list[JudgedDesign],
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
    unseen: list[JudgedDesign],
    judged: list[JudgedDesign],
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
