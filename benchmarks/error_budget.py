"""Error budget of a surrogate of finite elements, from the node spacing to the wear.

`python -m benchmarks.error_budget RUN` takes a finished run of finite elements and measures each
part: nodes of finite spacing, by the same model with nodes twice as far apart (Richardson 1911), or
one and a half times where twice the spacing drives no cycle; surrogate against finite elements, at
held-out samples and over the gait cycle; wear by the fields that `dynamics.wear` reconstructs from
loads, against the wear by the pressures of the nodes. The cycle is driven by finite elements of
both spacings and by the surrogate.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from benchmarks.frame import Table, alike, show
from benchmarks.measures import rms
from benchmarks.trained_runs import runs_given
from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.simulator.result import SimulationResult
from dynamics.wear.cycle_wear import bed_wear, surrogate_wear
from dynamics.wear.wear_map import measured_patch
from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS
from foundation.finite_element.model import FiniteElementContact
from pipeline.simulation import compare_cycles, simulation_table
from pipeline.stages.node_spacing import POSES, node_spacing
from pipeline.stages.trained_run import TrainedRun
from pipeline.store.documents import read_document
from pipeline.store.validation_document import Validation
from surrogates.formulations.compartment import CompartmentSurrogate

#: Ratios of the coarser to the own spacing; the first one that drives a cycle counts.
_RATIOS = (2.0, 1.5)
#: Columns of the cycle, and their names in the budget.
_CYCLE = {
    "medial_force_y_N": "medial axial force",
    "lateral_force_y_N": "lateral axial force",
    "anterior_m": "AP position",
    "rotation_rad": "rotation",
    "medial_peak_pressure_Pa": "medial peak pressure",
    "lateral_peak_pressure_Pa": "lateral peak pressure",
    "total_area_m2": "area",
}


class Coarser(NamedTuple):
    """The model with nodes farther apart, and the cycle that it drives."""

    model: FiniteElementContact
    cycle: SimulationResult
    ratio: float

    def part(self, difference: float) -> str:
        """Return the error of the own spacing, by Richardson's extrapolation, second order."""
        return _percent(difference / (self.ratio**2 - 1.0))


def budget(run: TrainedRun) -> Table:
    """Return the table of a run's error budget."""
    model = run.contact
    assert isinstance(model, FiniteElementContact)
    fine, learnt, coarse = run.gait(model), run.gait(run.surrogate), _coarser(run, model)
    rows = [
        *_at_poses(run, model, fine),
        *_over_gait(fine, learnt, coarse),
        *_worn(run, model, (fine, learnt), coarse),
    ]
    columns = alike(("quantity", "node spacing", "surrogate"), "")
    title = f"{run.config.run.name}, {1e3 * model.spacing:g} mm: errors"
    if coarse is not None:
        title += f" (gait and wear from {1e3 * coarse.model.spacing:g} mm)"
    return Table(title, columns, rows)


def _coarser(run: TrainedRun, model: FiniteElementContact) -> Coarser | None:
    """Return the coarser model and its cycle; none where ridges leave no equilibrium to start."""
    for ratio in _RATIOS:
        with suppress(SimulationError, EquilibriumError):
            coarse = model.with_spacing(ratio * model.spacing)
            return Coarser(coarse, run.gait(coarse), ratio)
    return None


def _at_poses(
    run: TrainedRun, model: FiniteElementContact, cycle: SimulationResult
) -> Iterator[tuple[str, str, str]]:
    """Yield the errors at given poses and loads; the spacing is judged at poses of the cycle."""
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
    """Return the surrogate's errors at poses of a cycle, in the order of `SpacingError`."""
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
        _percent(rms(error[:, k]) / largest[k])
        for k in map(LOAD_COLUMNS.index, ("force_y_N", "peak_pressure_Pa", "area_m2"))
    )
    return force, peak, area, f"{1e3 * rms(np.linalg.norm(error[:, 9:], axis=1)):.2g} mm"


def _over_gait(
    fine: SimulationResult, learnt: SimulationResult, coarse: Coarser | None
) -> Iterator[tuple[str, str, str]]:
    """Yield the errors over the gait cycle, RMS over range."""
    surrogate = _differences(fine, learnt)
    spacing = None if coarse is None else _differences(fine, coarse.cycle)
    for column, name in _CYCLE.items():
        own = "not known" if spacing is None or coarse is None else coarse.part(spacing[column])
        yield f"gait: {name}, RMS over range", own, _percent(surrogate[column])


def _differences(fine: SimulationResult, other: SimulationResult) -> dict[str, float]:
    rows = simulation_table({"original": fine, "surrogate": other})
    return {each.column: each.rms_over_range or 0.0 for each in compare_cycles(rows)}


def _worn(
    run: TrainedRun, model: FiniteElementContact,
    cycles: tuple[SimulationResult, SimulationResult], coarse: Coarser | None,
) -> Iterator[tuple[str, str, str]]:  # fmt: skip
    """Yield the errors of the worn volume."""
    law, patch = run.gait.wear_law, measured_patch(model, cycles[0])
    own = bed_wear(model, cycles[0], law).volume
    other = None if coarse is None else bed_wear(coarse.model, coarse.cycle, law).volume
    again, learnt = (surrogate_wear(cycle, law, **patch._asdict()).volume for cycle in cycles)
    for name, chosen in {"medial": [0], "lateral": [1], "both": [0, 1]}.items():
        field, whole, driven = (
            abs(value[chosen].sum() / truth[chosen].sum() - 1.0)
            for value, truth in ((again, own), (learnt, own), (learnt, again))
        )
        spacing = "not known"
        if coarse is not None and other is not None:
            spacing = coarse.part(abs(other[chosen].sum() / own[chosen].sum() - 1.0))
        text = f"{_percent(whole)} (motion and loads {_percent(driven)}, fields {_percent(field)})"
        yield f"wear, {name}", spacing, text


def _percent(value: float) -> str:
    return f"{100.0 * value:.2g} %"


if __name__ == "__main__":
    with runs_given(__doc__) as (_, runs):
        show(budget(run) for run in runs)
