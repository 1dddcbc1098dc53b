"""Stage h of a run: the gait cycle by both models, and eleven combinations of its inputs.

By eleven combinations of inputs, Lin, Haftka, Queipo & Fregly (2010, Med Eng Phys 32:584-594)
judged their surrogate. Here each input is higher and lower, and all loads together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd

from dynamics.protocol import ContactModel
from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.simulator.result import SimulationResult
from dynamics.simulator.waveforms import GaitCycle
from dynamics.wear.cycle_wear import WearLaw
from dynamics.wear.wear_map import Patch
from foundation.base.checks import FloatArray
from foundation.surface_contact import NodalContact, SurfaceContact
from pipeline.execution.backends import IN_THIS_PROCESS, Execution
from pipeline.originals.protocol import OriginalModel
from pipeline.progress import bar, say
from pipeline.simulation import GaitSimulation, compare_cycles, simulation_table
from pipeline.stages import StageError
from pipeline.stages.assessment import speed
from pipeline.stages.elastic_layer import elastic_layer, node_spacing
from pipeline.stages.frames import (
    PressureMaps,
    WearOfCycle,
    frames_of,
    plateau_pressures,
    wear_of_cycle,
    write_arrays,
)
from pipeline.stages.model_cycles import compare, flag_texts
from pipeline.stages.run_folder import Run
from pipeline.store.run_documents import (
    ELASTIC_LAYER,
    LOADS,
    MODELS,
    MOTION,
    PRESSURES,
    Combinations,
    Cost,
    Difference,
    Ended,
    Failed,
    Failure,
    NodeSpacing,
    Simulation,
    Speed,
)
from pipeline.store.samples import POSE_COLUMNS, without, write_table
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.space import ReferencePath

#: Columns of the table of all cycles.
TABLE_COLUMNS = ("combination", "model", "gait_percent", *POSE_COLUMNS, *LOADS, *PRESSURES)
# A cycle may prescribe a motion in place of a load.
_MOTIONS = {"ap_force": "anterior", "internal_torque": "rotation"}


@dataclass(frozen=True)
class Combination:
    """Factors on the inputs of a gait cycle, the waveforms by name [1]; `name` is for people."""

    name: str
    axial_force: float = 1.0
    ap_force: float = 1.0
    internal_torque: float = 1.0
    flexion: float = 1.0

    @property
    def factors(self) -> dict[str, float]:
        """Factors by the name of the waveform [1]."""
        return {name: value for name, value in asdict(self).items() if name != "name"}

    def applied_to(self, cycle: GaitCycle) -> GaitCycle:
        """Return the cycle with its inputs, or motions in their place, multiplied."""
        varied = {}
        for name, factor in self.factors.items():
            for driver in (name, _MOTIONS.get(name, name)):
                values = getattr(cycle, driver)
                if values is not None:
                    varied[driver] = factor * values
        return replace(cycle, **varied)


#: The eleven combinations, the unchanged inputs first.
COMBINATIONS = (
    Combination("nominal"),
    Combination("axial force +20 %", axial_force=1.2),
    Combination("axial force −20 %", axial_force=0.8),
    Combination("AP force +25 %", ap_force=1.25),
    Combination("AP force −25 %", ap_force=0.75),
    Combination("torque +25 %", internal_torque=1.25),
    Combination("torque −25 %", internal_torque=0.75),
    Combination("flexion +10 %", flexion=1.1),
    Combination("flexion −10 %", flexion=0.9),
    Combination("all loads high", 1.2, 1.25, 1.25),
    Combination("all loads low", 0.8, 0.75, 0.75),
)


#: Simulation of a cycle with a contact model.
Drive = Callable[[ContactModel, GaitCycle], SimulationResult]


def compare_combinations(
    model: SurfaceContact,
    surrogate: ContactModel,
    drive: Drive,
    cycle: GaitCycle,
    law: WearLaw,
    *,
    nominal: Mapping[str, SimulationResult] | None = None,
    wear: WearOfCycle | None = None,
    execution: Execution = IN_THIS_PROCESS,
    done: Callable[[], object] = lambda: None,
) -> tuple[list[Ended | Failed], pd.DataFrame]:
    """Return the entry [SI] of every combination, simulated with both models, and a table.

    `nominal` are results for the nominal inputs, with their `wear`, if they are known.
    """
    patch = None if wear is None else Patch(wear.aspect, wear.ratio)
    shared = model, surrogate, drive, law, patch
    found: dict[int, tuple[Ended | Failed, pd.DataFrame]] = {}
    if nominal is not None and wear is not None:
        found[0] = _entry(COMBINATIONS[0], dict(nominal), wear.volume_m3.tolist())
        done()
    jobs = [(each, each.applied_to(cycle)) for each in COMBINATIONS[len(found) :]]
    for position, entry in execution.results(_combined, jobs, *shared):
        found[len(COMBINATIONS) - len(jobs) + position] = entry
        done()
    rows, tables = zip(*(found[k] for k in range(len(COMBINATIONS))), strict=True)
    known = [table for table in tables if len(table)]
    return list(rows), pd.concat(known or tables[:1], ignore_index=True)


def _combined(
    model: SurfaceContact,
    surrogate: ContactModel,
    drive: Drive,
    law: WearLaw,
    patch: Patch | None,
    combination: Combination,
    cycle: GaitCycle,
) -> tuple[Ended | Failed, pd.DataFrame]:
    """Return the entry of a combination and the table of its cycles, simulated with both models."""
    models = {"original": lambda: model, "surrogate": lambda: surrogate}
    found = compare(models, lambda driving: drive(driving, cycle), law, patch)
    results = {name: each.result for name, each in found.cycles.items()}
    if found.failures:
        name, reason = next(iter(found.failures.items()))
        failure = Failure(model=name, reason=reason)
        head = {"name": combination.name, "factors": combination.factors}
        return Failed.model_validate({**head, "failure": failure}), _table(combination, results)
    volumes = [each.wear.volume.tolist() for each in found.cycles.values()]
    return _entry(combination, results, volumes)


def _entry(
    combination: Combination, results: dict[str, SimulationResult], volumes: list[list[float]]
) -> tuple[Ended, pd.DataFrame]:
    """Return the entry of a combination and the table of its cycles; `volumes` are worn [m³]."""
    content = {"name": combination.name, "factors": combination.factors}
    entry = Ended.model_validate(content | _compared(results, volumes))
    return entry, _table(combination, results)


def _table(combination: Combination, results: dict[str, SimulationResult]) -> pd.DataFrame:
    """Return the table of the cycles of a combination that were completed."""
    if not results:
        return pd.DataFrame(columns=list(TABLE_COLUMNS))
    return simulation_table(results).assign(combination=combination.name)[list(TABLE_COLUMNS)]


def _compared(
    results: Mapping[str, SimulationResult], volumes: list[list[float]]
) -> dict[str, object]:
    """Return the differences of two cycles, in SI units, and their wear, cost and flags."""
    tables = {name: result.columns() for name, result in results.items()}
    groups = {"loads": LOADS, "motion": MOTION, "pressure": PRESSURES}
    differences = {
        group: {c: _difference(tables, c) for c in columns} for group, columns in groups.items()
    }
    return differences | {
        "failure": None,
        "wear": dict(zip(MODELS, volumes, strict=True)),
        "statistics": {name: asdict(result.statistics) for name, result in results.items()},
        "flags": {name: flag_texts(result) for name, result in results.items()},
    }


def _difference(tables: Mapping[str, Mapping[str, FloatArray]], column: str) -> dict[str, float]:
    truth, other = tables["original"][column], tables["surrogate"][column]
    return {
        "rms": float(np.sqrt(np.mean((other - truth) ** 2))),
        "peak": float(np.abs(truth).max()),
        "range": float(np.ptp(truth)),
        "surrogate_peak": float(np.abs(other).max()),
    }


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
            result = _simulated(gait, surrogate, "surrogate", _ALONE)
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
        "surrogate": _simulated(gait, surrogate, "surrogate", _ADVICE, times=2),
        "original": _simulated(gait, model, "original", _ADVICE),
    }
    table = simulation_table(results)
    write_table(table, run.folder / "simulation.parquet")
    write_arrays(run.folder / "pressure_maps.npz", _maps(model, results))
    write_arrays(run.folder / "frames.npz", frames_of(model, results))
    fields = None if surrogate.fields is None else surrogate
    wear = wear_of_cycle(model, results, gait.wear_law, fields)
    write_arrays(run.folder / "wear.npz", wear)
    times = speed(model, surrogate, results["original"].poses)
    spacing = _node_spacing(model, results["original"])
    say("  contact model against the elastic layer, at equal loads")
    run.write_json(ELASTIC_LAYER, elastic_layer(run.config, model, results["original"]))
    _write(run, results, compare_cycles(table), times, spacing)
    return results, wear


def _node_spacing(model: SurfaceContact, result: SimulationResult) -> NodeSpacing | None:
    """Return the error of the node spacing, None for a contact model without nodes."""
    if not isinstance(model, NodalContact):
        return None
    say(f"  error of the node spacing: the same poses with nodes {2e3 * model.spacing:g} mm apart")
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
    gait: GaitSimulation, model: ContactModel, name: str, advice: str, times: int = 1
) -> SimulationResult:
    """Return the cycle, simulated `times` times, the first time with progress."""
    say(f"  gait cycle driven by the {name}")
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
