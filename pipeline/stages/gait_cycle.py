"""Stage h of a run: the gait cycle by both models, its tables, maps, wear and combinations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from dynamics.protocol import ContactModel
from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.simulator.result import SimulationResult
from dynamics.simulator.waveforms import GaitCycle
from dynamics.wear.wear_law import WearLaw
from foundation.loads import COMPARTMENTS
from foundation.pose import Pose
from pipeline.config.simulation_schema import SimulationConfig
from pipeline.files import replacing
from pipeline.originals.original import Knee
from pipeline.originals.table_original import Original, TableOriginal, mask_predictions
from pipeline.progress import bar
from pipeline.stages import StageError
from pipeline.stages.assessment import speed
from pipeline.stages.combinations import COMBINATIONS, Drive, compare_combinations, told
from pipeline.stages.frames import frames_of, wear_of_cycle, write_arrays
from pipeline.stages.simulation import (
    compare_cycles,
    gait_cycle,
    gait_simulator,
    simulate_gait,
    simulation_table,
)
from pipeline.store.run_folder import Run
from pipeline.store.samples import write_table
from surrogates.formulations.whole_knee import AnyKnee
from surrogates.sampling.space import ReferencePath

_ADVICE = (
    "stage h, driven by the {name}: {error}; knee.npz and validation.json are written: if the "
    "original ends and the surrogate does not, look at the surrogate's errors and take more samples"
)
_ALONE = (
    "stage h, driven by the surrogate: {error}; knee.npz and validation.json are written: look at "
    "the surrogate's errors, and whether the table holds the poses and loads of the cycle"
)
#: Instants of the cycle at which the pressure is mapped [% of the cycle].
MAP_INSTANTS = (13.0, 25.0, 45.0, 70.0)


def simulate_both(run: Run, knee: Knee, main: AnyKnee, path: ReferencePath) -> None:
    """Stage h: both models through the same simulator; tables, maps, wear and combinations."""
    config = run.config.simulation
    start = Pose.from_array(path.poses(np.zeros(1))[0])
    simulator = gait_simulator(config, path)

    def drive(model: ContactModel, cycle: GaitCycle) -> SimulationResult:
        return simulate_gait(model, simulator, config, start, cycle=cycle)

    results, nominal = {}, gait_cycle(config)
    for name, model in (("surrogate", main), ("original", knee.model)):
        with bar(100, "%", name, quiet=run.quiet) as shown:
            try:
                simulate_gait(model, simulator, config, start, _percent(shown))
                # Compiling is part of the first simulation of a process, so the second is timed.
                results[name] = drive(model, nominal)
            except (EquilibriumError, SimulationError) as error:
                raise StageError(_ADVICE.format(name=name, error=error)) from error
    table = simulation_table(results)
    write_table(table, run.folder / "simulation.parquet")
    _write_maps(run.folder / "pressure_maps.npz", knee, results)
    write_arrays(run.folder / "frames.npz", frames_of(knee, results))
    write_arrays(run.folder / "wear.npz", wear_of_cycle(knee, results, wear_law(config)))
    _combinations(run, knee, main, drive, results)
    content = {
        "statistics": {name: asdict(r.statistics) for name, r in results.items()},
        "flags": {name: [told(f) for f in r.flags] for name, r in results.items()},
        "differences": compare_cycles(table),
        "speed": speed(knee.model, main, results["original"].poses),
    }
    run.write_json("simulation.json", content)


def simulate_cycle(run: Run, original: Original, main: AnyKnee, path: ReferencePath) -> None:
    """Stage h: by both models, or by the surrogate alone where a table is the original."""
    if isinstance(original, TableOriginal):
        simulate_alone(run, original, main, path)
    else:
        simulate_both(run, original, main, path)


def simulate_alone(run: Run, table: TableOriginal, main: AnyKnee, path: ReferencePath) -> None:
    """Stage h without an original model: the cycle driven by the surrogate of a table."""
    config = run.config.simulation
    start = Pose.from_array(path.poses(np.clip(np.zeros(1), *path.flexion[[0, -1]]))[0])
    with bar(100, "%", "surrogate", quiet=run.quiet) as shown:
        try:
            simulator, tell = gait_simulator(config, path), _percent(shown)
            result = simulate_gait(main, simulator, config, start, tell)
        except (EquilibriumError, SimulationError) as error:
            raise StageError(_ALONE.format(error=error)) from error
    heads = ("", *(f"{part}_" for part in (*COMPARTMENTS, "total")))
    columns = mask_predictions(simulation_table({"surrogate": result}), table, heads)
    write_table(columns, run.folder / "simulation.parquet")
    content = {
        "statistics": {"surrogate": asdict(result.statistics)},
        "flags": {"surrogate": [told(f) for f in result.flags]},
        "differences": [],
        "speed": None,
    }
    run.write_json("simulation.json", content)


def _percent(shown: tqdm[Any]) -> Callable[[float], None]:
    def advance(part: float) -> None:
        shown.update(int(100 * part) - shown.n)

    return advance


def wear_law(config: SimulationConfig) -> WearLaw:
    """Return the wear law of a configuration."""
    return WearLaw(1e-9 * config.wear_factor_mm3_per_Nm, 1e3 * config.density_g_per_cm3)


def _combinations(
    run: Run, knee: Knee, main: AnyKnee, drive: Drive, nominal: dict[str, SimulationResult]
) -> None:
    """Store the comparison on all combinations of inputs, or remove that of an earlier run."""
    files = [run.folder / f"combinations.{kind}" for kind in ("json", "parquet")]
    if not run.config.simulation.combinations:
        for file in files:
            file.unlink(missing_ok=True)
        return
    cycle, law = gait_cycle(run.config.simulation), wear_law(run.config.simulation)
    with bar(len(COMBINATIONS), "combination", "combinations", quiet=run.quiet) as shown:
        rows, table = compare_combinations(
            knee, main, drive, cycle, law, nominal=nominal, done=shown.update
        )
    write_table(table, files[1])
    run.write_json(files[0].name, {"wear_factor_per_Pa": law.factor, "combinations": rows})


def _write_maps(path: Path, knee: Knee, results: dict[str, SimulationResult]) -> None:
    """Store the plateau's pressures at a few instants, at the poses that each model led to."""
    percent = results["original"].gait_percent
    chosen = [int(np.argmin(np.abs(percent - instant))) for instant in MAP_INSTANTS]
    pressures = [
        [knee.model.spring_state(Pose.from_array(result.poses[k])).pressure for k in chosen]
        for result in (results["original"], results["surrogate"])
    ]
    with replacing(path) as partial, partial.open("wb") as stream:
        np.savez_compressed(
            stream,
            vertices=knee.model.tibia.vertices,
            faces=knee.model.tibia.faces,
            gait_percent=percent[chosen],
            pressure_Pa=np.array(pressures),
        )
