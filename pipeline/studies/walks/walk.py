"""Walks: from measured walking to the loads and the simulated gait cycle of a knee."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

from foundation.base.loads import COMPARTMENTS
from foundation.base.wording import counted
from pipeline.config.reading import load_config, load_section
from pipeline.config.simulation_schema import SimulationConfig
from pipeline.files import write_document
from pipeline.progress import say
from pipeline.reports.judgement import judgement_lines
from pipeline.runner import run_study
from pipeline.simulation import simulation_table
from pipeline.store.job import WALK, Job
from pipeline.store.sample_tables import write_csv
from pipeline.store.samples import write_table
from pipeline.studies.implant_forces.comparison import TABLE as IMPLANT_TABLE
from pipeline.studies.implant_forces.comparison import comparison_lines
from pipeline.studies.implant_forces.forces import read_implant_forces
from pipeline.studies.runs import CycleSetup, Task, replaced
from pipeline.studies.walks.implant import measured_walk
from pipeline.studies.walks.in_vivo import in_vivo_comparison
from pipeline.studies.walks.loads import loads_table, measure, waveform_table
from pipeline.studies.walks.report import write_walk_page
from pipeline.studies.walks.schema import WalkFile
from pipeline.studies.walks.summary import PATTERN, SimulatedCycles, WalkSummary, summarise

_LOADS, _WAVEFORMS = "loads.csv", "waveforms.csv"
#: Results of a walk.
_FILES = (_LOADS, _WAVEFORMS, IMPLANT_TABLE, "simulation.parquet", "walk.json", "walk.html")


def load_walk(path: str | Path, overrides: tuple[str, ...] = ()) -> WalkFile:
    """Read the configuration of a walk as `load_study` does; paths are relative to the file."""
    file = load_section(path, WalkFile, overrides)
    # Checked with the defaults, before a run is made: the values of the run are valid.
    replaced(SimulationConfig(), file.simulation)
    return file


def simulate_walk(file: WalkFile, folder: Path, *, replace: bool = False) -> WalkSummary:
    """Simulate the gait cycle of a measured walk, write its folder, and return its summary.

    Parameters as of `simulate_study`. Files of an earlier walk of the same
    configuration in the folder are replaced; those of another walk only with `replace`.

    Raises
    ------
    InputError
        If the walk, its tables or its run cannot be used.
    SimulationError, EquilibriumError
        If the cycle cannot be simulated; the loads of the walk are written anyway.
    """
    job = Job(WALK, folder, file, _FILES, replace=replace)
    job.check()
    walk = measure(file)  # Checks the input before a run is made.
    for text in walk.warnings:
        warnings.warn(text, stacklevel=2)
    if file.implant_forces is not None:
        read_implant_forces(file.implant_forces, walk.body_weight)
    with job.begun():
        write_csv(loads_table(walk), folder / _LOADS, "%.9g")
        write_csv(waveform_table(walk.cycle), folder / _WAVEFORMS, "%.9g")
        run, made_from = Path(file.walk.run), file.walk.run_config
        if made_from is not None and not run.exists():
            say(f"run {run} is missing: making it from {made_from}")
            run_study(load_config(made_from), run)
        cycles = _simulate(file, folder, walk.cycle.period)
        table = simulation_table(cycles.results)
        write_table(table, folder / "simulation.parquet")
        changes = _changes(file)
        offset = Task.of(run, "surrogate", changes).simulation.medial_offset_mm
        in_vivo = in_vivo_comparison(
            walk,
            cycles.results["surrogate"],
            cocontraction_kPa=file.muscles.cocontraction_kPa,
            medial_offset_mm=offset,
            largest_offset_mm=file.muscles.largest_offset_mm,
        )
        implant = measured_walk(file, walk, cycles.results["surrogate"])
        if implant is not None:
            write_csv(implant.table(), folder / IMPLANT_TABLE, "%.9g")
            for text in implant.warnings:
                warnings.warn(text, stacklevel=2)
        summary = summarise(file, walk, cycles, table, in_vivo, implant, job.seconds)
        write_walk_page(folder, summary, walk, cycles.results, implant, job.text)
        write_document(folder / "walk.json", summary)
    return summary


def _changes(file: WalkFile) -> dict[str, Any]:
    """Return the keys of the [simulation] of the run that the walk replaces.

    The adduction moment of the walk is about the middle of the knee: with it, the axial force acts
    at the tibial origin unless the walk states an offset.
    """
    return ({"medial_offset_mm": 0.0} if file.muscles.largest_offset_mm else {}) | file.simulation


def _simulate(file: WalkFile, folder: Path, period: float) -> SimulatedCycles:
    """Simulate the gait cycle of a period [s] with each model."""
    table = str((folder / _WAVEFORMS).resolve())
    changes = _changes(file) | {"waveforms": table, "period_s": period}
    cycles = SimulatedCycles({}, {}, {})
    for model in ("original", "surrogate") if file.walk.compare else ("surrogate",):
        setup = CycleSetup.of(Task.of(Path(file.walk.run), model, changes))
        started = time.perf_counter()
        result = cycles.results[model] = setup.simulate(setup.nominal)
        cycles.seconds[model] = time.perf_counter() - started
        cycles.outputs[model] = setup.outputs(setup.nominal, result)
    return cycles


def summary_text(summary: WalkSummary, folder: Path) -> str:
    """Return the lines on the terminal for a walk."""
    knee, cycle = summary.knee, summary.outputs["surrogate"]
    unusual = [row.peak for row in summary.moments if not row.as_expected]
    begin, end = summary.stride_s
    low, high = knee.ap_force_N
    least, largest = knee.internal_torque_Nm
    pressure, at = max((cycle[f"{part}_peak_pressure_MPa"] or 0.0, part) for part in COMPARTMENTS)
    error = summary.model_errors[f"{at}_peak_pressure_MPa"]
    spread = "" if error is None else f" (error of the surrogate +-{error:.2g})"
    told = [summary.not_trusted] if summary.not_trusted else []
    return "\n".join(
        [
            f"stride of the {summary.subject['side']} leg, {begin:.3f} to {end:.3f} s: "
            f"{summary.recognised['stride']}",
            f"recognised: {summary.recognised['motion']}; {summary.recognised['plates']}",
            f"tibiofemoral peak {knee.peak_BW:.2f} body weights "
            f"(early stance {knee.early_peak_BW:.2f}, late {knee.late_peak_BW:.2f}; "
            f"mean in vivo {knee.in_vivo_peak_BW:.2f})",
            f"joint moments: {len(PATTERN) - len(unusual)} of {len(PATTERN)} peaks as expected"
            + (f", not {', '.join(unusual)}" if unusual else ""),
            f"AP force {low:.0f} to {high:.0f} N, internal torque {least:.1f} to {largest:.1f} N m",
            f"simulated: AP range {cycle['anterior_range_mm']:.2f} mm, rotation range "
            f"{cycle['rotation_range_deg']:.2f} deg, peak pressure {pressure:.1f} MPa{spread}, "
            f"{counted(len(summary.flags), 'flag')}; {summary.seconds:.1f} s",
            *comparison_lines(summary.implant),
            *judgement_lines(summary.verdict),
            f"page: {folder / 'walk.html'}",
            *told,
        ]
    )
