"""Search of designs: from the configuration to front, verified designs, files and page."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from foundation.base.wording import counted
from pipeline.design_space.errors import expected_errors
from pipeline.execution import Execution
from pipeline.progress import bar, say
from pipeline.store.job import Job, JobKind
from pipeline.store.sample_store import SAMPLE_FILES
from pipeline.store.samples import FAILED, OK, write_table
from pipeline.studies.conduct import Outcome, Study, Table
from pipeline.studies.optimisation.designs import INFEASIBLE, Designs
from pipeline.studies.optimisation.document import (
    ChosenDesign,
    ObjectiveFound,
    OptimisationDocument,
    optimisation_page,
    summary_lines,
)
from pipeline.studies.optimisation.schema import (
    DESIGN_OUTPUTS,
    OptimisationConfig,
    OptimisationFile,
    doubts_of,
)
from pipeline.studies.optimisation.search import (
    BASE,
    Front,
    Pick,
    SearchSetup,
    front_of,
    front_table,
    picked,
    refine_front,
    require_pymoo,
    search,
    write_designs,
)

#: A row of a table of designs, by column.
Row = Mapping[Hashable, Any]


def verified(
    setup: SearchSetup, designs: pd.DataFrame, picks: Sequence[Pick], job: Job, execution: Execution
) -> list[ChosenDesign]:
    """Return the chosen designs, simulated again with the original model if asked to."""
    names = list(setup.problem.parameters.names)
    table = designs.loc[[pick.design for pick in picks]]
    rows = table.to_dict("records")
    originals: Sequence[Row | None] = [None] * len(rows)
    if setup.problem.settings.verify:
        by_original = Designs(replace(setup.task, model="original"), job.folder, execution)
        with bar(len(rows), "design", "original model") as shown:
            simulated = by_original.evaluate(table[names].to_numpy(dtype=float), 0, shown)
        originals = simulated.to_dict("records")
    found: list[ChosenDesign] = []
    for pick, row, original in zip(picks, rows, originals, strict=True):
        base = found[0] if found and found[0].name == BASE else None
        found.append(_chosen(setup, pick, row, original, base))
    return found


def _chosen(
    setup: SearchSetup, pick: Pick, row: Row, simulated: Row | None, base: ChosenDesign | None
) -> ChosenDesign:
    """Return a chosen design; `base` is the base design, None if there is none or for itself."""
    outputs = setup.problem.settings.outputs
    values = _numbers(row, setup.problem.parameters.names)
    surrogate, original, reason = _numbers(row, DESIGN_OUTPUTS), None, ""
    if simulated is not None:
        reason = str(simulated["reason"])
        original = _numbers(simulated, DESIGN_OUTPUTS) if simulated["status"] == OK else None
    expected = expected_errors(setup.run.knee, values)
    against = None
    if base is not None:
        changes = {
            "surrogate": _changes(outputs, surrogate, base.surrogate),
            "original": _changes(outputs, original or {}, base.original or {}),
        }
        against = {
            name: {model: own.get(name) for model, own in changes.items()} for name in outputs
        }
    return ChosenDesign(
        **pick._asdict(),
        values=values,
        surrogate=surrogate,
        expected=expected,
        doubts=doubts_of(outputs, expected),
        flagged_instants=int(row["flagged_instants"]),
        reason=reason,
        original=original,
        differences=None if original is None else _changes(outputs, surrogate, original),
        against_base=against,
    )


def _numbers(row: Row, columns: Iterable[str]) -> dict[str, float]:
    return {name: float(row[name]) for name in columns}


def _changes(
    columns: Iterable[str], values: Mapping[str, float], of: Mapping[str, float]
) -> dict[str, float]:
    """Return by how much values differ from others [%], by column; without those that are 0."""
    known = [name for name in columns if of.get(name) and name in values]
    return {name: 100.0 * (values[name] / of[name] - 1.0) for name in known}


def broken_limits(settings: OptimisationConfig, chosen: Iterable[ChosenDesign]) -> list[str]:
    """Return in words which limits chosen designs break by the original model."""
    return [
        f"{each.name} breaks a limit by the original model: {DESIGN_OUTPUTS[output].label} of "
        f"{each.original[output]:.4g} {DESIGN_OUTPUTS[output].unit} "
        f"(at {'most' if sign > 0.0 else 'least'} {value:g})"
        for each in chosen
        for output, value, sign in settings.bounds
        if each.name != BASE
        and each.original is not None
        and sign * (each.original[output] - value) > 0.0
    ]


def _prepare(file: OptimisationFile, _: Job) -> SearchSetup:
    """Return a search, checked; raises `InputError` if pymoo is missing."""
    require_pymoo()
    return SearchSetup.of(file)


def _carry_out(setup: SearchSetup, job: Job) -> Outcome:
    """Search the designs of a run; raises `StageError` if no feasible design keeps the limits."""
    problem, settings = setup.problem, setup.problem.settings
    execution = Execution.of(settings)
    evaluated = Designs(setup.task, job.folder, execution)
    size = counted(len(setup.first), "design")
    say(f"{settings.name}: {counted(settings.generations, 'generation')} of {size}")
    search(problem, evaluated, setup.first)
    refined = refine_front(setup, evaluated, execution)
    designs = evaluated.table
    front = front_of(problem, designs)
    picks = picked(problem, designs, front, setup.base_of(designs))
    chosen = verified(setup, designs, picks, job, execution)
    table = front_table(setup, designs, front, picks)
    write_table(designs, job.folder / "evaluated.parquet")
    write_table(table, job.folder / "front.parquet")
    write_designs(job.folder, setup.run, settings.name, designs, picks)
    document = OptimisationDocument(
        name=settings.name,
        run=settings.run,
        parameters=list(problem.parameters.names),
        objectives=_objectives(settings, front),
        outputs=list(settings.outputs),
        counts=_counts(setup, designs, front),
        base_reason=setup.base_reason,
        refined=refined,
        chosen=chosen,
        broken=broken_limits(settings, chosen),
        seconds=job.seconds,
    )
    return Outcome(
        document,
        summary_lines(document),
        page=optimisation_page(document, table, setup.run),
        tables={"front.csv": Table(table)},
    )


def _objectives(settings: OptimisationConfig, front: Front) -> list[ObjectiveFound]:
    found = []
    for each, values in zip(settings.objective, front.objectives.T, strict=True):
        ends = sorted(each.sign * np.array([values.min(), values.max()]))
        words = {"label": DESIGN_OUTPUTS[each.output].label, "goal": each.goal}
        words["unit"] = DESIGN_OUTPUTS[each.output].unit
        found.append(ObjectiveFound(column=each.output, least=ends[0], largest=ends[1], **words))
    return found


def _counts(setup: SearchSetup, designs: pd.DataFrame, front: Front) -> dict[str, int]:
    status = designs["status"]
    beyond = (status == OK).to_numpy() & ~setup.problem.allowed(designs)
    return {
        "evaluated": len(designs),
        "infeasible": int((status == INFEASIBLE).sum()),
        "failed": int((status == FAILED).sum()),
        "beyond_limits": int(beyond.sum()),
        "front": len(front.places),
    }


OPTIMISATION_STUDY = Study(
    # The designs of more generations begin with those of fewer ones; the rest is made of them.
    JobKind(
        "search of designs",
        "optimisation",
        free=("optimisation.generations", "optimisation.chosen", "optimisation.verify"),
    ),
    OptimisationFile,
    "optimisation.json",
    "optimisation.html",
    _prepare,
    _carry_out,
    files=("evaluated.parquet", "front.parquet", "front.csv", "designs"),
    kept=SAMPLE_FILES,
)
