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
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.loads import COMPARTMENTS
from foundation.pose import Pose
from pipeline.files import replacing
from pipeline.originals.protocol import OriginalModel
from pipeline.progress import bar
from pipeline.simulation import GaitSimulation, compare_cycles, simulation_table
from pipeline.stages import StageError
from pipeline.stages.assessment import speed
from pipeline.stages.combinations import COMBINATIONS, compare_combinations, told
from pipeline.stages.frames import frames_of, wear_of_cycle, write_arrays
from pipeline.stages.run_folder import Run
from pipeline.store.samples import without, write_table
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


def simulate_cycle(
    run: Run, original: OriginalModel, surrogate: AnyKnee, path: ReferencePath
) -> None:
    """Stage h: by both models, or by the surrogate alone if the original model is a table."""
    gait = GaitSimulation.of(run.config.simulation, path)
    if original.model is None:
        _simulate_alone(run, gait, original, surrogate)
    else:
        _simulate_both(run, gait, original.model, surrogate)


def _simulate_both(
    run: Run, gait: GaitSimulation, model: ElasticFoundation, surrogate: AnyKnee
) -> None:
    """Simulate the cycle with both models; write tables, maps, wear and combinations."""
    results: dict[str, SimulationResult] = {}
    models: dict[str, ContactModel] = {"surrogate": surrogate, "original": model}
    for name, contact in models.items():
        with bar(100, "%", name, quiet=run.quiet) as shown:
            try:
                gait(contact, progress=_percent(shown))
                # The first simulation of a process compiles kernels, so the second is timed.
                results[name] = gait(contact)
            except (EquilibriumError, SimulationError) as error:
                raise StageError(_ADVICE.format(name=name, error=error)) from error
    table = simulation_table(results)
    write_table(table, run.folder / "simulation.parquet")
    _write_maps(run.folder / "pressure_maps.npz", model, results)
    write_arrays(run.folder / "frames.npz", frames_of(model, results))
    write_arrays(run.folder / "wear.npz", wear_of_cycle(model, results, gait.wear_law))
    _combinations(run, gait, model, surrogate, results)
    content = {
        "statistics": {name: asdict(r.statistics) for name, r in results.items()},
        "flags": {name: [told(f) for f in r.flags] for name, r in results.items()},
        "differences": compare_cycles(table),
        "speed": speed(model, surrogate, results["original"].poses),
    }
    run.write_json("simulation.json", content)


def _simulate_alone(
    run: Run, gait: GaitSimulation, original: OriginalModel, surrogate: AnyKnee
) -> None:
    """Simulate the cycle with the surrogate alone."""
    with bar(100, "%", "surrogate", quiet=run.quiet) as shown:
        try:
            result = gait(surrogate, progress=_percent(shown))
        except (EquilibriumError, SimulationError) as error:
            raise StageError(_ALONE.format(error=error)) from error
    heads = ("", *(f"{part}_" for part in (*COMPARTMENTS, "total")))
    columns = without(simulation_table({"surrogate": result}), original.not_given, heads)
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


def _combinations(
    run: Run,
    gait: GaitSimulation,
    model: ElasticFoundation,
    surrogate: AnyKnee,
    nominal: dict[str, SimulationResult],
) -> None:
    """Store the comparison on all combinations of inputs, or remove that of an earlier run."""
    files = [run.folder / f"combinations.{kind}" for kind in ("json", "parquet")]
    if not run.config.simulation.combinations:
        for file in files:
            file.unlink(missing_ok=True)
        return
    with bar(len(COMBINATIONS), "combination", "combinations", quiet=run.quiet) as shown:
        rows, table = compare_combinations(
            model, surrogate, gait, gait.cycle, gait.wear_law, nominal=nominal, done=shown.update
        )
    write_table(table, files[1])
    run.write_json(
        files[0].name, {"wear_factor_per_Pa": gait.wear_law.factor, "combinations": rows}
    )


def _write_maps(path: Path, model: ElasticFoundation, results: dict[str, SimulationResult]) -> None:
    """Store the plateau's pressures at a few instants, at the poses that each model led to."""
    percent = results["original"].gait_percent
    chosen = [int(np.argmin(np.abs(percent - instant))) for instant in MAP_INSTANTS]
    pressures = [
        [model.spring_state(Pose.from_array(result.poses[k])).pressure for k in chosen]
        for result in (results["original"], results["surrogate"])
    ]
    with replacing(path) as partial, partial.open("wb") as stream:
        np.savez_compressed(
            stream,
            vertices=model.tibia.vertices,
            faces=model.tibia.faces,
            gait_percent=percent[chosen],
            pressure_Pa=np.array(pressures),
        )
