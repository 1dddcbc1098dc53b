"""A run over the designs of a design space: stages, validation, files and report."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from dataclasses import replace
from dataclasses import replace as replaced
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

import surrogates
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import AXIAL_FORCE
from foundation.base.pose import Pose
from foundation.base.threads import one_thread
from foundation.base.wording import counted
from pipeline.config.reading import check_designs, design_space_of, dump_config
from pipeline.config.schema import Config
from pipeline.design_space.checkup import stages_over_designs
from pipeline.design_space.design_contact import cycle_document, design_knee, fitted_patch
from pipeline.design_space.errors import (
    TOLD,
    doubts,
    expected_errors,
    feasible_samples,
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
from pipeline.files import writing
from pipeline.originals.contact_original import build_knee
from pipeline.preparation.expected_time import seconds_per_evaluation
from pipeline.progress import StageCounter
from pipeline.reports import figures as fig
from pipeline.reports.accuracy import parity_panel
from pipeline.reports.figures import Picture, picture
from pipeline.reports.pages import write_page
from pipeline.stages.assessment import limits_of
from pipeline.stages.fitting import infeasibility
from pipeline.stages.model_cycles import KEY_OUTPUTS, OUTPUTS
from pipeline.stages.run_folder import Run
from pipeline.store.job import configuration_digest
from pipeline.store.run_documents import Computed
from pipeline.store.samples import digest, loads_of, poses_of, usable
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.design_fit import fit_parametric_domain
from surrogates.formulations.domain_fit import DomainSamples


class DesignsDocument(Computed):
    """Designs, counts, errors at held-out designs and of derivatives, and provenance of a run."""

    name: str
    date: str
    parameters: list[dict[str, Any]]
    constraints: list[str]
    drawn: int
    dropped: dict[str, int]
    counts: dict[str, int]
    path_errors: dict[str, float]
    family: str
    unseen: list[dict[str, Any]]
    held_out: list[dict[str, Any]]
    errors: dict[str, dict[str, float | None]]
    derivatives: dict[str, dict[str, float]] = Field(default_factory=dict)
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
    if document.derivatives:
        told = [f"{name} {row['percent']:.2g} %" for name, row in document.derivatives.items()]
        lines.append(
            "error of the derivative of the axial force at a pose, RMS over its own RMS: "
            + ", ".join(told)
        )
    doubted = sum(bool(each["doubts"]) for each in held)
    if doubted:
        lines.append(
            f"{counted(doubted, 'held-out design')} with an expected error above twice this"
        )
    failed = [each for each in held if each["cycle"]["reason"]]
    if failed:
        told = failed[0]["cycle"]["reason"]
        lines.append(f"{counted(len(failed), 'held-out design')} without a gait cycle: {told}")
    lines.append(f"{sum(document.seconds.values()):.0f} s")
    return lines


#: Heights of pictures with a row for each error [inch]: least, and for each row.
_BASE, _ROW = 1.1, 0.3


def write_designs_page(folder: Path, document: DesignsDocument, config: str) -> None:
    """Write `report.html` of a run over designs; `config` is the resolved study as TOML."""
    write_page(
        folder / "report.html",
        template="designs.html",
        run=document,
        errors=[
            {"label": words, "unit": unit, **document.errors[name]}
            for name, (words, unit) in TOLD.items()
        ],
        designs=[_row(each) for each in document.held_out],
        names=[row["name"] for row in document.parameters],
        shown=TOLD,
        pictures={
            "errors": [_error_picture("errors at held-out designs", document)],
            "outputs": list(_parity(document)),
        },
        config_text=config,
    )


def _row(design: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the table of held-out designs."""
    cycle = design["cycle"]
    flagged = cycle.get("flagged", 0)
    return {
        "design": design["design"],
        "values": design["values"],
        "errors": design["errors"],
        "told": [
            *design["doubts"],
            *([f"{flagged} of {cycle['instants']} instants flagged"] if flagged else []),
            *([cycle["reason"]] if cycle["reason"] else []),
        ],
    }


@picture("svg")
def _error_picture(document: DesignsDocument) -> Figure:
    """Draw every error of every held-out design over what is accepted, on a logarithmic axis."""
    rows = list(TOLD)
    figure, axes = fig.panel((4.6, _BASE + _ROW * len(rows)), x="error over accepted error")
    for place, name in enumerate(rows):
        sizes = np.array([each["errors"].get(name, np.nan) for each in document.held_out])
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
    cycles = [each["cycle"] for each in document.held_out if not each["cycle"]["reason"]]
    for name in KEY_OUTPUTS if cycles else ():
        truth, other = (np.array([c[m][name] for c in cycles]) for m in ("original", "surrogate"))
        text = f"{OUTPUTS[name].label} of held-out designs, surrogate over original"
        yield parity_panel(text, {"designs": truth}, {"designs": other}, OUTPUTS[name].axis)


class JudgedDesign(NamedTuple):
    """A design with measured errors and gait `cycle` of both models, and expected errors."""

    design: int
    values: dict[str, float]
    errors: dict[str, float]
    cycle: dict[str, Any]
    expected: dict[str, float]
    doubts: list[str]


def with_domains(
    run: Run, knee: ContactSurrogate, designs: pd.DataFrame, unseen: pd.DataFrame
) -> ContactSurrogate:
    """Return the surrogate with its trained domain, from samples of unseen designs."""
    jobs = [
        (run.config, part, designs, usable(unseen, name)) for name, part in knee.by_name.items()
    ]
    parts = run.execution.map(_domain, jobs)
    return replace(knee, by_name=dict(zip(knee.compartments, parts, strict=True)))


def _domain(
    config: Config, part: CompartmentSurrogate, designs: pd.DataFrame, rows: pd.DataFrame
) -> CompartmentSurrogate:
    limits, bounds = limits_of(config.feasibility), config.feasibility
    z = scaled_designs(config, designs.set_index("design").loc[rows["design"]])
    loads = loads_of(rows)
    feasible = infeasibility(loads, bounds, 0.0) == ""
    samples = DomainSamples(poses_of(rows), loads, feasible)
    return fit_parametric_domain(part, z, samples, limits, bounds.margin)


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
        expected = expected_errors(knee, own)
        found.append(JudgedDesign(number, own, errors, cycle, expected, doubts(expected)))
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


#: Held-out designs, and samples of each compartment within a design.
_DESIGNS, _SAMPLES = 4, 20
#: Step of the central differences, over the range of a parameter.
_STEP = 0.02


def derivative_errors(
    run: Run, knee: ContactSurrogate, designs: pd.DataFrame, samples: pd.DataFrame
) -> dict[str, dict[str, float]]:
    """Return by parameter how far d(axial force)/d(parameter) at a pose is off, RMS [N per unit].

    "percent" is the error over the size of the derivative of the original model.
    """
    names = list(knee.parameters.names)
    widths = knee.parameters.high - knee.parameters.low
    found, jobs = list[FloatArray](), []
    for _, row in designs[designs["use"] == HELD_OUT].head(_DESIGNS).iterrows():
        values = row[names].to_numpy(float)
        own = samples[samples["design"] == row["design"]]
        poses = {
            part: feasible_samples(run.config, own, part)[0][:_SAMPLES]
            for part in knee.compartments
        }
        slopes = [
            knee.loads_and_slopes(at, values)[1][:, k, AXIAL_FORCE]
            for k, at in enumerate(poses.values())
        ]
        found += list(np.concatenate(slopes).T)  # (N,) of each parameter
        for step in np.diag(_STEP * widths):
            ends = [knee.parameters.named(values + sign * step) for sign in (1.0, -1.0)]
            jobs.append((run.config, *ends, poses))
    changes = run.execution.map(_change, jobs)
    errors = {}
    for p, name in enumerate(names):
        every = slice(p, None, len(names))
        truth = np.concatenate([[], *changes[every]]) / (2.0 * _STEP * widths[p])
        miss = np.concatenate([[], *found[every]]) - truth
        known = np.isfinite(truth)
        if known.any():
            size, error = (float(np.sqrt(np.mean(x[known] ** 2))) for x in (truth, miss))
            errors[name] = {"error": error, "size": size, "percent": 100.0 * error / (size or 1.0)}
    return errors


def _change(
    config: Config,
    above: Mapping[str, float],
    below: Mapping[str, float],
    poses: Mapping[str, FloatArray],
) -> FloatArray:
    """Return by how much axial forces [N] of two designs differ at poses (N, 6); NaN if unknown."""
    forces = []
    for values in (above, below):
        try:
            model = design_knee(config, values).model
        except InputError:
            return np.full(sum(map(len, poses.values())), np.nan)
        loads = [
            model.compartment_loads(Pose.from_array(pose), part)[0][AXIAL_FORCE]
            for part, at in poses.items()
            for pose in at
        ]
        forces.append(np.array(loads))
    return np.asarray(forces[0] - forces[1])


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
        surrogates.save(knee, run.folder / "knee.npz")
    away = path_errors(config, designs, paths, space)
    document = _document(run, drawn, sampled.evaluated, away, knee, judged_unseen, judged, slopes)
    run.write_json("designs.json", document)
    write_designs_page(run.folder, document, dump_config(config))
    (run.folder / "times.json").unlink()
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
