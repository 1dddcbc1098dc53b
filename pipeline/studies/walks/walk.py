"""A walk from its file to its folder: measured walking in, knee loads out, the knee simulated."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import tomli_w

from dynamics.simulator.result import SimulationResult
from foundation.wording import counted
from pipeline.config.reading import independent_path, load_config, load_section
from pipeline.config.simulation_schema import SimulationConfig
from pipeline.files import replacing, write_document, write_text
from pipeline.progress import say
from pipeline.runner import run_study
from pipeline.simulation import simulation_table
from pipeline.store.samples import write_table
from pipeline.store.workspace_lock import check_own_folder, locked
from pipeline.studies.runs import outputs_of, setting_of, simulate_inputs, wear_of
from pipeline.studies.study import replaced, task_at
from pipeline.studies.walks.loads import Walk, loads_table, measure, waveform_table
from pipeline.studies.walks.report import write_page
from pipeline.studies.walks.schema import WalkFile
from pipeline.studies.walks.summary import PATTERN, summarise

_LOADS, _WAVEFORMS = "loads.csv", "waveforms.csv"


def load_walk(path: str | Path, overrides: tuple[str, ...] = ()) -> WalkFile:
    """Read the file of a walk; files that it names stand beside it.

    Raises
    ------
    ConfigError
        If the file is missing or is no TOML, a key is unknown or a value out of range.
    """
    file, base = load_section(path, WalkFile, overrides), Path(path).parent
    # Tried on the defaults, before a run is made: the run's own values are known to fit.
    replaced(SimulationConfig(), file.simulation)
    measured, walk = file.measured, file.walk
    files = {name: independent_path(getattr(measured, name), base) for name in ("motion", "ground")}
    config = None if walk.run_config is None else independent_path(walk.run_config, base)
    return file.model_copy(
        update={
            "measured": measured.model_copy(update=files),
            "walk": walk.model_copy(update={"run_config": config}),
        }
    )


def carry_out(file: WalkFile, folder: Path, *, quiet: bool = False) -> dict[str, Any]:
    """Carry out a walk and write its folder.

    Parameters
    ----------
    file : WalkFile
        The walk.
    folder : Path
        Where to write; what an earlier walk wrote there is replaced.
    quiet : bool
        Whether to leave out the progress bars of a run that has to be made first.

    Returns
    -------
    dict
        What `walk.json` holds.

    Raises
    ------
    InputError
        If the walk, its tables or the run that it drives cannot be used.
    SimulationError, EquilibriumError
        If the cycle cannot be simulated; the loads of the walk are written all the same.
    """
    begun = time.perf_counter()
    walk = measure(file)  # What cannot be used is told before a run is made.
    for text in walk.warnings:
        warnings.warn(text, stacklevel=2)
    check_own_folder(folder, _LOADS, "walk")
    with locked(folder, make=True):
        return _written(file, walk, folder, begun, quiet=quiet)


def _written(
    file: WalkFile, walk: Walk, folder: Path, begun: float, *, quiet: bool
) -> dict[str, Any]:
    """Simulate a walk and write its folder; `begun` is when it began [s]."""
    # What an earlier walk wrote of its simulation there.
    for name in ("simulation.parquet", "walk.json", "walk.html", "config.toml"):
        (folder / name).unlink(missing_ok=True)
    _write_csv(loads_table(walk), folder / _LOADS)
    _write_csv(waveform_table(walk.cycle), folder / _WAVEFORMS)
    _ensure_run(file, quiet=quiet)
    results, outputs, times = _simulate(file, folder, walk.cycle.period)
    table = simulation_table(results)
    write_table(table, folder / "simulation.parquet")
    summary = summarise(file, walk, results, outputs, table)
    summary["simulation_seconds"] = times
    summary["seconds"] = time.perf_counter() - begun
    text = tomli_w.dumps(file.model_dump(exclude_none=True))
    write_text(folder / "config.toml", text)
    write_page(folder / "walk.html", summary, walk, results, text)
    write_document(folder / "walk.json", summary)
    return summary


def told(summary: dict[str, Any], folder: Path) -> str:
    """Return a walk in a few lines."""
    knee, cycle = summary["knee"], summary["outputs"]["surrogate"]
    unusual = [row["peak"] for row in summary["moments"] if not row["as_expected"]]
    begin, end = summary["stride_s"]
    return "\n".join(
        [
            f"stride of the {summary['subject']['side']} leg, {begin:.3f} to {end:.3f} s",
            f"tibiofemoral peak {knee['peak_BW']:.2f} body weights "
            f"(early stance {knee['early_peak_BW']:.2f}, late {knee['late_peak_BW']:.2f}; "
            f"in vivo {knee['in_vivo_peak_BW']:.2f} in the mean)",
            f"joint moments: {len(PATTERN) - len(unusual)} of {len(PATTERN)} peaks as expected"
            + (f", not {', '.join(unusual)}" if unusual else ""),
            f"AP force {knee['ap_force_N'][0]:.0f} to {knee['ap_force_N'][1]:.0f} N, "
            f"internal torque {knee['internal_torque_Nm'][0]:.1f} to "
            f"{knee['internal_torque_Nm'][1]:.1f} N m",
            f"simulated: AP range {cycle['anterior_range_mm']:.2f} mm, rotation range "
            f"{cycle['rotation_range_deg']:.2f} deg, peak pressure "
            f"{max(cycle['medial_peak_pressure_MPa'], cycle['lateral_peak_pressure_MPa']):.1f} MPa"
            f", {counted(len(summary['flags']), 'flag')}; {summary['seconds']:.1f} s",
            f"page: {folder / 'walk.html'}",
        ]
    )


def _write_csv(table: pd.DataFrame, path: Path) -> None:
    with replacing(path) as partial:
        table.to_csv(partial, index=False, float_format="%.9g")


def _ensure_run(file: WalkFile, *, quiet: bool) -> None:
    """Make the run that the walk drives, where there is none and its study is named."""
    run, config = Path(file.walk.run), file.walk.run_config
    if run.exists() or config is None:
        return
    say(f"no run {run} yet: making it from {config}", quiet=quiet)
    run_study(load_config(config), run, quiet=quiet)


def _simulate(
    file: WalkFile, folder: Path, period: float
) -> tuple[dict[str, SimulationResult], dict[str, dict[str, float]], dict[str, float]]:
    """Return the cycle as each model drives it, its outputs, and the time that it took [s]."""
    table = str((folder / _WAVEFORMS).resolve())
    changes = file.simulation | {"waveforms": table, "period_s": period}
    results, outputs, times = {}, {}, {}
    for model in ("original", "surrogate") if file.walk.compare else ("surrogate",):
        setting = setting_of(task_at(Path(file.walk.run), "walk.run", model, changes))
        begun = time.perf_counter()
        result = simulate_inputs(setting, setting.nominal)
        times[model] = time.perf_counter() - begun
        results[model] = result
        outputs[model] = outputs_of(result, wear_of(setting, setting.nominal, result))
    return results, outputs, times
