"""The chosen designs by the original model of the run, and two of them by finite elements."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from pydantic import ValidationError

from dynamics.simulator.result import SimulationResult
from foundation.base.loads import AREA, PEAK_PRESSURE
from pipeline.config.contact_schema import with_model
from pipeline.config.reading import ConfigError
from pipeline.config.schema import Config, ContactConfig
from pipeline.execution.backends import Execution
from pipeline.originals.contact_original import build_knee, preparation_of
from pipeline.originals.finite_element_layer import spacing_for
from pipeline.originals.knee import Knee
from pipeline.progress import bar, rounded, say
from pipeline.studies.optimisation.evaluated import evaluated_parts
from pipeline.studies.optimisation.gaits import SearchTask
from pipeline.studies.optimisation.outputs import with_peak
from pipeline.studies.runs import FAILURES, CycleSetup

_MODEL = "finite_element"
#: Nodes across the contact of the finite elements, and range of their distance [mm].
_NODES_ACROSS, _SPACINGS_MM = 12.0, (0.5, 2.0)


def verified_by_original(
    task: SearchTask, designs: pd.DataFrame, execution: Execution
) -> pd.DataFrame:
    """Return designs with their outcomes by the original model, in the same order."""
    parts = []
    with bar(len(designs), "design", "original model") as shown:
        for part in evaluated_parts(task, designs, execution, "original"):
            parts.append(part)
            shown.update(len(part))
    return pd.concat(parts).loc[designs.index]


class ElementCycle(NamedTuple):
    """Outputs of the gait cycle of a design by three models, by their columns.

    `reason` tells why there are none, else "".
    """

    reason: str = ""
    node_spacing_mm: float | None = None
    finite_element: Mapping[str, float] = {}
    original: Mapping[str, float] = {}
    surrogate: Mapping[str, float] = {}


def verified_by_elements(task: SearchTask, values: Mapping[str, float]) -> ElementCycle:
    """Simulate the gait cycle of the run with finite elements of a design, and tell the time.

    Values of parameters are in the units of their names. Peak pressures and wear are those of the
    pressures at the nodes.
    """
    try:
        _, by_surrogate = _cycle(task.cycles_of(values, "surrogate"))
        setup = task.cycles_of(values, "original")
        result, by_original = _cycle(setup)
        config = _of_elements(task.run.config_of(values), result)
        knee = _quietly_built(config)
        _tell_time(config, knee, result)
        knee.prepare(lambda text: None)
        _, by_elements = _cycle(CycleSetup(knee.model, setup.gait, setup.patch))
    except FAILURES as error:
        return ElementCycle(" ".join(str(error).split()))
    spacing = _spacing(config)
    return ElementCycle("", spacing, by_elements, by_original, by_surrogate)


def _cycle(setup: CycleSetup) -> tuple[SimulationResult, dict[str, float]]:
    result = setup.simulate(setup.nominal)
    return result, with_peak(setup.outputs(setup.nominal, result))


def _of_elements(config: Config, result: SimulationResult) -> Config:
    """Return the configuration of a design with finite elements in place of its contact model.

    The contact of a cycle tells how close the nodes must be. Raises `ConfigError` if finite
    elements cannot take the place of the contact model.
    """
    spacing = spacing_for(2.0 * float(np.sqrt(_patch(result) / np.pi)), _NODES_ACROSS)
    tree = with_model(config.contact.model_dump(exclude_none=True), _MODEL)
    tree |= {_MODEL: {"node_spacing_mm": float(np.clip(spacing, *_SPACINGS_MM))}}
    try:
        contact = ContactConfig.model_validate(tree)
    except ValidationError as error:
        raise ConfigError(str(error.errors()[0]["msg"])) from error
    return config.model_copy(update={"contact": contact})


def _patch(result: SimulationResult) -> float:
    """Return the smallest area of the compartments at their largest peak pressures [m²]."""
    rows = [loads[int(np.argmax(loads[:, PEAK_PRESSURE]))] for loads in result.compartment_loads]
    return float(min((row[AREA] for row in rows if row[AREA] > 0.0), default=1e-4))


def _quietly_built(config: Config) -> Knee:
    with warnings.catch_warnings():
        # What is doubtful about the surfaces was told by the run.
        warnings.simplefilter("ignore", UserWarning)
        return build_knee(config)


def _tell_time(config: Config, knee: Knee, result: SimulationResult) -> None:
    """Write the expected times of condensation and gait cycle; `result` is a cycle of springs."""
    preparation = preparation_of(config)
    assert preparation is not None  # finite elements are condensed
    cost = preparation.cost(knee, config.contact, _patch(result))
    evaluations = result.statistics.evaluations + 2 * len(result.time)
    cycle = evaluations * len(config.knee.compartments) * cost.evaluation_s
    say(
        f"  finite elements, nodes {_spacing(config):g} mm apart: condensation in about "
        f"{rounded(cost.preparation_s)}, gait cycle in about {rounded(cycle)}"
    )


def _spacing(config: Config) -> float:
    assert config.contact.finite_element is not None
    return config.contact.finite_element.node_spacing_mm
