"""Samples of finite elements that spring laws are calibrated on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dynamics.simulator.result import SimulationResult
from foundation.base.checks import FloatArray
from foundation.base.loads import AXIAL_FORCE, COMPARTMENTS
from foundation.base.pose import Pose
from foundation.surface_contact import SurfaceContact
from pipeline.config.comparison_schema import CalibrationConfig
from pipeline.errors import StageError
from pipeline.originals.candidates import generators
from pipeline.originals.evaluation import evaluate_rows
from pipeline.progress import bar
from pipeline.store.samples import OK, candidate_table, loads_of, poses_of
from surrogates.sampling.designs import unit_design
from surrogates.sampling.space import OFFSET_COORDINATES, SampleSpace

_CALIBRATION = 7
#: Largest displacement from a pose of gait: adduction, rotation, anterior, lateral as parts of the
#: sample space's half widths; and largest factor on a load of gait, its inverse the least.
_MOVES = np.array([0.15, 0.1, 0.1, 0.3])
_LOAD_FACTOR = 1.6
_ROWS_PER_STEP = 5


@dataclass(frozen=True, eq=False)
class CalibrationSamples:
    """Loads (N, 12) [N, ..., m] of single compartments by the model for calibrating springs."""

    #: Poses (N, 6) [rad, m].
    poses: FloatArray
    #: Name of the compartment of each sample, (N,).
    compartments: NDArray[np.str_]
    #: In the order of `foundation.base.loads.LOAD_COLUMNS`, (N, 12) [N, N m, m², Pa, m].
    loads: FloatArray
    #: Decrease of the axial force over the height, (N,) [N/m].
    stiffness: FloatArray

    def __len__(self) -> int:
        return len(self.poses)

    def part(self, chosen: NDArray[np.bool_]) -> Self:
        """Return the chosen samples, (N,) bool."""
        return type(self)(
            self.poses[chosen],
            self.compartments[chosen],
            self.loads[chosen],
            self.stiffness[chosen],
        )


def draw_samples(
    cycle: SimulationResult, space: SampleSpace, settings: CalibrationConfig
) -> pd.DataFrame:
    """Draw samples of both compartments along a gait cycle: instants of a Sobol sequence.

    Each pose is moved a little, and its load is a little larger or smaller, so that the samples
    are those of other people's gait too.
    """
    parts = []
    _, half = space.centre_and_half
    for side, (name, generator) in enumerate(generators([settings.seed, _CALIBRATION])):
        unit = unit_design("sobol", settings.samples, 6, generator)
        instants = (unit[:, 0] * len(cycle.poses)).astype(int)
        poses = cycle.poses[instants].copy()
        poses[:, OFFSET_COORDINATES] += half[1:5] * _MOVES * (2.0 * unit[:, 1:5] - 1.0)
        load = cycle.compartment_loads[side, instants, AXIAL_FORCE]
        load = np.maximum(load * _LOAD_FACTOR ** (2.0 * unit[:, 5] - 1.0), space.load[0])
        parts.append(candidate_table(poses, load, name))
    return pd.concat(parts, ignore_index=True)


def samples_of(model: SurfaceContact, drawn: pd.DataFrame) -> CalibrationSamples:
    """Evaluate a model at the loads of drawn samples; samples without an answer are left out.

    Raises `StageError` if less than half of the samples of a compartment have an answer.
    """
    parts = []
    with bar(len(drawn), "sample", "finite elements") as shown:
        for start in range(0, len(drawn), _ROWS_PER_STEP):
            rows = drawn.iloc[start : start + _ROWS_PER_STEP]
            parts.append(evaluate_rows(model, rows, "load"))
            shown.update(len(rows))
    table = pd.concat(parts, ignore_index=True)
    answered = table[table["status"] == OK]
    for name in COMPARTMENTS:
        found, asked = ((each["compartment"] == name).sum() for each in (answered, table))
        if 2 * found < asked:
            reason = table.loc[table["status"] != OK, "reason"].iloc[0]
            raise StageError(
                f"calibration: expected an answer of the finite elements at half of the {asked} "
                f"{name} samples or more, found {found} ({reason})"
            )
    poses, names = poses_of(answered), answered["compartment"].to_numpy(dtype=np.str_)
    return CalibrationSamples(poses, names, loads_of(answered), _stiffness(model, poses, names))


def _stiffness(model: SurfaceContact, poses: FloatArray, names: NDArray[np.str_]) -> FloatArray:
    jacobians = [
        model.compartment_loads(Pose.from_array(pose), str(name))[1]
        for pose, name in zip(poses, names, strict=True)
    ]
    return -np.array(jacobians)[:, 1, 4]
