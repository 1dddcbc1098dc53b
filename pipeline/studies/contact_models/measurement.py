"""What is measured of a contact model, its files, and the truth that all are compared with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dynamics.protocol import ContactModel
from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.simulator.result import SimulationResult
from dynamics.wear.cycle_wear import Patch
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError, PoseError
from foundation.base.loads import AXIAL_FORCE, CENTRE
from foundation.base.pose import Pose
from foundation.finite_element.model import extrapolated
from foundation.surface_contact import SurfaceContact
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.errors import ExecutionError, StageError
from pipeline.files import write_document, write_npz
from pipeline.simulation import GaitSimulation
from pipeline.stages.assessment import median_seconds
from pipeline.stages.model_cycles import ModelCycle, flag_texts
from pipeline.store.documents import Shape, read_arrays, read_document
from pipeline.store.run_documents import Number, Part
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


class GaitPoses(NamedTuple):
    """Poses (N, 6) [rad, m] at which all models are compared."""

    #: Poses over the cycle that the finite elements drive, (N, 6) [rad, m].
    poses: FloatArray
    #: Pose of the highest axial force of that cycle, (6,) [rad, m].
    pressed: FloatArray
    #: Index of the instant of the highest force in the reported cycle.
    instant: int


@dataclass(frozen=True, eq=False)
class Measured:
    """Measurements of one model, with arrays of any shape [SI]."""

    #: Times [s] and memory [bytes] by name, and counts.
    numbers: dict[str, float] = field(default_factory=dict)
    #: `SHAPES` of `contact_models.results` by name; what could not be computed is missing.
    arrays: dict[str, FloatArray] = field(default_factory=dict)
    #: Reason by the part that could not be computed.
    failures: dict[str, str] = field(default_factory=dict)
    #: Flags of the model over its cycle.
    flags: list[str] = field(default_factory=list)

    def patch_on(self, tibia: TriangleMesh) -> Patch | None:
        """Return the patches of the model over its cycle, for the wear of its surrogate."""
        if "aspect" not in self.arrays:
            return None
        return Patch(self.arrays["aspect"], self.arrays["ratio"], tibia)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Note why a part could not be computed; the other parts are kept."""
        try:
            yield
        except REASONS as error:
            self.failures[name] = str(error)


def gait_poses(measured: Measured, count: int) -> GaitPoses:
    """Return poses of a measured cycle: `count` instants evenly over it, and the highest load."""
    if "cycle_poses" not in measured.arrays:
        reason = "; ".join(measured.failures.values())
        raise StageError(f"the finite elements, which all models are compared with: {reason}")
    poses = measured.arrays["cycle_poses"]
    chosen = np.unique(np.linspace(0, len(poses), count, endpoint=False).astype(int))
    force = measured.arrays["cycle_loads"][..., AXIAL_FORCE].sum(axis=0)
    highest = int(force.argmax())
    return GaitPoses(poses[chosen], poses[highest], highest)


def measure_cycle(
    built: Built,
    gait: GaitSimulation,
    patch: Patch | None = None,
    progress: Callable[[float], None] | None = None,
) -> Measured:
    """Drive the gait cycle with a model and compute the wear of the cycle.

    The wear of a surrogate takes the `patch` of its original model.
    """
    measured = Measured(numbers={"set_up_s": built.seconds})
    if built.set_up_memory is not None:
        measured.numbers["set_up_memory_bytes"] = built.set_up_memory
    with measured.part("cycle"):
        result, seconds = _timed_cycle(gait, built.model, progress)
        measured.numbers.update({"cycle_s": seconds, **_counts(result)})
        measured.flags.extend(flag_texts(result))
        measured.arrays.update(
            gait_percent=result.gait_percent,
            cycle_poses=result.poses,
            cycle_loads=result.compartment_loads,
        )
        with measured.part("wear"):
            cycle = ModelCycle(built.model, result, gait.wear_law, patch)
            if isinstance(built.model, SurfaceContact):
                aspect, ratio, _ = cycle.patch
                measured.arrays.update({"aspect": aspect, "ratio": np.asarray(ratio)})
            measured.arrays["wear_volume"] = cycle.wear.volume
    return measured


def measure_at(built: Built, measured: Measured, given: GaitPoses) -> None:
    """Add to the measurements of a model its loads, Jacobians and pressures at given poses."""
    model = built.model
    with measured.part("given poses"):
        loads, jacobians = _at_poses(model, given.poses, measured)
        measured.arrays.update({"pose_loads": loads, "pose_jacobians": jacobians})
        known = np.flatnonzero(np.isfinite(jacobians).all(axis=(1, 2)))
        calls = [(Pose.from_array(given.poses[k]),) for k in known]
        if calls:
            clock = time.process_time
            seconds = median_seconds(partial(model.loads, order=1), calls, clock)
            measured.numbers["evaluation_s"] = seconds
    if isinstance(model, SurfaceContact):
        with measured.part("pressures"):
            measured.arrays["pressures"] = _pressures(model, measured, given)


def _timed_cycle(
    gait: GaitSimulation, model: ContactModel, progress: Callable[[float], None] | None
) -> tuple[SimulationResult, float]:
    """Return the cycle and its processor time [s], of a second simulation where that is short."""
    start = time.process_time()
    result = gait(model, progress=progress)
    seconds = time.process_time() - start
    if seconds < _REPEATED:
        start = time.process_time()
        result = gait(model)
        seconds = time.process_time() - start
    return result, seconds


def _counts(result: SimulationResult) -> dict[str, float]:
    cost = asdict(result.statistics)
    return {name: float(cost[name]) for name in ("steps", "evaluations")}


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


def _pressures(model: SurfaceContact, measured: Measured, given: GaitPoses) -> FloatArray:
    """Return the pressures (2, F) [Pa] at the pose of highest load, and on the own cycle."""
    pressed = np.asarray(model.spring_state(Pose.from_array(given.pressed)).pressure)
    own = np.full(len(pressed), np.nan)
    if "cycle_poses" in measured.arrays:
        pose = Pose.from_array(measured.arrays["cycle_poses"][given.instant])
        own = np.asarray(model.spring_state(pose).pressure)
    return np.array([pressed, own])


#: Shapes of the arrays: N given poses, M instants of the cycle, F triangles.
SHAPES: dict[str, Shape] = {
    "gait_percent": ("M",),
    "cycle_poses": ("M", 6),
    "cycle_loads": (2, "M", 12),
    "pose_loads": ("N", 2, 12),
    "pose_jacobians": ("N", 6, 6),
    "wear_volume": (2,),
    "aspect": (2,),
    "ratio": (2,),
    "pressures": (2, "F"),
}
#: A centre of pressure is undefined out of contact, and all at a pose without an answer.
_UNDEFINED = ("cycle_loads", "pose_loads", "pose_jacobians", "pressures")
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


#: Groups of columns that need a truth.
AT_POSES, OVER_CYCLE = "at given poses", "over the gait cycle"
#: What is extrapolated for each group, the loads first.
_GROUPS = {
    AT_POSES: ("pose_loads", "pose_jacobians"),
    OVER_CYCLE: ("cycle_loads", "cycle_poses", "wear_volume"),
}


@dataclass(frozen=True, eq=False)
class Truth:
    """Loads (N, 2, 12) [N, ..., m], gait cycle and wear, of the extrapolated finite elements.

    Groups of columns that are not in `extrapolated` are those of the finer elements as they are,
    and their own error is not known.
    """

    #: Loads of the compartments at the given poses, (N, 2, 12) [N, N m, m², Pa, m].
    loads: FloatArray
    #: Whether a compartment is in contact, with both spacings, (N, 2).
    touching: NDArray[np.bool_]
    #: Derivative of the total wrench at the given poses, (N, 6, 6) [N, N m; rad, m].
    jacobians: FloatArray
    #: Poses of the cycle that the finite elements drive, (M, 6) [rad, m].
    cycle_poses: FloatArray
    #: Loads of the compartments over that cycle, (2, M, 12) [N, N m, m², Pa, m].
    cycle_loads: FloatArray
    #: Worn volume of the cycle, medial and lateral, (2,) [m³].
    wear: FloatArray
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
    return Truth(
        loads=values["pose_loads"],
        touching=touching,
        jacobians=values["pose_jacobians"],
        cycle_poses=values["cycle_poses"],
        cycle_loads=values["cycle_loads"],
        wear=values["wear_volume"],
        fine=fine,
        extrapolated=known,
    )


def _towards(coarse: FloatArray, fine: FloatArray) -> FloatArray:
    found = extrapolated(coarse, fine)
    return np.where(np.isfinite(found), found, fine)


def _both_touch(one: FloatArray, other: FloatArray) -> NDArray[np.bool_]:
    return np.asarray((one[..., AXIAL_FORCE] > 0.0) & (other[..., AXIAL_FORCE] > 0.0))


def touching_too(truth: Truth, loads: FloatArray) -> NDArray[np.bool_]:
    """Return where a model (N, 2, 12) [SI] is in contact as the truth is, (N, 2)."""
    return truth.touching & np.isfinite(loads[..., CENTRE]).all(axis=-1)
