"""One table of what the loads of a run are uncertain by: its sources, from mesh to surrogate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.reports.elastic_layer import is_layer, strain_words
from pipeline.reports.units import largest, number
from pipeline.reports.verdict import JUDGED, Evidence
from pipeline.store.run_documents import Part


class BudgetRow(Part):
    """A source of error: its part in the loads and in the peak pressure [%], and what it is.

    A `signed` error is that of the largest peak pressure: positive where the model has too much.
    """

    source: str
    words: str
    loads_percent: float | None
    peak_pressure_percent: float | None
    signed: bool


def error_budget(evidence: Evidence) -> list[BudgetRow]:
    """Return the sources of error that are known of a run: surrogate, model, mesh and nodes."""
    return [
        *_surrogate(evidence),
        *_model(evidence.layer),
        *_mesh(evidence),
        *_nodes(evidence),
        *_strain(evidence.layer),
    ]


def _surrogate(evidence: Evidence) -> Iterator[BudgetRow]:
    known = {name: share for name, share in evidence.differences.items() if share is not None}
    if not known:
        words = "surrogate against the contact model: worst load at unseen poses"
        yield BudgetRow(
            source="surrogate",
            words=words,
            loads_percent=evidence.held_out_percent,
            peak_pressure_percent=None,
            signed=False,
        )
        return
    pressures = [share for name, share in known.items() if name.endswith("_peak_pressure_Pa")]
    yield BudgetRow(
        source="surrogate",
        words="surrogate against the contact model over the gait cycle, RMS over range",
        loads_percent=max((known[name] for name in JUDGED if name in known), default=None),
        peak_pressure_percent=largest([*pressures, evidence.peak_difference_percent or 0.0]),
        signed=False,
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
            signed=False,
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
            loads_percent=None,
            peak_pressure_percent=mesh.roughness_percent,
            signed=False,
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
        signed=False,
    )


def _strain(layer: Mapping[str, Any] | None) -> Iterator[BudgetRow]:
    if layer is None or (strain := layer["large_strain"]) is None:
        return
    yield BudgetRow(
        source="linear elasticity",
        words=strain_words(strain),
        loads_percent=strain["force_percent"],
        peak_pressure_percent=strain["peak_pressure_percent"],
        signed=False,
    )
