"""What a run tells of its contact model against the elastic layer, beside finite elements.

`python -m benchmarks.layer_model [CONFIG ...] [--spacing MM] [--set KEY=VALUE]` drives the gait
cycle of each configuration (by default that of the built-in implant) with its springs, and compares
the springs at equal loads with the layer that a run takes and with finite elements. The table is
that of docs/accuracy.md. Nodes 0.5 mm apart take one to five minutes a knee, and up to 3 GB.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.frame import Rows, Table, measured, show
from dynamics.simulator.result import SimulationResult
from foundation.base.checks import FloatArray
from foundation.surface_contact import SurfaceContact
from pipeline.config.contact_schema import with_model
from pipeline.config.reading import load_config, shipped_config
from pipeline.config.schema import Config, ContactConfig
from pipeline.originals.contact_original import build_knee
from pipeline.originals.finite_element_layer import build_elements
from pipeline.originals.knee_surfaces import load_surfaces
from pipeline.simulation import GaitSimulation
from pipeline.stages.elastic_layer import elastic_layer
from pipeline.stages.equal_loads import equal_loads
from pipeline.store.layer_document import LayerFigures

_PAIR = "{:+.1f} / {:+.1f}"
_COLUMNS = {
    "knee": "",
    "compartment": "",
    "springs [MPa]": ".1f",
    "layer, told [MPa]": ".1f",
    "uncertain by [%]": ".1f",
    "finite elements [MPa]": ".1f",
    "peak, told / finite elements [%]": _PAIR,
    "mean pressure [%]": _PAIR,
    "area [%]": _PAIR,
    "stiffness [%]": _PAIR,
    "approach [%]": _PAIR,
    "told by": "",
}


def tables(files: list[Path], pairs: tuple[str, ...], spacing_mm: float) -> Iterator[Table]:
    """Yield the table of each configuration with changed keys and a distance of nodes [mm]."""
    for file in files or [shipped_config("implant")]:
        yield _made(load_config(file, pairs), spacing_mm)


@measured("Contact model less elastic layer at equal load, at the largest peak pressure", _COLUMNS)
def _made(config: Config, spacing_mm: float) -> Rows:
    knee = build_knee(config)
    result = GaitSimulation.of(config.simulation, knee.reference_path(config))(knee.model)
    told = elastic_layer(config, knee.model, result)
    elements = _elements(config, spacing_mm)
    for side, (name, part) in enumerate(told.compartments.items()):
        exact, peak = _differences(knee.model, elements, result, side)
        own = _row(part.at_peak)
        yield (
            *(config.run.name, name, part.peak_pressure_Pa, part.layer_peak_pressure_Pa),
            *(part.uncertainty, peak, *zip(own, exact, strict=True), told.reference),
        )


def _elements(config: Config, spacing_mm: float) -> SurfaceContact:
    """Return the layer of a configuration by finite elements, condensed in memory."""
    tree = with_model(config.contact.model_dump(exclude_none=True), "finite_element")
    section = {"finite_element": {"node_spacing_mm": spacing_mm}}
    model = build_elements(ContactConfig.model_validate(tree | section), load_surfaces(config))
    model.prepare(print)
    return model


def _differences(
    model: SurfaceContact, elements: SurfaceContact, result: SimulationResult, side: int
) -> tuple[FloatArray, float]:
    """Return the differences (5,) [1] where the peak is largest, and the peak of elements [Pa]."""
    pair = max(equal_loads(model, elements, result, side), key=lambda each: each.model.peak)
    return pair.model.figures / pair.layer.figures - 1.0, pair.layer.peak


def _row(figures: LayerFigures) -> FloatArray:
    return np.array(list(figures.content().values()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="CONFIG")
    parser.add_argument("--spacing", type=float, default=0.5, metavar="MM")
    parser.add_argument("--set", action="append", default=[], dest="pairs", metavar="KEY=VALUE")
    chosen = parser.parse_args()
    show(tables(chosen.files, tuple(chosen.pairs), chosen.spacing))
