"""Error budget of a surrogate of finite elements, from the node spacing to the wear.

`python -m benchmarks.error_budget RUN` takes a finished run of finite elements and measures each
part: nodes of finite spacing, by the same model with nodes twice as far apart (Richardson 1911);
surrogate against finite elements, at held-out samples and over the gait cycle; wear by the fields
that `dynamics.wear` reconstructs from loads, against the wear by the pressures of the nodes. The
cycle is driven by finite elements of both spacings and by the surrogate.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.timing import table
from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.simulator.result import SimulationResult
from dynamics.wear.cycle_wear import bed_wear, surrogate_wear
from dynamics.wear.wear_map import measured_patch
from foundation.finite_element.model import FiniteElementContact
from foundation.finite_element.resolution import coarser
from foundation.loads import COMPARTMENTS, LOAD_COLUMNS
from pipeline.simulation import compare_cycles, simulation_table
from pipeline.stages.node_spacing import POSES, node_spacing
from pipeline.stages.trained_run import TrainedRun
from pipeline.store.documents import read_document
from pipeline.store.validation_document import Validation
from surrogates.formulations.compartment import CompartmentSurrogate

#: Richardson's extrapolation from twice the spacing: the error is a third of the difference.
_PART = 1.0 / 3.0
#: Columns of the cycle, and how the budget calls them.
_CYCLE = {
    "medial_force_y_N": "medial axial force",
    "lateral_force_y_N": "lateral axial force",
    "anterior_m": "AP position",
    "rotation_rad": "rotation",
    "medial_peak_pressure_Pa": "medial peak pressure",
    "lateral_peak_pressure_Pa": "lateral peak pressure",
    "total_area_m2": "area",
}


def budget(run: TrainedRun) -> str:
    """Return the table of a run's error budget."""
    model = run.contact
    assert isinstance(model, FiniteElementContact)
    cycles = {"fine": run.gait(model), "surrogate": run.gait(run.surrogate)}
    # On a scanned surface, nodes far apart may leave no equilibrium to start the cycle from.
    with suppress(SimulationError, EquilibriumError):
        cycles["coarse"] = run.gait(coarser(model))
    rows = [*_at_poses(run, model, cycles["fine"]), *_over_gait(cycles), *_worn(run, model, cycles)]
    header = ("quantity", "node spacing", "surrogate")
    spacing = 1e3 * model.spacing
    title = f"{run.config.run.name}, {spacing:g} mm: errors"
    return table(title, header, [[name, *parts] for name, *parts in rows])


def _at_poses(
    run: TrainedRun, model: FiniteElementContact, cycle: SimulationResult
) -> Iterator[tuple[str, str, str]]:
    """Yield the errors at given poses and loads; those of the spacing at poses of the cycle."""
    spacing = node_spacing(model, cycle.poses).errors
    assert spacing is not None
    worst = _held_out(run)
    chosen = np.unique(np.linspace(0, len(cycle.poses), POSES, endpoint=False).astype(int))
    gait = _at_gait_poses(run, cycle, chosen)
    yield "axial force at poses of gait, RMS over largest", _percent(spacing.force), gait[0]
    yield "peak pressure at poses of gait", _percent(spacing.peak_pressure), gait[1]
    yield "area at poses of gait", _percent(spacing.area), gait[2]
    yield "centre of pressure at poses of gait", f"{1e3 * spacing.centre:.2g} mm", gait[3]
    yield "height at a given load, held out", "", f"{1e6 * worst['superior_m']:.2g} µm"
    yield "AP force over axial force, held out", "", _percent(worst["force_x_over_axial"])
    yield "ML force over axial force, held out", "", _percent(worst["force_z_over_axial"])
    yield "centre at a given load, held out", "", f"{1e3 * worst['cop_distance_m']:.2g} mm"


def _held_out(run: TrainedRun) -> dict[str, float]:
    """Return the RMS errors at given loads of the worse compartment, as `validation.json` has."""
    judged = read_document(run.folder / "validation.json", Validation).models[0]
    parts = [judged.compartments[name].at_load or {} for name in COMPARTMENTS]
    return {key: max(float(part[key].rmse or np.nan) for part in parts) for key in parts[0]}


def _at_gait_poses(
    run: TrainedRun, cycle: SimulationResult, chosen: np.ndarray
) -> tuple[str, str, str, str]:
    """Return the surrogate's errors at poses of a cycle, as `SpacingError` has those of nodes."""
    errors, truth = [], []
    for side, name in enumerate(COMPARTMENTS):
        surrogate = run.surrogate.compartment(name)
        assert isinstance(surrogate, CompartmentSurrogate)
        true = cycle.compartment_loads[side][chosen]
        found, _, _ = surrogate.evaluate_batch(cycle.poses[chosen])
        touching = (true[:, 1] > 0.0) & (found[:, 1] > 0.0)
        errors.append((found - true)[touching])
        truth.append(true)
    error, largest = np.concatenate(errors), np.nanmax(np.concatenate(truth), axis=0)
    force, peak, area = (
        _percent(_rms(error[:, k]) / largest[k])
        for k in map(LOAD_COLUMNS.index, ("force_y_N", "peak_pressure_Pa", "area_m2"))
    )
    return force, peak, area, f"{1e3 * _rms(np.linalg.norm(error[:, 9:], axis=1)):.2g} mm"


def _over_gait(cycles: dict[str, SimulationResult]) -> Iterator[tuple[str, str, str]]:
    """Yield the errors over the gait cycle, RMS over range."""
    found = {
        name: _differences(simulation_table({"original": cycles["fine"], "surrogate": cycle}))
        for name, cycle in cycles.items()
    }
    for column, name in _CYCLE.items():
        coarse = found["coarse"][column] if "coarse" in found else None
        surrogate = _percent(found["surrogate"][column])
        yield f"gait: {name}, RMS over range", _part(coarse), surrogate


def _differences(rows: pd.DataFrame) -> dict[str, float]:
    return {each.column: each.rms_over_range or 0.0 for each in compare_cycles(rows)}


def _worn(
    run: TrainedRun, model: FiniteElementContact, cycles: dict[str, SimulationResult]
) -> Iterator[tuple[str, str, str]]:
    """Yield the errors of the worn volume."""
    law, patch = run.gait.wear_law, measured_patch(model, cycles["fine"])
    own = bed_wear(model, cycles["fine"], law).volume
    coarse = bed_wear(coarser(model), cycles["coarse"], law).volume if "coarse" in cycles else None
    again = surrogate_wear(cycles["fine"], law, **patch._asdict()).volume
    learnt = surrogate_wear(cycles["surrogate"], law, **patch._asdict()).volume
    for name, chosen in {"medial": [0], "lateral": [1], "both": [0, 1]}.items():
        truth = own[chosen].sum()
        field, whole = (abs(value[chosen].sum() / truth - 1.0) for value in (again, learnt))
        spacing = None if coarse is None else abs(coarse[chosen].sum() / truth - 1.0)
        driven = abs(learnt[chosen].sum() / again[chosen].sum() - 1.0)
        text = f"{_percent(whole)} (motion and loads {_percent(driven)}, fields {_percent(field)})"
        yield f"wear, {name}", _part(spacing), text


def _part(difference: float | None) -> str:
    """Return the error of the nodes from the difference of both spacings, where known."""
    return "not known" if difference is None else _percent(_PART * difference)


def _percent(value: float) -> str:
    return f"{100.0 * value:.2g} %"


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def main() -> None:
    """Print the error budget of the runs that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, nargs="+", help="folder of a finished run")
    with threadpool_limits(1):
        for folder in parser.parse_args().run:
            print(budget(TrainedRun.open(folder)), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
