"""Stage h: knee simulator and gait cycle of a study, wear and outputs, comparison of models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from dynamics.ligaments.bundle_tables import (
    LENHART_LIGAMENTS,
    SHIPPED_LIGAMENTS,
    Place,
    ligaments_of,
    load_ligaments,
)
from dynamics.ligaments.bundles import Ligament
from dynamics.musculoskeletal.osim_ligaments import OsimLigaments
from dynamics.protocol import ContactModel
from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.simulator.integrator import simulate
from dynamics.simulator.knee_simulator import APPLIED_COLUMNS, KneeSimulator
from dynamics.simulator.result import SimulationResult
from dynamics.simulator.waveform_tables import ACTIVITIES, load_gait_cycle
from dynamics.simulator.waveforms import GaitCycle
from dynamics.wear.cycle_wear import Patch, Wear, WearLaw, bed_wear, measured_patch, surrogate_wear
from dynamics.wear.lifetime import CreepLaw
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError, PoseError
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose
from foundation.surface_contact import SurfaceContact
from foundation.surfaces.mesh import placement
from pipeline.config.data_folder import data_file
from pipeline.config.knee_schema import MeshConfig
from pipeline.config.reading import ConfigError
from pipeline.config.schema import require_simulator
from pipeline.config.schema_base import naming_keys, near, table_expected
from pipeline.config.stage_schema import SimulationConfig
from pipeline.store.quantities import quantity_of
from pipeline.store.run_documents import COMPARED, Difference, Judgement
from surrogates.sampling.space import ReferencePath

#: Keys that give what the knee simulator calls otherwise and has limits for.
_SIMULATOR_KEYS = {
    "medial_offset": "simulation.medial_offset_mm",
    "anterior_offset": "simulation.anterior_offset_mm",
}
#: Parameters of the free coordinates, in the order of the configuration.
_OF_COORDINATES = (
    *("adduction_inertia", "rotation_inertia"),
    *("anterior_mass", "superior_mass", "lateral_mass"),
    *("adduction_damping", "rotation_damping"),
    *("anterior_damping", "superior_damping", "lateral_damping"),
)
#: Shipped tables by name, by the key of [simulation] that takes the name.
_SHIPPED = {"waveforms": ACTIVITIES, "ligaments": {SHIPPED_LIGAMENTS: LENHART_LIGAMENTS}}
T = TypeVar("T")


def build_simulator(config: SimulationConfig, neutral: Pose | ReferencePath) -> KneeSimulator:
    """Return the knee simulator of a configuration, its springs slack at `neutral`."""
    per_degree = 180.0 / np.pi
    inertias = config.inertia_kg_m2, config.mass_kg
    values = chain(*inertias, config.damping_Nm_s_per_rad, config.damping_N_s_per_m)
    with naming_keys(_SIMULATOR_KEYS):
        return KneeSimulator(
            **dict(zip(_OF_COORDINATES, values, strict=True)),
            medial_offset=1e-3 * config.medial_offset_mm,
            anterior_offset=1e-3 * config.anterior_offset_mm,
            anterior_stiffness=1e3 * config.ap_stiffness_N_per_mm,
            anterior_gap=1e-3 * config.ap_gap_mm,
            rotation_stiffness=per_degree * config.rotation_stiffness_Nm_per_deg,
            rotation_gap=config.rotation_gap_deg / per_degree,
            lateral_stiffness=1e3 * config.lateral_stiffness_N_per_mm,
            adduction_stiffness=per_degree * config.adduction_stiffness_Nm_per_deg,
            neutral=neutral,
            ligaments=gait_ligaments(config),
        )


def gait_ligaments(config: SimulationConfig) -> tuple[Ligament, ...]:
    """Return the ligament bundles of a configuration, in the frames of the bones."""
    if config.ligaments is None:
        return ()
    if config.ligaments in _SHIPPED["ligaments"]:
        return load_ligaments(_SHIPPED["ligaments"][config.ligaments])
    places = ligament_places(config)
    if (model := osim_ligaments(config)) is not None:
        return ligaments_of(model.table(), **places)
    return _content("ligaments", config.ligaments, partial(load_ligaments, **places))


def osim_ligaments(config: SimulationConfig) -> OsimLigaments | None:
    """Return the ligaments of the OpenSim model that a configuration names, None for a table."""
    if config.ligaments is None or not config.ligaments.endswith(".osim"):
        return None
    meshes = config.knee.femur, config.knee.tibia
    files = (() if mesh is None else mesh.files for mesh in meshes)
    return OsimLigaments(data_file(config.ligaments), *files)


def ligament_places(config: SimulationConfig) -> dict[str, Any]:
    """Return the side and the places of the mesh files, as `load_ligaments` takes them."""
    knee = config.knee
    return {"side": knee.side, "femur": _place(knee.femur), "tibia": _place(knee.tibia)}


def _place(mesh: MeshConfig | None) -> Place | None:
    """Return the function from points of a mesh file [m] to the frame of the bone."""
    if mesh is None:
        return None
    return placement(mesh.axes, np.radians(mesh.rotation_deg), 1e-3 * np.array(mesh.origin_mm))


def _content(key: str, table: str, read: Callable[[Path], T]) -> T:
    """Return the content of a shipped table, or of the file in its place."""
    shipped = _SHIPPED[key]
    path = shipped.get(table) or data_file(table)
    try:
        return read(path)
    except OSError as error:
        expected = f"{table_expected(shipped)}{near(path.stem, shipped)}"
        raise ConfigError(f"simulation.{key}: {path}: {error.strerror}; {expected}") from error


def gait_simulator(config: SimulationConfig, path: ReferencePath) -> KneeSimulator:
    """Return the knee simulator of stage h, its springs slack as the configuration says."""
    return build_simulator(config, neutral_about(config, path))


def neutral_about(config: SimulationConfig, path: ReferencePath) -> Pose | ReferencePath:
    """Return where the springs of stage h are slack, see `gait_simulator`."""
    if config.restraint_about == "path":
        return path
    return fixed_neutral(config, Pose.from_array(path.poses(path.flexion[:1])[0]))


def fixed_neutral(config: SimulationConfig, pose: Pose) -> Pose:
    """Return the pose in which fixed springs are slack: that of a configuration, else `pose`."""
    anterior = config.neutral_anterior_mm
    return Pose(
        anterior=pose.anterior if anterior is None else 1e-3 * anterior,
        superior=pose.superior,
        lateral=1e-3 * config.neutral_lateral_mm,
    )


def gait_cycle(config: SimulationConfig) -> GaitCycle:
    """Return the inputs over the cycle."""
    read = partial(load_gait_cycle, period_s=config.period_s, axial_scale=config.axial_scale)
    return _content("waveforms", config.waveforms, read)


def _start_on(path: ReferencePath) -> Pose:
    """Return the pose of a path at zero flexion, or at the knot nearest to it."""
    flexion = np.clip(np.zeros(1), path.flexion[0], path.flexion[-1])
    return Pose.from_array(path.poses(flexion)[0])


@dataclass(frozen=True, eq=False)
class GaitSimulation:
    """The gait cycle of a study; `start` is near the static equilibrium at its beginning."""

    config: SimulationConfig
    simulator: KneeSimulator
    cycle: GaitCycle
    start: Pose

    @classmethod
    def of(cls, config: SimulationConfig, path: ReferencePath) -> GaitSimulation:
        """Return the gait cycle of a configuration from the path nearest to zero flexion."""
        require_simulator(config, "a simulated cycle")
        return cls(config, gait_simulator(config, path), gait_cycle(config), _start_on(path))

    def about(self, path: ReferencePath) -> GaitSimulation:
        """Return the gait cycle of the same configuration about another path, as `of`."""
        neutral = neutral_about(self.config, path)
        simulator = replace(self.simulator, neutral=neutral)
        return replace(self, simulator=simulator, start=_start_on(path))

    @property
    def wear_law(self) -> WearLaw:
        """Wear law of the insert."""
        config, density = self.config, 1e3 * self.config.density_g_per_cm3
        if config.wear_law == "coefficient":
            by_area = config.wear_coefficient, config.wear_coefficient_cross_shear
            return WearLaw(0.0, density, 0.0, *by_area)
        added = config.wear_factor_cross_shear_mm3_per_Nm
        return WearLaw(1e-9 * config.wear_factor_mm3_per_Nm, density, 1e-9 * added)

    @property
    def creep_law(self) -> CreepLaw:
        """Creep law of the insert."""
        return CreepLaw(1e-6 * self.config.creep_per_MPa, 1e-6 * self.config.creep_per_MPa_decade)

    def __call__(
        self,
        model: ContactModel,
        cycle: GaitCycle | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> SimulationResult:
        """Simulate the cycle, or other inputs; `progress` takes the part that is done [1]."""
        return simulate(
            model,
            self.simulator,
            self.cycle if cycle is None else cycle,
            cycles=self.config.cycles,
            samples=self.config.samples,
            rtol=self.config.relative_tolerance,
            start=self.start,
            progress=progress,
        )


def simulation_table(results: dict[str, SimulationResult]) -> pd.DataFrame:
    """Return a row per model and instant: pose, loads of each compartment and total, inputs."""
    parts = []
    for name, result in results.items():
        columns = result.columns()
        inputs = {f"input_{c}" if c in APPLIED_COLUMNS else c: v for c, v in columns.items()}
        parts.append(pd.DataFrame({"model": name, **inputs}))
    return pd.concat(parts, ignore_index=True)


def cycle_differences(
    original: SimulationResult, surrogate: SimulationResult
) -> dict[str, Difference]:
    """Return the differences of the surrogate-driven cycle from the original-driven, by column."""
    truth, other = original.columns(), surrogate.columns()
    return {
        name: Difference(
            rms=float(np.sqrt(np.mean((other[name] - truth[name]) ** 2))),
            largest=float(np.abs(other[name] - truth[name]).max()),
            range=float(np.ptp(truth[name])),
            peak=float(np.abs(truth[name]).max()),
            surrogate_peak=float(np.abs(other[name]).max()),
        )
        for name in COMPARED
    }


#: Errors of a cycle that become the reason of its failure; others are faults of the program.
FAILURES = (
    *(SimulationError, EquilibriumError, InputError, PoseError, ArithmeticError),
    np.linalg.LinAlgError,
)
#: Simulation of the cycle with a contact model.
Drive = Callable[[ContactModel], SimulationResult]


@dataclass(frozen=True, eq=False)
class ModelCycle:
    """The gait cycle that a contact model drives, with wear by its pressures or by its loads."""

    model: ContactModel
    result: SimulationResult
    law: WearLaw
    given: Patch | None = None

    @cached_property
    def patch(self) -> Patch:
        """Contact patches over the cycle."""
        if isinstance(self.model, SurfaceContact):
            return measured_patch(self.model, self.result)
        return Patch(np.ones(2), None) if self.given is None else self.given

    @cached_property
    def wear(self) -> Wear:
        """Wear of the cycle."""
        if isinstance(self.model, SurfaceContact):
            return bed_wear(self.model, self.result, self.law)
        patch = self.patch if self.law.by_point else self.patch._replace(tibia=None)
        return surrogate_wear(self.result, self.law, **patch._asdict())

    @cached_property
    def outputs(self) -> dict[str, float]:
        """Outputs of the cycle, by the names of `OUTPUTS`."""
        return cycle_outputs(self.result, self.wear)


class Comparison(NamedTuple):
    """Gait cycles by the names of their models, and reasons of the models without one."""

    cycles: dict[str, ModelCycle]
    failures: dict[str, str]

    @property
    def errors(self) -> dict[str, float]:
        """Errors of the surrogate, as of `cycle_errors`; none without the cycles of both models."""
        if self.failures or not self.cycles.keys() >= {"original", "surrogate"}:
            return {}
        return cycle_errors(self.cycles["original"], self.cycles["surrogate"])


def compare(
    models: Mapping[str, Callable[[], ContactModel]],
    drive: Drive,
    law: WearLaw,
    patch: Patch | None = None,
) -> Comparison:
    """Drive the gait cycle with each model, which a function makes, in their order.

    Models without surfaces have the contact patches `patch`, by default those of the first with.
    """
    cycles, failures = dict[str, ModelCycle](), dict[str, str]()
    for name, make in models.items():
        given = patch
        if given is None:
            measured = (c for c in cycles.values() if isinstance(c.model, SurfaceContact))
            given = next((cycle.patch for cycle in measured), None)
        try:
            model = make()
            cycle = ModelCycle(model, drive(model), law, given)
            cycle.outputs  # noqa: B018  # The wear may fail too.
        except FAILURES as error:
            failures[name] = " ".join(str(error).split())
        else:
            cycles[name] = cycle
    return Comparison(cycles, failures)


def cycle_errors(truth: ModelCycle, other: ModelCycle) -> dict[str, float]:
    """Return the errors of a model over a cycle [%], the worse compartment's."""
    differences = cycle_differences(truth.result, other.result)
    travel, wear = "anterior_range_mm", "total_wear_mm3_per_million_cycles"

    def worst(column: str) -> float:
        found = [differences[f"{name}_{column}"] for name in COMPARTMENTS]
        return max(100.0 * each.rms / max(each.peak, np.finfo(float).tiny) for each in found)

    return {
        "gait_force_percent": worst("force_y_N"),
        "ap_travel_percent": _relative(truth.outputs[travel], other.outputs[travel]),
        "wear_percent": _relative(truth.outputs[wear], other.outputs[wear]),
        "peak_percent": worst("peak_pressure_Pa"),
    }


def _relative(truth: float, other: float) -> float:
    return 100.0 * abs(other - truth) / max(abs(truth), np.finfo(float).tiny)


def flag_texts(result: SimulationResult) -> list[str]:
    """Return the flags of a simulation in words, with their share of the reported instants."""
    instants = len(result.time)
    return [
        f"{each.flag} at {each.time:.3f} s, the first of {each.samples} instants "
        f"({100.0 * each.samples / instants:.0f} % of the cycle)"
        for each in result.flags
    ]


_MILLIONS = 1e6


class Output(NamedTuple):
    """Label and unit of an output, and the column of the cycle that the output is made of."""

    label: str
    unit: str
    column: str = ""

    @property
    def axis(self) -> str:
        """Label of an axis, with the unit."""
        return f"{self.label} [{self.unit}]"


#: Waveforms of a cycle, by their columns.
WAVES = {
    "anterior_mm": Output("AP position", "mm", "anterior_m"),
    "rotation_deg": Output("internal rotation", "°", "rotation_rad"),
    "adduction_deg": Output("adduction", "°", "adduction_rad"),
    "medial_force_N": Output("medial axial force", "N", "medial_force_y_N"),
    "lateral_force_N": Output("lateral axial force", "N", "lateral_force_y_N"),
}
_MOTIONS = ("anterior_mm", "rotation_deg", "adduction_deg")
#: Outputs of a cycle, by their columns.
OUTPUTS = {
    **{
        f"{part}_force_{kind}_N": Output(f"{part} axial force, {kind}", "N", f"{part}_force_y_N")
        for part in COMPARTMENTS
        for kind in ("peak", "mean")
    },
    **{
        f"{part}_peak_pressure_MPa": Output(
            f"{part} peak pressure", "MPa", f"{part}_peak_pressure_Pa"
        )
        for part in COMPARTMENTS
    },
    "area_max_mm2": Output("contact area, largest", "mm²", "total_area_m2"),
    **{
        name.replace("_", f"_{kind}_"): WAVES[name]._replace(label=f"{WAVES[name].label}, {kind}")
        for name in _MOTIONS
        for kind in ("range", "min", "max")
    },
    **{
        f"{part}_wear_mm3_per_million_cycles": Output(
            f"{part} wear", "mm³ per million cycles", f"{part}_wear"
        )
        for part in (*COMPARTMENTS, "total")
    },
}
#: Outputs with pictures and lines on the terminal.
KEY_OUTPUTS = (
    "medial_force_peak_N",
    "medial_peak_pressure_MPa",
    "anterior_range_mm",
    "rotation_range_deg",
    "total_wear_mm3_per_million_cycles",
)


def cycle_outputs(result: SimulationResult, wear: Wear) -> dict[str, float]:
    """Return the outputs of a simulated cycle and its wear, in the order of `OUTPUTS`."""
    columns, waves, percent = result.columns(), cycle_waves(result), result.gait_percent
    values = {"area_max_mm2": 1e6 * columns["total_area_m2"].max()}
    for part in COMPARTMENTS:
        force = waves[f"{part}_force_N"]
        values[f"{part}_force_peak_N"] = force.max()
        values[f"{part}_force_mean_N"] = np.trapezoid(force, percent) / np.ptp(percent)
        values[f"{part}_peak_pressure_MPa"] = 1e-6 * np.max(
            np.nan_to_num(columns[f"{part}_peak_pressure_Pa"])
        )
    for name in _MOTIONS:
        for kind, statistic in (("range", np.ptp), ("min", np.min), ("max", np.max)):
            values[name.replace("_", f"_{kind}_")] = statistic(waves[name])
    volumes = zip((*COMPARTMENTS, "total"), (*wear.volume, wear.total_volume), strict=True)
    for part, volume in volumes:
        values[f"{part}_wear_mm3_per_million_cycles"] = 1e9 * _MILLIONS * volume
    return {name: float(values[name]) for name in OUTPUTS}


def model_errors(
    outputs: Mapping[str, Output], values: Mapping[str, float], judged: Judgement | None
) -> dict[str, float | None]:
    """Return the error of the `judged` contact model in values of outputs; None if unknown."""
    errors = {} if judged is None else {error.column: error for error in judged.errors}
    found = {name: errors.get(outputs[name].column) for name in values}
    return {
        name: None if error is None else error.in_value(values[name])
        for name, error in found.items()
    }


def cycle_waves(result: SimulationResult) -> dict[str, FloatArray]:
    """Return the waveforms of a simulated cycle, (N,) each [mm, °, N], in the order of `WAVES`."""
    columns = result.columns()
    return {
        name: quantity_of(wave.column).for_people(columns[wave.column])
        for name, wave in WAVES.items()
    }
