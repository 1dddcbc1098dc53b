"""Results of a simulation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.simulator.knee_simulator import APPLIED_COLUMNS
from foundation.base.checks import FloatArray, check_in, frozen
from foundation.base.flags import Flag
from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS
from foundation.base.pose import COORDINATE_UNITS, COORDINATES

if TYPE_CHECKING:
    import pandas as pd


def find_column(name: str, columns: Iterable[str]) -> str:
    """Return the column of a name, with or without its unit; of a force, the axial component."""
    known = tuple(columns)
    matches = [
        column for column in known if column.startswith(f"{name}_") and "_rate_" not in column
    ]
    matches = [column for column in matches if column.endswith("_force_y_N")] or matches
    return matches[0] if len(matches) == 1 else check_in("column", name, known)


def current_axes(axes: Any) -> Any:
    """Return axes of matplotlib, by default the current ones."""
    import matplotlib.pyplot as plt

    return plt.gca() if axes is None else axes


@dataclass(frozen=True)
class CountedFlag:
    """A flag during a simulation, its first instant [s] and number of reported instants."""

    # Later flags of the same cause count as the same flag.

    flag: Flag
    time: float
    samples: int


@dataclass(frozen=True)
class Statistics:
    """Cost of a simulation.

    Parameters
    ----------
    steps : int
        Accepted steps.
    rejected : int
        Rejected steps.
    derivatives, jacobians : int
        Calls by the integrator.
    evaluations : int
        Evaluations of the contact model by the integrator, without the search for the initial
        equilibrium and the reported instants.
    elapsed : float
        Wall time of the integration [s].
    """

    steps: int
    rejected: int
    derivatives: int
    jacobians: int
    evaluations: int
    elapsed: float


@dataclass(frozen=True, eq=False, repr=False)
class SimulationResult:
    """Motion and loads over the last gait cycle of a simulation.

    Parameters
    ----------
    time : (N,) float64
        Time since the start of the simulation [s].
    gait_percent : (N,) float64
        Instant within the cycle, 0 to 100 [%].
    poses, rates : (N, 6) float64
        Pose coordinates in the order of `foundation.base.pose.COORDINATES` and rates [rad, m, s].
    compartment_loads : (C, N, 12) float64
        Loads on the femur, of each compartment, in the order of
        `foundation.base.loads.LOAD_COLUMNS` [N, N m, m², Pa, m].
    loads : (N, 12) float64
        Loads of the whole knee, in the same order and units.
    applied : (N, 3) or (N, 4) float64
        Applied loads [N, N m] in the order of
        `dynamics.simulator.knee_simulator.APPLIED_COLUMNS`, with or without the last.
    statistics : Statistics
        Cost.
    flags : tuple of CountedFlag
        Flags of the contact model, by first instant.
    compartments : tuple of str
        Names of the C compartments.
    flagged : int
        Number of reported instants with a flag.
    """

    time: FloatArray
    gait_percent: FloatArray
    poses: FloatArray
    rates: FloatArray
    compartment_loads: FloatArray
    loads: FloatArray
    applied: FloatArray
    statistics: Statistics
    flags: tuple[CountedFlag, ...] = ()
    compartments: tuple[str, ...] = COMPARTMENTS
    flagged: int = 0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, frozen(np.array(value, dtype=np.float64)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {len(self.time)} instants, {self.flagged} flagged>"

    def columns(self) -> dict[str, FloatArray]:
        """Return the columns (N,) [any unit] of the result by name, which ends with the unit."""
        return dict(self._columns)

    def to_frame(self) -> pd.DataFrame:
        """Return `columns` as a table of a row for each instant."""
        import pandas as pd

        return pd.DataFrame(self.columns())

    def plot(
        self, column: str = "total_force", over: str = "gait_percent", axes: Any = None
    ) -> Any:
        """Draw a column over another one (`find_column`); return the axes of matplotlib."""
        axes = current_axes(axes)
        table = self.columns()
        names = [find_column(name, table) for name in (over, column)]
        axes.plot(*(table[name] for name in names))
        axes.set(xlabel=names[0], ylabel=names[1])
        return axes

    @cached_property
    def _columns(self) -> dict[str, FloatArray]:
        table = {"time_s": self.time, "gait_percent": self.gait_percent}
        for k, (name, unit) in enumerate(zip(COORDINATES, COORDINATE_UNITS, strict=True)):
            table[f"{name}_{unit}"] = self.poses[:, k]
            table[f"{name}_rate_{unit}_per_s"] = self.rates[:, k]
        # A cycle without an adduction torque has the three columns of ISO 14243-1.
        loads = zip(APPLIED_COLUMNS, self.applied.T, strict=False)
        table |= {n: row for n, row in loads if n != APPLIED_COLUMNS[3] or row.any()}
        names, loads_of_all = (*self.compartments, "total"), (*self.compartment_loads, self.loads)
        for compartment, loads in zip(names, loads_of_all, strict=True):
            table |= {f"{compartment}_{name}": loads[:, k] for k, name in enumerate(LOAD_COLUMNS)}
        return table
