"""Sections of the report on the contact model: elastic layer, mesh, node spacing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.config.contact_schema import DEFAULT_MODEL
from pipeline.originals.finite_element_layer import ITSELF
from pipeline.reports.inputs import RunFiles
from pipeline.reports.units import number
from pipeline.store.quantities import to_display
from pipeline.store.run_documents import ElasticLayer, FromTable, NodeSpacing

#: Uncertainty of the peak pressure of the layer that is told with it [%].
_DOUBTED = 3.0


def model_of(contact: Mapping[str, Any]) -> str:
    """Return the name of the contact model of a section [contact]."""
    return str(contact.get("model", DEFAULT_MODEL))


def layer_of_run(files: RunFiles) -> dict[str, Any] | None:
    """Return the comparison of a run in units for people; None without one."""
    if isinstance(files.run.original, FromTable):
        return _not_compared("a table of poses and loads takes the place of the contact model")
    if files.simulation is None:
        return _not_compared("the run simulates no gait, whose poses the comparison needs")
    return None if files.layer is None else layer_of(files.layer)


def _not_compared(reason: str) -> dict[str, Any]:
    """Return the content for a run without a contact model at poses of a gait cycle."""
    return layer_of(ElasticLayer(model="", reference="", reason=reason))


def layer_of(found: ElasticLayer) -> dict[str, Any]:
    """Return a comparison in units for people."""
    return dict(to_display(found))


def is_layer(found: Mapping[str, Any]) -> bool:
    """Return whether the contact model of a comparison is the elastic layer itself."""
    return bool(found["reference"] == ITSELF)


def doubted(part: Mapping[str, Any]) -> str:
    """Return the uncertainty of the peak pressure of the layer in words, "" where it is small."""
    doubt = part["uncertainty_percent"]
    return f" ±{number(doubt, 2)} %" if doubt > _DOUBTED else ""


def signed(percent: float) -> str:
    """Return a difference [%] with its sign and two digits, 0 below a hundredth of a per cent."""
    percent = round(percent, 2)
    return f"{'+' if percent > 0.0 else ''}{number(percent, 2)}"


def spacing_of(found: NodeSpacing | None) -> dict[str, Any] | None:
    """Return the node spacing and its errors in units for people; None without nodes."""
    return None if found is None else dict(to_display(found))
