"""Stage h of a run: the gait cycle by both models, its pictures, and combinations of its inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Annotated, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from dynamics.protocol import ContactModel
from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.simulator.result import SimulationResult
from dynamics.simulator.waveforms import GaitCycle
from dynamics.wear.cycle_wear import (
    FieldContact,
    Patch,
    WearLaw,
    bed_wear,
    measured_patch,
    surrogate_wear,
)
from foundation.base.checks import FloatArray
from foundation.base.loads import LOAD_COLUMNS
from foundation.base.pose import Pose
from foundation.surface_contact import NodalContact, SurfaceContact
from foundation.surfaces.decimation import coarse_copy
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.errors import StageError
from pipeline.execution import IN_THIS_PROCESS, Execution
from pipeline.files import write_npz
from pipeline.originals.knee import OriginalModel
from pipeline.progress import bar, say
from pipeline.simulation import (
    GaitSimulation,
    compare,
    cycle_differences,
    flag_texts,
    simulation_table,
)
from pipeline.stages.assessment import speed
from pipeline.stages.elastic_layer import elastic_layer, node_spacing, resolution
from pipeline.stages.run_folder import Run
from pipeline.store.documents import Shape
from pipeline.store.run_documents import (
    ELASTIC_LAYER,
    MODELS,
    CombinationResult,
    Combinations,
    Cost,
    Difference,
    Failure,
    NodeSpacing,
    Resolution,
    Simulation,
    Speed,
)
from pipeline.store.samples import without, write_table
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.space import ReferencePath

#: Instants of the frames [% of the cycle].
FRAME_INSTANTS = tuple(np.linspace(0.0, 100.0, 51).tolist())
#: A femur, and a plateau, with more triangles are simplified.
MOST_TRIANGLES, MOST_OF_PLATEAU = 12000, 20000
_PEAK, _CENTRE = LOAD_COLUMNS.index("peak_pressure_Pa"), LOAD_COLUMNS.index("cop_x_m")


@dataclass(frozen=True, eq=False)
class Frames:
    """The knee at instants (K,) of the cycle [%], `frames.npz`."""

    #: Instants [% of the cycle].
    gait_percent: Annotated[FloatArray, ("K",)]
    #: Poses of the cycle driven by the original model [rad, m].
    poses: Annotated[FloatArray, ("K", 6)]
    #: Vertices of the simplified femur, femoral frame [m].
    femur_vertices: Annotated[FloatArray, ("V", 3)]
    femur_faces: Annotated[NDArray[np.int64], ("G", 3)]
    #: Vertices of the simplified plateau, tibial frame [m].
    tibia_vertices: Annotated[FloatArray, ("U", 3)]
    tibia_faces: Annotated[NDArray[np.int64], ("F", 3)]
    #: Pressure of the original model at `poses`.
    pressure_Pa: Annotated[NDArray[np.float32], ("K", "F")]
    #: Centres of pressure by model, medial and lateral, tibial frame; NaN without contact.
    centre_m: Annotated[FloatArray, (2, "K", 2, 3)]


@dataclass(frozen=True, eq=False)
class WearOfCycle:
    """Wear (2, 2) [m³] of one cycle by both models, each on its own motion, `wear.npz`."""

    #: Vertices and triangles of the plateau, tibial frame [m].
    vertices: Annotated[FloatArray, ("V", 3)]
    faces: Annotated[NDArray[np.int64], ("F", 3)]
    #: Wear factor and what cross-shear adds [1/Pa], wear coefficient and what it adds [1].
    law: Annotated[FloatArray, (4,)]
    density_kg_per_m3: Annotated[FloatArray, ()]
    #: By pressures of the original, by loads or fields of the surrogate; medial and lateral.
    volume_m3: Annotated[FloatArray, (2, 2)]
    #: Depths worn off each tibial triangle, its cross-shear [1] and sliding distance in contact.
    depth_m: Annotated[FloatArray, (2, "F")]
    cross_shear: Annotated[FloatArray, (2, "F")]
    distance_m: Annotated[FloatArray, (2, "F")]
    #: Area that wears [m²] and centre of the worn volume [m] by model and compartment; the centre
    #: is NaN without wear.
    footprint: Annotated[FloatArray, (2, 2, 4)]
    #: AP over ML axis of the pressure fields of the surrogate's wear, medial and lateral [1].
    aspect: Annotated[FloatArray, (2,)]
    #: Integral of the pressure over force, a factor on the surrogate's forces [1].
    ratio: Annotated[FloatArray, (2,)]


def plateau_pressures(model: SurfaceContact, poses: FloatArray) -> FloatArray:
    """Return the pressure on each tibial triangle (K, F) [Pa] at poses (K, 6) [rad, m]."""
    return np.array([model.spring_state(Pose.from_array(pose)).pressure for pose in poses])


def frames_of(model: SurfaceContact, results: Mapping[str, SimulationResult]) -> Frames:
    """Return the frames of a cycle that was simulated with both models, at the same instants."""
    original = results["original"]
    percent = original.gait_percent
    regular = [np.argmin(np.abs(percent - instant)) for instant in FRAME_INSTANTS]
    highest = np.nan_to_num(original.compartment_loads[..., _PEAK]).argmax(axis=1)
    chosen = np.unique([*regular, *highest])
    loads = np.array([results[name].compartment_loads[:, chosen] for name in MODELS])
    femur, tibia = (
        coarse_copy(model.femur, MOST_TRIANGLES),
        coarse_copy(model.tibia, MOST_OF_PLATEAU),
    )
    nearest = nearest_faces(model.tibia, tibia)
    poses = original.poses[chosen]
    pressure = plateau_pressures(model, poses)[:, nearest]
    return Frames(
        gait_percent=percent[chosen],
        poses=poses,
        femur_vertices=femur.vertices,
        femur_faces=femur.faces,
        tibia_vertices=tibia.vertices,
        tibia_faces=tibia.faces,
        pressure_Pa=pressure.astype(np.float32, order="C"),
        centre_m=np.moveaxis(loads[..., _CENTRE : _CENTRE + 3], 1, 2),
    )


def wear_of_cycle(
    model: SurfaceContact,
    results: Mapping[str, SimulationResult],
    law: WearLaw,
    fields: ContactSurrogate | None = None,
) -> WearOfCycle:
    """Return the wear of a cycle by both models, of the surrogate by loads or `fields`."""
    original = bed_wear(model, results["original"], law)
    patch = measured_patch(model, results["original"])
    if fields is None:
        surrogate = surrogate_wear(results["surrogate"], law, **patch._asdict())
    else:
        contact = FieldContact(fields, model.tibia, model.compartments)
        surrogate = bed_wear(contact, results["surrogate"], law)
    both = original, surrogate
    return WearOfCycle(
        vertices=model.tibia.vertices,
        faces=model.tibia.faces,
        law=np.array(law.constants),
        density_kg_per_m3=np.array(law.density),
        volume_m3=np.array([wear.volume for wear in both]),
        depth_m=np.array([wear.depth for wear in both]),
        cross_shear=np.array([wear.sliding.cross_shear for wear in both]),
        distance_m=np.array([wear.sliding.distance for wear in both]),
        footprint=np.array([wear.footprint for wear in both]),
        aspect=patch.aspect,
        ratio=np.array(patch.ratio),
    )


def shapes_of(kind: type[Frames | WearOfCycle]) -> dict[str, Shape]:
    """Return the shapes of the arrays of a dataclass by the names of its fields."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name].__metadata__[0] for field in fields(kind)}


def write_arrays(path: Path, content: Frames | WearOfCycle) -> None:
    """Write the arrays of a dataclass under the names of its fields, except those that are None."""
    write_npz(path, **{name: array for name, array in vars(content).items() if array is not None})


def nearest_faces(mesh: TriangleMesh, coarse: TriangleMesh) -> NDArray[np.int64]:
    """Return the triangle (F,) of a mesh that is nearest to each one of its coarse copy."""
    if coarse is mesh:
        return np.arange(len(mesh.faces))
    fine, few = (np.asarray(m.vertices)[np.asarray(m.faces)].mean(axis=1) for m in (mesh, coarse))
    return np.asarray(cKDTree(fine).query(few)[1], dtype=np.int64)


#: Instants at which the mesh is judged [% of the cycle], and least part of their highest pressure.
_JUDGED, _NEAR_PEAK = (13.0, 25.0, 45.0, 70.0), 0.8


def mesh_resolution(model: SurfaceContact, result: SimulationResult) -> dict[str, Resolution]:
    """Return the resolution of each compartment in contact, the worst of instants near the peak."""
    chosen = [int(np.argmin(np.abs(result.gait_percent - instant))) for instant in _JUDGED]
    pressure, resolutions = plateau_pressures(model, result.poses[chosen]), {}
    for side, name in enumerate(model.compartment_names):
        field = np.where(np.asarray(model.compartments) == side, pressure, 0.0)
        peaks = field.max(axis=1)
        judged = [
            field[k]
            for k in np.flatnonzero((peaks > 0.0) & (peaks >= _NEAR_PEAK * peaks.max()))
            # A peak at the rim tells of no ridges.
            if not model.peaks_at_rim(Pose.from_array(result.poses[chosen[k]]), name)
        ]
        rated = [resolution(model.tibia.vertices, model.tibia.faces, row) for row in judged]
        if known := [item for item in rated if item is not None]:
            roughest = max(item.roughness_percent for item in known)
            across = min(item.across for item in known)
            resolutions[name] = Resolution(across=across, roughness_percent=roughest)
    return resolutions


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
) -> list[CombinationResult]:
    """Return the entry [SI] of every combination, simulated with both models.

    `nominal` are results for the nominal inputs, with their `wear`, if they are known.
    """
    tibia = model.tibia if law.by_point else None
    patch = None if wear is None else Patch(wear.aspect, wear.ratio, tibia)
    shared = model, surrogate, drive, law, patch
    entries: dict[int, CombinationResult] = {}
    if nominal is not None and wear is not None:
        entries[0] = _entry(COMBINATIONS[0], dict(nominal), wear.volume_m3.tolist())
        done()
    jobs = [(case, case.applied_to(cycle)) for case in COMBINATIONS[len(entries) :]]
    for position, entry in execution.results(_combined, jobs, *shared):
        entries[len(COMBINATIONS) - len(jobs) + position] = entry
        done()
    return [entries[k] for k in range(len(COMBINATIONS))]


def _combined(
    model: SurfaceContact,
    surrogate: ContactModel,
    drive: Drive,
    law: WearLaw,
    patch: Patch | None,
    combination: Combination,
    cycle: GaitCycle,
) -> CombinationResult:
    """Return the entry of a combination, simulated with both models."""
    models = {"original": lambda: model, "surrogate": lambda: surrogate}
    comparison = compare(models, lambda driving: drive(driving, cycle), law, patch)
    if comparison.failures:
        name, reason = next(iter(comparison.failures.items()))
        return CombinationResult(
            name=combination.name,
            factors=combination.factors,
            failure=Failure(model=name, reason=reason),
        )
    results = {name: cycle_outcome.result for name, cycle_outcome in comparison.cycles.items()}
    volumes = [cycle_outcome.wear.volume.tolist() for cycle_outcome in comparison.cycles.values()]
    return _entry(combination, results, volumes)


def _entry(
    combination: Combination, results: dict[str, SimulationResult], volumes: list[list[float]]
) -> CombinationResult:
    """Return the entry of a combination from the results and worn `volumes` [m³] of both models."""
    return CombinationResult(
        name=combination.name,
        factors=combination.factors,
        differences=cycle_differences(*(results[name] for name in MODELS)),
        wear=dict(zip(MODELS, volumes, strict=True)),
        statistics={name: Cost(**asdict(result.statistics)) for name, result in results.items()},
        flags={name: flag_texts(result) for name, result in results.items()},
    )


_ADVICE = (
    "stage h, driven by the {name}: {error}; knee.npz and validation.json are written: if the "
    "original completes the cycle and the surrogate does not, check the errors of the surrogate "
    "and take more samples"
)
_ALONE = (
    "stage h, driven by the surrogate: {error}; knee.npz and validation.json are written: check "
    "the errors of the surrogate, and that the table covers the poses and loads of the cycle"
)
_OF_COMBINATIONS = "h: combinations of inputs"


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
            _write(run, {"surrogate": result}, {}, None)
            return
        results, wear = _simulate_both(run, gait, model, surrogate)
    if run.config.simulation.combinations:
        with run.timed(_OF_COMBINATIONS):
            _combinations(run, gait, model, surrogate, results, wear)
    else:
        (run.folder / "combinations.json").unlink(missing_ok=True)


def _simulate_both(
    run: Run, gait: GaitSimulation, model: SurfaceContact, surrogate: ContactSurrogate
) -> tuple[dict[str, SimulationResult], WearOfCycle]:
    """Simulate the cycle with both models; write and return results and wear."""
    results = {
        # The first simulation of a process fills caches: of so short a cycle, the second is timed.
        "surrogate": _simulated(gait, surrogate, "surrogate", _ADVICE, times=2),
        "original": _simulated(gait, model, "original", _ADVICE),
    }
    write_table(simulation_table(results), run.folder / "simulation.parquet")
    write_arrays(run.folder / "frames.npz", frames_of(model, results))
    fields, start = None if surrogate.fields is None else surrogate, time.perf_counter()
    wear = wear_of_cycle(model, results, gait.wear_law, fields)
    cycles = sum(result.statistics.elapsed for result in results.values())
    run.stages.measured(_OF_COMBINATIONS, cycles + time.perf_counter() - start)
    write_arrays(run.folder / "wear.npz", wear)
    times = speed(model, surrogate, results["original"].poses)
    spacing = _node_spacing(model, results["original"])
    say("  contact model against the elastic layer, at equal loads")
    run.write_json(ELASTIC_LAYER, elastic_layer(run.config, model, results["original"]))
    differences = cycle_differences(*(results[name] for name in MODELS))
    resolutions = mesh_resolution(model, results["original"])
    _write(run, results, differences, times, spacing, resolutions)
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
    differences: dict[str, Difference],
    times: Speed | None,
    spacing: NodeSpacing | None = None,
    found: dict[str, Resolution] | None = None,
) -> None:
    """Write `simulation.json`."""
    content = Simulation(
        statistics={name: Cost(**asdict(r.statistics)) for name, r in results.items()},
        flags={name: flag_texts(r) for name, r in results.items()},
        flag_kinds={name: [flag.flag.kind for flag in r.flags] for name, r in results.items()},
        flagged={name: [r.flagged, len(r.time)] for name, r in results.items()},
        differences=differences,
        speed=times,
        node_spacing=spacing,
        resolution=found or {},
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
        rows = compare_combinations(
            *(model, surrogate, gait, gait.cycle, law),
            nominal=nominal,
            wear=wear,
            execution=run.execution,
            done=shown.update,
        )
    content = Combinations(wear_factor_per_Pa=law.factor, combinations=rows)
    run.write_json("combinations.json", content)
