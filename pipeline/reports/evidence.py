"""Figures of a run that its verdict is made of, and what its loads are uncertain by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from foundation.base.loads import COMPARTMENTS
from pipeline.advice import FOLDER, command_line
from pipeline.originals.layer_checks import TRIANGLES_ACROSS
from pipeline.reports.accuracy import worst_load
from pipeline.reports.contact_figures import words_of
from pipeline.reports.gait_section import Gait
from pipeline.reports.inputs import RunFiles
from pipeline.reports.model_section import (
    element_keys,
    is_layer,
    layer_keys,
    layer_of_run,
    mesh_resolution,
    strain_words,
)
from pipeline.reports.units import largest, number, percent
from pipeline.reports.verdict import JUDGED, Evidence
from pipeline.store.quantities import FOR_WEAR, quantity_of
from pipeline.store.run_documents import FromTable, OwnError, Part, Verdict

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
        resolution=mesh_resolution(files),
        least_across=TRIANGLES_ACROSS[contact["surface"]],
        flagged=sum(flag["model"] == "surrogate" for flag in gait.flags),
        failed=0 if varied is None else len(varied["failures"]),
        combinations=0 if varied is None else len(varied["rows"]),
        node_spacing=gait.node_spacing,
        spacing_key=words_of(contact).spacing_key,
        simulated=bool(gait.models),
        flagged_percent=_flagged_percent(domain),
        layer=layer_of_run(files),
        coupled_keys=tuple(layer_keys(contact)),
        element_keys=tuple(element_keys(contact)),
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
    parts = [] if domain is None else domain["compartments"].values()
    shares = [percent(part["feasible_flagged"], part["feasible"]) for part in parts]
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


class BudgetRow(Part):
    """A source of error and its part in the loads and in the peak pressure [%]."""

    source: str
    words: str
    loads_percent: float | None = None
    peak_pressure_percent: float | None = None
    #: Whether the error is that of the largest peak pressure, positive for too much.
    signed: bool = False


def error_budget(evidence: Evidence) -> list[BudgetRow]:
    """Return the sources of error that are known of a run: surrogate, model, mesh and nodes."""
    rows = chain(
        _surrogate(evidence),
        _model(evidence.layer),
        _mesh(evidence),
        _nodes(evidence),
        _strain(evidence.layer),
    )
    return [row.whole() for row in rows]


def _surrogate(evidence: Evidence) -> Iterator[BudgetRow]:
    known = {name: share for name, share in evidence.differences.items() if share is not None}
    if not known:
        words = "surrogate against the contact model: worst load at unseen poses"
        yield BudgetRow(source="surrogate", words=words, loads_percent=evidence.held_out_percent)
        return
    pressures = [share for name, share in known.items() if name.endswith("_peak_pressure_Pa")]
    yield BudgetRow(
        source="surrogate",
        words="surrogate against the contact model over the gait cycle, RMS over range",
        loads_percent=max((known[name] for name in JUDGED if name in known), default=None),
        peak_pressure_percent=largest([*pressures, evidence.peak_difference_percent or 0.0]),
    )


def _model(layer: Mapping[str, Any] | None) -> Iterator[BudgetRow]:
    if layer is None:
        return
    if not layer["compartments"]:
        yield BudgetRow(
            source="layer model",
            words=f"not compared with the elastic layer: {layer['reason']}",
            loads_percent=0.0 if is_layer(layer) else None,
            peak_pressure_percent=0.0 if is_layer(layer) else layer["known_error_percent"],
        )
        return
    for name, part in layer["compartments"].items():
        yield BudgetRow(
            source=f"layer model, {name}",
            words=f"{layer['model']} against the elastic layer ({layer['reference']}) at equal "
            "load; the peak of the layer is uncertain by "
            f"±{number(part['uncertainty_percent'], 2)} %; of the loads, the stiffness",
            loads_percent=part["at_peak"]["stiffness_percent"],
            peak_pressure_percent=part["at_peak"]["peak_pressure_percent"],
            signed=True,
        )


def _mesh(evidence: Evidence) -> Iterator[BudgetRow]:
    for name, mesh in evidence.resolution.items():
        yield BudgetRow(
            source=f"mesh, {name}",
            words="jumps of the pressure from triangle to triangle, RMS over the peak",
            peak_pressure_percent=mesh.roughness_percent,
        )


def _nodes(evidence: Evidence) -> Iterator[BudgetRow]:
    if (nodes := evidence.node_spacing) is None:
        return
    errors = nodes["errors"]
    yield BudgetRow(
        source="node spacing",
        words=f"nodes {nodes['spacing_mm']:g} mm apart, at a given pose, RMS over the largest",
        loads_percent=None if errors is None else errors["force_percent"],
        peak_pressure_percent=None if errors is None else errors["peak_pressure_percent"],
    )


def _strain(layer: Mapping[str, Any] | None) -> Iterator[BudgetRow]:
    if layer is None or (strain := layer["large_strain"]) is None:
        return
    yield BudgetRow(
        source="linear elasticity",
        words=strain_words(strain),
        loads_percent=strain["force_percent"],
        peak_pressure_percent=strain["peak_pressure_percent"],
    )
