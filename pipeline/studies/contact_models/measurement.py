"""What is measured of a contact model, its file, and the truth that all are compared with."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dynamics.protocol import ContactModel
from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.simulator.result import SimulationResult
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError, PoseError
from foundation.base.loads import AREA, AXIAL_FORCE, FORCE, PEAK_PRESSURE
from foundation.base.pose import ANTERIOR, SUPERIOR, Pose
from foundation.finite_element.model import extrapolated
from pipeline.errors import ExecutionError, StageError
from pipeline.files import write_document, write_npz
from pipeline.simulation import GaitSimulation
from pipeline.stages.assessment import median_seconds
from pipeline.stages.model_cycles import flag_texts
from pipeline.store.documents import Shape, read_arrays, read_document
from pipeline.store.run_documents import Computed, Number, Part
from pipeline.studies.contact_models.knee import Built

#: What a contact model, a simulation or a run cannot do; anything else is a fault of the program.
REASONS = (
    InputError,
    PoseError,
    EquilibriumError,
    SimulationError,
    StageError,
    ExecutionError,
)
#: A cycle of less processor time is repeated: the first one fills caches [s].
_REPEATED = 20.0


@dataclass(frozen=True, eq=False)
class Measured:
    """Measurements of one model, with arrays of any shape [SI]."""

    #: Times [s] by name.
    numbers: dict[str, float] = field(default_factory=dict)
    #: `SHAPES` by name; what could not be computed is missing.
    arrays: dict[str, FloatArray] = field(default_factory=dict)
    #: Reason by the part that could not be computed.
    failures: dict[str, str] = field(default_factory=dict)
    #: Flags of the model over its cycle.
    flags: list[str] = field(default_factory=list)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Note why a part could not be computed; the other parts are kept."""
        try:
            yield
        except REASONS as error:
            self.failures[name] = str(error)


def gait_poses(measured: Measured, count: int) -> FloatArray:
    """Return `count` poses (N, 6) [rad, m] evenly over the cycle of a measured model."""
    if "cycle_poses" not in measured.arrays:
        reason = "; ".join(measured.failures.values())
        raise StageError(f"the finite elements, which all models are compared with: {reason}")
    poses = measured.arrays["cycle_poses"]
    return poses[np.unique(np.linspace(0, len(poses), count, endpoint=False).astype(int))]


def measure(built: Built, gait: GaitSimulation, given: FloatArray | None, count: int) -> Measured:
    """Drive the gait cycle with a model, and evaluate the model at given poses (N, 6) [rad, m].

    Without given poses, they are `count` poses of the cycle.
    """
    measured = Measured(numbers={"set_up_s": built.seconds})
    with measured.part("cycle"):
        result, measured.numbers["cycle_s"] = _timed_cycle(gait, built.model)
        measured.flags.extend(flag_texts(result))
        measured.arrays.update(cycle_poses=result.poses, cycle_loads=result.compartment_loads)
    poses = gait_poses(measured, count) if given is None else given
    with measured.part("given poses"):
        loads, jacobians = _at_poses(built.model, poses, measured)
        measured.arrays.update(pose_loads=loads, pose_jacobians=jacobians)
        known = np.flatnonzero(np.isfinite(jacobians).all(axis=(1, 2)))
        if calls := [(Pose.from_array(poses[k]),) for k in known]:
            seconds = median_seconds(partial(built.model.loads, order=1), calls, time.process_time)
            measured.numbers["evaluation_s"] = seconds
    return measured


def _timed_cycle(gait: GaitSimulation, model: ContactModel) -> tuple[SimulationResult, float]:
    """Return the cycle and its processor time [s], of a second simulation where that is short."""
    start = time.process_time()
    result = gait(model)
    seconds = time.process_time() - start
    if seconds < _REPEATED:
        start = time.process_time()
        result = gait(model)
        seconds = time.process_time() - start
    return result, seconds


def _at_poses(
    model: ContactModel, poses: FloatArray, measured: Measured
) -> tuple[FloatArray, FloatArray]:
    """Return loads (N, 2, 12) and Jacobians (N, 6, 6) [SI]; NaN where the model has no answer."""
    loads, jacobians = np.full((len(poses), 2, 12), np.nan), np.full((len(poses), 6, 6), np.nan)
    reasons = []
    for k, pose in enumerate(map(Pose.from_array, poses)):
        try:
            found = model.loads(pose, order=1)
        except REASONS as error:
            reasons.append(str(error))
            continue
        loads[k], jacobians[k] = found.values, found.total_jacobian
    if reasons:
        text = f"{len(reasons)} of {len(poses)} poses without an answer: {reasons[0]}"
        measured.failures["given poses"] = text
    return loads, jacobians


#: Shapes of the arrays: N given poses, M instants of the cycle.
SHAPES: dict[str, Shape] = {
    "cycle_poses": ("M", 6),
    "cycle_loads": (2, "M", 12),
    "pose_loads": ("N", 2, 12),
    "pose_jacobians": ("N", 6, 6),
}
#: A centre of pressure is undefined out of contact, and all at a pose without an answer.
_UNDEFINED = ("cycle_loads", "pose_loads", "pose_jacobians")
#: Folder of the measurements.
FOLDER = "models"


class _Stored(Part):
    """`models/<name>.json`: numbers, reasons and flags of a model."""

    numbers: dict[str, Number] = Field(default_factory=dict)
    failures: dict[str, str] = Field(default_factory=dict)
    flags: list[str] = Field(default_factory=list)


def write_measured(folder: Path, name: str, measured: Measured) -> None:
    """Write the measurements of a model; the document comes last and marks them as complete."""
    target = folder / FOLDER / f"{name}.npz"
    write_npz(target, **{key: np.asarray(array) for key, array in measured.arrays.items()})
    stored = _Stored(numbers=measured.numbers, failures=measured.failures, flags=measured.flags)
    write_document(target.with_suffix(".json"), stored)


def read_measured(folder: Path, name: str) -> Measured | None:
    """Return the measurements of a model, None if there are none, or only a failed attempt."""
    file = folder / FOLDER / f"{name}.json"
    if not file.exists():
        return None
    stored = read_document(file, _Stored)
    if "set-up" in stored.failures:
        return None
    arrays = read_arrays(
        file.with_suffix(".npz"), SHAPES, optional=tuple(SHAPES), undefined=_UNDEFINED
    )
    return Measured(stored.numbers, arrays, stored.failures, stored.flags)


#: Groups of columns that need a truth, and those of the cost.
AT_POSES, OVER_CYCLE, COST = "at given poses", "over the gait cycle", "cost"
#: What is extrapolated for each group, the loads first.
_GROUPS = {
    AT_POSES: ("pose_loads", "pose_jacobians"),
    OVER_CYCLE: ("cycle_loads", "cycle_poses"),
}


@dataclass(frozen=True, eq=False)
class Truth:
    """The extrapolated finite elements, by the names of `Measured.arrays` [SI].

    Groups of columns that are not in `extrapolated` are those of the finer elements as they are,
    and their own error is not known.
    """

    arrays: dict[str, FloatArray]
    #: Whether a compartment is in contact at the given poses, with both spacings, (N, 2).
    touching: NDArray[np.bool_]
    #: Measurements with the finer elements.
    fine: Measured
    #: Groups ("at given poses", "over the gait cycle") with an answer of the coarser elements.
    extrapolated: frozenset[str]


def truth_of(fine: Measured, coarse: Measured | None) -> Truth:
    """Return the extrapolation (Richardson 1911) of the measurements with both spacings.

    Where either is out of contact or without an answer, nothing is extrapolated.
    """
    given = {} if coarse is None else coarse.arrays
    known = frozenset(group for group, names in _GROUPS.items() if given.keys() >= set(names))
    values: dict[str, FloatArray] = {}
    for group, names in _GROUPS.items():
        other = given if group in known else fine.arrays
        values |= {name: _towards(other[name], fine.arrays[name]) for name in names}
        apart = ~_both_touch(fine.arrays[names[0]], other[names[0]])
        values[names[0]][apart] = fine.arrays[names[0]][apart]
    other = given if AT_POSES in known else fine.arrays
    touching = _both_touch(fine.arrays["pose_loads"], other["pose_loads"])
    return Truth(values, touching, fine, known)


def _towards(coarse: FloatArray, fine: FloatArray) -> FloatArray:
    found = extrapolated(coarse, fine)
    return np.where(np.isfinite(found), found, fine)


def _both_touch(one: FloatArray, other: FloatArray) -> NDArray[np.bool_]:
    return np.asarray((one[..., AXIAL_FORCE] > 0.0) & (other[..., AXIAL_FORCE] > 0.0))


class Column(Computed):
    """A column of the table: key (which ends with the unit), heading, and what the figure is."""

    key: str
    label: str
    unit: str
    group: str
    meaning: str


_OF_POSES = "RMS over the given poses and both compartments, over the RMS of the truth"
_OF_CYCLE = (
    "of both compartments over the cycle that the model drives itself, so under the same load: "
    "RMS error over the RMS of the truth"
)
#: The columns, in the order of the table.
COLUMNS = tuple(
    Column(key=key, label=label, unit=unit, group=group, meaning=meaning)
    for key, label, unit, group, meaning in (
        ("force_percent", "force", "%", AT_POSES, f"contact force, a vector: {_OF_POSES}"),
        (
            "stiffness_percent", "stiffness", "%", AT_POSES,
            "derivative of the axial force by the height: RMS over the given poses, over the RMS "
            "of the truth",
        ),
        ("peak_pressure_percent", "peak pressure", "%", AT_POSES, f"peak pressure: {_OF_POSES}"),
        ("area_percent", "area", "%", AT_POSES, f"contact area: {_OF_POSES}"),
        (
            "anterior_mm", "AP position", "mm", OVER_CYCLE,
            "AP position: RMS difference over the cycle that the model drives itself",
        ),
        (
            "gait_peak_pressure_percent", "peak pressure", "%", OVER_CYCLE,
            f"peak pressure {_OF_CYCLE}",
        ),
        ("gait_area_percent", "area", "%", OVER_CYCLE, f"contact area {_OF_CYCLE}"),
        (
            "evaluation_us", "one evaluation", "µs", COST,
            "loads and Jacobian at a pose: median processor time over the given poses",
        ),
        ("cycle_s", "one cycle", "s", COST, "simulated gait cycle: processor time"),
        (
            "set_up_s", "set-up", "s", COST,
            "wall time until the model can be evaluated: springs, condensation, training",
        ),
    )
)  # fmt: skip
_QUANTITIES: dict[str, int | slice] = {"force": FORCE, "peak_pressure": PEAK_PRESSURE, "area": AREA}


def figures_of(measured: Measured, truth: Truth) -> dict[str, float | None]:
    """Return the figures of a model by the keys of `COLUMNS`, None where there is none."""
    numbers, arrays = measured.numbers, measured.arrays
    figures: dict[str, float | None] = {column.key: None for column in COLUMNS}
    # Errors of what is the truth itself are not known.
    known = truth.extrapolated if measured is truth.fine else frozenset(_GROUPS)
    if AT_POSES in known and "pose_loads" in arrays:
        found, wanted = (each["pose_loads"][truth.touching] for each in (arrays, truth.arrays))
        for name, column in _QUANTITIES.items():
            figures[f"{name}_percent"] = relative(found[:, column], wanted[:, column])
        found, wanted = (
            each["pose_jacobians"][truth.touching.any(axis=1), AXIAL_FORCE, SUPERIOR]
            for each in (arrays, truth.arrays)
        )
        figures["stiffness_percent"] = relative(found, wanted)
    if OVER_CYCLE in known and "cycle_loads" in arrays:
        apart = (arrays["cycle_poses"] - truth.arrays["cycle_poses"])[:, ANTERIOR]
        figures["anterior_mm"] = 1e3 * root_mean_square(apart)
        for name in ("peak_pressure", "area"):
            found, wanted = (
                each["cycle_loads"][..., _QUANTITIES[name]] for each in (arrays, truth.arrays)
            )
            figures[f"gait_{name}_percent"] = relative(found, wanted)
    if "evaluation_s" in numbers:
        figures["evaluation_us"] = 1e6 * numbers["evaluation_s"]
    return figures | {name: numbers.get(name) for name in ("cycle_s", "set_up_s")}


def relative(found: FloatArray, wanted: FloatArray) -> float | None:
    """Return the RMS error of values (any shape) over the RMS of the wanted ones [%]; no NaN."""
    known = np.isfinite(found)
    size = root_mean_square(wanted[known]) if known.any() else 0.0
    return 100.0 * root_mean_square((found - wanted)[known]) / size if size > 0.0 else None


def root_mean_square(values: FloatArray) -> float:
    """Return the root mean square of values (any shape) [any unit]."""
    return float(np.sqrt(np.mean(np.square(values))))
