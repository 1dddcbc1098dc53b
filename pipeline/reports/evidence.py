"""Figures of a run that its verdict is made of, and the errors of its surrogate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foundation.base.loads import COMPARTMENTS
from pipeline.advice import FOLDER, command_line
from pipeline.originals.layer_checks import TRIANGLES_ACROSS
from pipeline.reports.accuracy import worst_load
from pipeline.reports.gait_section import Gait
from pipeline.reports.inputs import RunFiles
from pipeline.reports.model_section import (
    layer_of_run,
    model_of,
)
from pipeline.reports.units import largest, percent
from pipeline.reports.verdict import Evidence
from pipeline.store.quantities import FOR_WEAR, quantity_of
from pipeline.store.run_documents import FromTable, OwnError, Verdict

#: End of the columns of peak pressures, and the unit of wear.
_PRESSURE, _WEAR_UNIT = "_peak_pressure_Pa", "mm³ per million cycles"


def evidence_of(files: RunFiles, gait: Gait, domain: dict[str, Any] | None = None) -> Evidence:
    """Return the figures that the verdict is made of."""
    differences, varied = gait.rms_over_range_percent, gait.combinations
    contact = files.config["contact"]
    return Evidence(
        differences=differences,
        peak_difference_percent=_peak_difference(files) if differences else None,
        held_out_percent=worst_load(files.validation.figures).displayed["value"],
        resolution={} if files.simulation is None else files.simulation.resolution,
        least_across=TRIANGLES_ACROSS[contact["surface"]],
        flagged=sum(flag["model"] == "surrogate" for flag in gait.flags),
        failed=0 if varied is None else len(varied["failures"]),
        combinations=0 if varied is None else varied["total"],
        node_spacing=gait.node_spacing,
        spacing_key=f"contact.{model_of(contact)}.node_spacing_mm",
        simulated=bool(gait.models),
        flagged_percent=_flagged_percent(domain),
        layer=layer_of_run(files),
        table=files.run.original.file if isinstance(files.run.original, FromTable) else "",
        has_wear=not FOR_WEAR.intersection(files.run.not_given),
        implant_edge_mm=_implant_edge(files),
    )


def _implant_edge(files: RunFiles) -> float | None:
    """Return the edges of the triangles of the built-in insert [mm], None for other meshes."""
    knee = files.config["knee"]
    if isinstance(files.run.original, FromTable) or knee["source"] != "builtin":
        return None
    return float(knee["implant"]["edge_mm"])


def _flagged_percent(domain: dict[str, Any] | None) -> float | None:
    """Return the part of the feasible held-out poses with a flag, of the worse compartment [%]."""
    rows = [] if domain is None else domain["compartments"].values()
    shares = [percent(row["feasible_flagged"], row["feasible"]) for row in rows]
    return max((share for share in shares if share is not None), default=None)


def own_errors(files: RunFiles, gait: Gait, judged: Verdict) -> list[OwnError]:
    """Return the error of the surrogate in each quantity of the simulated cycle."""
    if files.simulation is None:
        return []
    figures = {part.what: part.figure_percent for part in judged.parts}
    errors = [
        OwnError(column=column, quantity=q.label, unit=unit, error_percent=figures["peak pressure"])
        if column.endswith(_PRESSURE)
        else OwnError.absolute(column, q.label, unit, q.factor * row.rms)
        for column, row in files.simulation.differences.items()
        for q in (quantity_of(column),)
        for unit in (q.unit_for_people.replace("°", "deg"),)
    ]
    if gait.wear is not None:
        apart = gait.wear["per_million_cycles"]["difference"]
        for name in (*COMPARTMENTS, "total"):
            off = apart[f"{name}_percent"]
            errors.append(
                OwnError(
                    column=f"{name}_wear",
                    quantity=f"{name} wear",
                    unit=_WEAR_UNIT,
                    error_percent=None if off is None else abs(off),
                )
            )
    return errors


def _peak_difference(files: RunFiles) -> float | None:
    """Return the difference of the highest pressures of both cycles, worse compartment [%]."""
    peaks = [
        [float(cycle[f"{name}_peak_pressure_Pa"].max()) for cycle in files.cycles.values()]
        for name in COMPARTMENTS
    ]
    return largest(percent(abs(other - truth), truth) or 0.0 for truth, other in peaks)


def more_samples(design: Mapping[str, Any]) -> str:
    """Return the command that makes the run with twice the samples, in its folder with a budget."""
    keys = [key for key in ("candidates", "budget") if design[key]]
    if design["budget"] and 2 * design["budget"] <= design["candidates"]:
        keys = ["budget"]
    pairs = [word for key in keys for word in ("--set", f"design.{key}={2 * design[key]}")]
    place = (FOLDER, "--resume") if keys == ["budget"] else (f"{FOLDER}-more",)
    return command_line("run", f"{FOLDER}/config.toml", "--out", *place, *pairs)
