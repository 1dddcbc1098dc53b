"""Section of the report on the contact model against the elastic layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pipeline.config.contact_schema import OWN_KEYS, LayerConfig
from pipeline.originals.layer_reference import ITSELF
from pipeline.reports.inputs import RunFiles
from pipeline.reports.units import ASCII, number
from pipeline.store.quantities import to_display
from pipeline.store.run_documents import ElasticLayer, FromTable

#: Strain of a layer, and by how much a neo-Hookean layer under a sphere differs there from the
#: linear layer [1]: in the force at equal approach, and in the peak pressure at equal force. The
#: larger of two materials and two energies, measured once (docs/finite_element.md).
_STRAINS = (0.0, 0.04, 0.08, 0.12, 0.17, 0.23, 0.30)
_FORCE = (0.0, 0.006, 0.015, 0.027, 0.042, 0.07, 0.08)
_PEAK = (0.0, 0.005, 0.015, 0.028, 0.041, 0.058, 0.083)

#: Uncertainty of the peak pressure of the layer that is told with it [%].
_DOUBTED = 3.0
#: Strain up to which linear elasticity is within 2 % of the force [%] (docs/finite_element.md).
_LINEAR = 9.0


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
    """Return a comparison in units for people, with the error of linear elasticity."""
    return dict(to_display(found)) | {"large_strain": _large_strain(found.largest_strain_share)}


def is_layer(found: Mapping[str, Any]) -> bool:
    """Return whether the contact model of a comparison is the elastic layer itself."""
    return bool(found["reference"] == ITSELF)


def doubted(part: Mapping[str, Any]) -> str:
    """Return the uncertainty of the peak pressure of the layer in words, "" where it is small."""
    doubt = part["uncertainty_percent"]
    return f" ±{number(doubt, 2)} %" if doubt > _DOUBTED else ""


def _large_strain(strain: float | None) -> dict[str, float | None] | None:
    """Return the largest strain of the layer, and the error of linear elasticity there [%].

    The errors are those of the force at a given approach and of the peak pressure at a given load;
    None at strains beyond 30 %, where none were measured.
    """
    if strain is None:
        return None
    force, peak = (
        float(np.interp(strain, _STRAINS, each)) if strain <= _STRAINS[-1] else None
        for each in (_FORCE, _PEAK)
    )
    errors = {"strain_share": strain, "force_share": force, "peak_pressure_share": peak}
    return dict(to_display(errors))


def strain_words(found: Mapping[str, Any]) -> str:
    """Return the largest strain, and the errors of linear elasticity there, in words."""
    text = f"largest strain of the layer {number(found['strain_percent'], 2)} %, where linear "
    if found["force_percent"] is None:
        return f"{text}elasticity does not hold: expected at most 30 %"
    return (
        f"{text}elasticity differs from a neo-Hookean layer by about "
        f"{number(found['force_percent'], 2)} % of the force and "
        f"{number(found['peak_pressure_percent'], 2)} % of the peak pressure"
    )


def layer_keys(contact: Mapping[str, Any], law: str = "coupled") -> list[str]:
    """Return the pairs KEY=VALUE that give a section [contact] of springs another law."""
    defaults = LayerConfig()
    layers = {"contact": contact}
    if contact.get("femur_layer"):
        layers["contact.femur_layer"] = contact["femur_layer"]
    pairs = []
    for head, layer in layers.items():
        pairs.append(f"{head}.law={law}")
        for key in OWN_KEYS.get(layer["law"], ()):
            if layer.get(key) != (default := getattr(defaults, key)):
                pairs.append(f"{head}.{key}={default:g}")
    if contact.get("surface") == "flat":
        pairs.append("contact.surface=curved")
    return pairs


def element_keys(contact: Mapping[str, Any]) -> list[str]:
    """Return the pairs KEY=VALUE that give a section [contact] of springs finite elements."""
    return [
        "contact.model=finite_element",
        *layer_keys(contact, LayerConfig().law),
        *(["contact.conservative=false"] if contact.get("conservative") else []),
    ]


def layer_lines(content: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the lines for the terminal, in ASCII characters, of a run that was compared."""
    if content is None:
        return
    if not content["compartments"] and not is_layer(content):
        yield f"contact model: not compared with the elastic layer: {content['reason']}"
    for name, part in content["compartments"].items():
        differences = ", ".join(
            f"{key.replace('_', ' ')} {signed(part['at_peak'][f'{key}_percent'])} %"
            for key in ("peak_pressure", "mean_pressure", "area", "stiffness", "approach")
        )
        text = (
            f"contact model, {name}: {number(part['peak_pressure_MPa'])} MPa by "
            f"{content['model']}; the elastic layer: about "
            f"{number(part['layer_peak_pressure_MPa'], 2)} MPa{doubted(part)} ({differences})"
        )
        yield text.translate(ASCII)
    if (strain := content["large_strain"]) is not None and strain["strain_percent"] > _LINEAR:
        yield f"contact model: {strain_words(strain)}".translate(ASCII)


def signed(percent: float) -> str:
    """Return a difference [%] with its sign and two digits, 0 below a hundredth of a per cent."""
    percent = round(percent, 2)
    return f"{'+' if percent > 0.0 else ''}{number(percent, 2)}"
