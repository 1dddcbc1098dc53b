"""Stage h of a run: the gait cycle by both models, its tables, maps, wear and combinations."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from dynamics.protocol import ContactModel
from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.simulator.result import SimulationResult
from foundation.surface_contact import NodalContact, SurfaceContact
from pipeline.originals.protocol import OriginalModel
from pipeline.progress import bar, say
from pipeline.simulation import GaitSimulation, compare_cycles, simulation_table
from pipeline.stages import StageError
from pipeline.stages.assessment import speed
from pipeline.stages.combinations import COMBINATIONS, compare_combinations
from pipeline.stages.elastic_layer import elastic_layer, node_spacing
from pipeline.stages.frames import (
    PressureMaps,
    WearOfCycle,
    frames_of,
    plateau_pressures,
    wear_of_cycle,
    write_arrays,
)
from pipeline.stages.model_cycles import flag_texts
from pipeline.stages.run_folder import Run
from pipeline.store.run_documents import (
    ELASTIC_LAYER,
    Combinations,
    Cost,
    Difference,
    NodeSpacing,
    Simulation,
    Speed,
)
from pipeline.store.samples import without, write_table
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.space import ReferencePath

_ADVICE = (
    "stage h, driven by the {name}: {error}; knee.npz and validation.json are written: if the "
    "original completes the cycle and the surrogate does not, check the errors of the surrogate "
    "and take more samples"
)
_ALONE = (
    "stage h, driven by the surrogate: {error}; knee.npz and validation.json are written: check "
    "the errors of the surrogate, and that the table covers the poses and loads of the cycle"
)
#: Instants of the pressure maps [% of the cycle].
MAP_INSTANTS = (13.0, 25.0, 45.0, 70.0)


def simulate_cycle(
    run: Run, original: OriginalModel, surrogate: ContactSurrogate, path: ReferencePath
) -> None:
    """Carry out stage h with both models, or with the surrogate alone of a table."""
    gait, model = GaitSimulation.of(run.config.simulation, path), original.model
    with run.timed("h: gait simulation"):
        if model is None:
            result = _simulated(run, gait, surrogate, "surrogate", _ALONE)
            columns = without(simulation_table({"surrogate": result}), original.not_given)
            write_table(columns, run.folder / "simulation.parquet")
            _write(run, {"surrogate": result}, [], None)
            return
        results, wear = _simulate_both(run, gait, model, surrogate)
    if run.config.simulation.combinations:
        with run.timed("h: combinations of inputs"):
            _combinations(run, gait, model, surrogate, results, wear)
    else:
        for kind in ("json", "parquet"):
            (run.folder / f"combinations.{kind}").unlink(missing_ok=True)


def _simulate_both(
    run: Run, gait: GaitSimulation, model: SurfaceContact, surrogate: ContactSurrogate
) -> tuple[dict[str, SimulationResult], WearOfCycle]:
    """Simulate the cycle with both models; write and return results and wear."""
    results = {
        # The first simulation of a process fills caches: of so short a cycle, the second is timed.
        "surrogate": _simulated(run, gait, surrogate, "surrogate", _ADVICE, times=2),
        "original": _simulated(run, gait, model, "original", _ADVICE),
    }
    table = simulation_table(results)
    write_table(table, run.folder / "simulation.parquet")
    write_arrays(run.folder / "pressure_maps.npz", _maps(model, results))
    write_arrays(run.folder / "frames.npz", frames_of(model, results))
    fields = None if surrogate.fields is None else surrogate
    wear = wear_of_cycle(model, results, gait.wear_law, fields)
    write_arrays(run.folder / "wear.npz", wear)
    times = speed(model, surrogate, results["original"].poses)
    spacing = _node_spacing(run, model, results["original"])
    say(run.stages.step("contact model against the elastic layer, at equal loads"))
    run.write_json(ELASTIC_LAYER, elastic_layer(run.config, model, results["original"]))
    _write(run, results, compare_cycles(table), times, spacing)
    return results, wear


def _node_spacing(run: Run, model: SurfaceContact, result: SimulationResult) -> NodeSpacing | None:
    """Return the error of the node spacing, None for a contact model without nodes."""
    if not isinstance(model, NodalContact):
        return None
    twice = f"{2e3 * model.spacing:g} mm"
    say(run.stages.step(f"error of the node spacing: the same poses with nodes {twice} apart"))
    return node_spacing(model, result.poses)


def _write(
    run: Run,
    results: dict[str, SimulationResult],
    differences: list[Difference],
    times: Speed | None,
    spacing: NodeSpacing | None = None,
) -> None:
    """Write `simulation.json`."""
    content = Simulation(
        statistics={name: Cost.model_validate(asdict(r.statistics)) for name, r in results.items()},
        flags={name: flag_texts(r) for name, r in results.items()},
        flag_kinds={name: [each.flag.kind for each in r.flags] for name, r in results.items()},
        flagged={name: [r.flagged, len(r.time)] for name, r in results.items()},
        differences=differences,
        speed=times,
        node_spacing=spacing,
    )
    run.write_json("simulation.json", content)


def _simulated(
    run: Run, gait: GaitSimulation, model: ContactModel, name: str, advice: str, times: int = 1
) -> SimulationResult:
    """Return the cycle, simulated `times` times, the first time with progress."""
    say(run.stages.step(f"gait cycle driven by the {name}"))
    with bar(100, "%", name) as shown:

        def advance(part: float) -> None:
            shown.update(int(100 * part) - shown.n)

        try:
            result = gait(model, progress=advance)
            for _ in range(times - 1):
                result = gait(model)
        except (EquilibriumError, SimulationError) as error:
            raise StageError(advice.format(name=name, error=error)) from error
    return result


def _combinations(
    run: Run,
    gait: GaitSimulation,
    model: SurfaceContact,
    surrogate: ContactSurrogate,
    nominal: dict[str, SimulationResult],
    wear: WearOfCycle,
) -> None:
    """Compare both models on all combinations of inputs, and store the comparison."""
    law = gait.wear_law
    with bar(len(COMBINATIONS), "combination", "simulated") as shown:
        rows, table = compare_combinations(
            *(model, surrogate, gait, gait.cycle, law),
            nominal=nominal,
            wear=wear,
            execution=run.execution,
            done=shown.update,
        )
    write_table(table, run.folder / "combinations.parquet")
    content = Combinations(wear_factor_per_Pa=law.factor, combinations=rows)
    run.write_json("combinations.json", content)


def _maps(model: SurfaceContact, results: dict[str, SimulationResult]) -> PressureMaps:
    """Return the pressures on the plateau at a few instants, at the poses of each model."""
    percent = results["original"].gait_percent
    chosen = [int(np.argmin(np.abs(percent - instant))) for instant in MAP_INSTANTS]
    poses = [results[name].poses[chosen] for name in ("original", "surrogate")]
    return PressureMaps(
        vertices=model.tibia.vertices,
        faces=model.tibia.faces,
        gait_percent=percent[chosen],
        pressure_Pa=np.array([plateau_pressures(model, each) for each in poses]),
    )
