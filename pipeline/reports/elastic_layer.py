"""Section of the report on the contact model against the elastic layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pipeline.config.contact_schema import OWN_KEYS, LayerConfig
from pipeline.originals.layer_reference import ITSELF
from pipeline.reports.inputs import RunFiles
from pipeline.reports.units import ASCII, number, scaled
from pipeline.store.layer_document import ElasticLayer, LayerCompartment, LayerFigures
from pipeline.store.run_documents import FromTable, Part

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


class Differences(Part):
    """Contact model less elastic layer at equal axial load, over the elastic layer [%]."""

    peak_pressure_percent: float
    mean_pressure_percent: float
    area_percent: float
    stiffness_percent: float
    approach_percent: float

    @classmethod
    def of(cls, figures: LayerFigures) -> Differences:
        """Return differences of `elastic_layer.json`."""
        stored = figures.content()
        names = (name for name in stored if f"{name}_percent" in cls.model_fields)
        return cls.model_validate({f"{name}_percent": 100.0 * stored[name] for name in names})


class ComparedCompartment(Part):
    """A compartment where the contact model has its largest peak pressure, and over the poses."""

    instant_percent: float
    load_N: float
    peak_pressure_MPa: float
    layer_peak_pressure_MPa: float
    at_peak: Differences
    rms: Differences
    poses: int
    uncertainty_percent: float
    rough: bool

    @property
    def doubted(self) -> str:
        """Uncertainty of the peak pressure of the layer in words, "" where it is small."""
        doubt = self.uncertainty_percent
        return f" ±{number(doubt, 2)} %" if doubt > _DOUBTED else ""

    @classmethod
    def of(cls, found: LayerCompartment) -> ComparedCompartment:
        """Return a compartment of `elastic_layer.json`."""
        return cls(
            instant_percent=found.instant_percent,
            load_N=found.load_N,
            peak_pressure_MPa=1e-6 * found.peak_pressure_Pa,
            layer_peak_pressure_MPa=1e-6 * found.layer_peak_pressure_Pa,
            at_peak=Differences.of(found.at_peak),
            rms=Differences.of(found.rms),
            poses=found.poses,
            uncertainty_percent=100.0 * found.uncertainty,
            rough=found.rough,
        )


class LargeStrain(Part):
    """Largest strain of the layer, and the error of linear elasticity there.

    The errors are those of the force at a given approach and of the peak pressure at a given load;
    None at strains beyond 30 %, where none were measured.
    """

    strain_percent: float
    force_percent: float | None
    peak_pressure_percent: float | None

    @property
    def words(self) -> str:
        """Strain and errors in words."""
        text = f"largest strain of the layer {number(self.strain_percent, 2)} %, where linear "
        if self.force_percent is None:
            return f"{text}elasticity does not hold: expected at most 30 %"
        return (
            f"{text}elasticity differs from a neo-Hookean layer by about "
            f"{number(self.force_percent, 2)} % of the force and "
            f"{number(self.peak_pressure_percent, 2)} % of the peak pressure"
        )


class LayerComparison(Part):
    """The contact model against the elastic layer in `report.json`.

    `reason` says why there are no compartments; the known error of the peak pressure is then that
    of coupled springs on other knees. `model` is empty if the run has no contact model at poses of
    a gait cycle, and then is not judged.
    """

    model: str
    reference: str
    reason: str
    compartments: dict[str, ComparedCompartment]
    large_strain: LargeStrain | None
    known_error_percent: float | None = None

    @property
    def is_layer(self) -> bool:
        """Whether the contact model is the elastic layer itself."""
        return self.reference == ITSELF


def layer_of_run(files: RunFiles) -> LayerComparison | None:
    """Return the comparison of a run in units for people; None without one."""
    if isinstance(files.run.original, FromTable):
        return _not_compared("a table of poses and loads takes the place of the contact model")
    if files.simulation is None:
        return _not_compared("the run simulates no gait, whose poses the comparison needs")
    return None if files.layer is None else layer_of(files.layer)


def _not_compared(reason: str) -> LayerComparison:
    return LayerComparison(
        model="", reference="", reason=reason, compartments={}, large_strain=None
    )


def layer_of(found: ElasticLayer) -> LayerComparison:
    """Return a comparison in units for people."""
    compartments = {n: ComparedCompartment.of(part) for n, part in found.compartments.items()}
    return LayerComparison(
        model=found.model,
        reference=found.reference,
        reason=found.reason,
        compartments=compartments,
        large_strain=_large_strain(found.largest_strain),
        known_error_percent=scaled(found.known_error, 100.0),
    )


def _large_strain(strain: float | None) -> LargeStrain | None:
    if strain is None:
        return None
    errors = [float(np.interp(strain, _STRAINS, each)) for each in (_FORCE, _PEAK)]
    known = errors if strain <= _STRAINS[-1] else [None, None]
    force, peak = (scaled(error, 100.0) for error in known)
    return LargeStrain(
        strain_percent=100.0 * strain, force_percent=force, peak_pressure_percent=peak
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


def layer_lines(content: LayerComparison | None) -> Iterator[str]:
    """Yield the lines for the terminal, in ASCII characters, of a run that was compared."""
    if content is None:
        return
    if not content.compartments and not content.is_layer:
        yield f"contact model: not compared with the elastic layer: {content.reason}"
    for name, part in content.compartments.items():
        differences = ", ".join(
            f"{key.replace('_', ' ')} {signed(getattr(part.at_peak, f'{key}_percent'))} %"
            for key in ("peak_pressure", "mean_pressure", "area", "stiffness", "approach")
        )
        text = (
            f"contact model, {name}: {number(part.peak_pressure_MPa)} MPa by {content.model}; the "
            f"elastic layer: about {number(part.layer_peak_pressure_MPa, 2)} MPa{part.doubted} "
            f"({differences})"
        )
        yield text.translate(ASCII)
    if (strain := content.large_strain) is not None and strain.strain_percent > _LINEAR:
        yield f"contact model: {strain.words}".translate(ASCII)


def signed(percent: float) -> str:
    """Return a difference [%] with its sign and two digits."""
    return f"{'+' if percent > 0.0 else ''}{number(percent, 2)}"
