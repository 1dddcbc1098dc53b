"""Settings of inverse kinematics from markers, from OpenSim-JAM's tool or by hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dynamics.musculoskeletal.constraint_functions import Sweep
from dynamics.musculoskeletal.jam_tools import read_tool, settings_notes
from dynamics.musculoskeletal.osim_xml import ObjectTable, OsimObject, Property
from foundation.base.checks import check_number
from foundation.base.errors import InputError

_SWEEP = (
    Property("secondary_coupled_coordinate", "angle that moves in the sweep",
             OsimObject.last_name, "", "coupled"),
    Property("secondary_coordinates", "coordinates that follow", OsimObject.names, (),
             "secondary"),
    Property("secondary_coupled_coordinate_start_value", "first angle [deg]", OsimObject.radians,
             0.0, "start"),
    Property("secondary_coupled_coordinate_stop_value", "last angle [deg]", OsimObject.radians,
             110.0, "stop"),
    Property("secondary_constraint_sim_sweep_time", "duration of the sweep [s]",
             OsimObject.number, 3.0, "seconds"),
    Property("secondary_constraint_sim_settle_threshold", "change of settled coordinates [rad, m]",
             OsimObject.number, 1e-4, "settle_threshold"),
    Property("constraint_function_num_interpolation_points", "points of each function",
             OsimObject.integer, 20, "points"),
)  # fmt: skip
_READ_APART = (
    Property("time_range", "first and last instant [s]"),
    Property("ik_accuracy", "relative accuracy of the coordinates [1]"),
    Property("ik_constraint_weight", "weight of the functions, Inf"),
    Property("IKTaskSet", "weights of markers"),
    Property("marker_file", "measured markers (.trc)"),
    Property("perform_secondary_constraint_sim", "whether to sweep, or read the functions"),
    Property("secondary_constraint_function_file", "constraint functions (.xml)"),
)
_TOOL = ObjectTable(
    "COMAKInverseKinematicsTool",
    (*_SWEEP, *_READ_APART),
    details=frozenset({
        "model_file", "coordinate_file", "results_directory", "results_prefix",
        "secondary_constraint_sim_integrator_accuracy",
        "secondary_constraint_sim_internal_step_limit", "print_secondary_constraint_sim_results",
        "perform_inverse_kinematics", "output_motion_file", "report_errors",
        "report_marker_locations", "constrained_model_file", "geometry_folder", "use_visualizer",
        "verbose",
    }),
)  # fmt: skip


@dataclass(frozen=True)
class MarkerSettings:
    """Settings of inverse kinematics.

    Parameters
    ----------
    weights : tuple of (str, float)
        Markers and their weights [1]; markers without a weight have no effect.
    start, stop : float, optional
        First and last instant [s]; by default those of the markers.
    accuracy : float
        Relative accuracy of the coordinates [1].

    Raises
    ------
    InputError
        If no marker has a weight above 0, or a number is out of its range.
    """

    weights: tuple[tuple[str, float], ...]
    start: float | None = None
    stop: float | None = None
    accuracy: float = 1e-5

    def __post_init__(self) -> None:
        check_number("accuracy", self.accuracy, above=0.0)
        for name, weight in self.weights:
            check_number(f"weight of marker {name}", weight, at_least=0.0)
        if not any(weight > 0.0 for _, weight in self.weights):
            raise InputError("markers: expected a marker with a weight above 0, found none")


class MarkerFiles(NamedTuple):
    """Files that the settings name.

    Parameters
    ----------
    markers : Path or None
        Measured markers (.trc).
    functions : Path or None
        Constraint functions, where they are not simulated anew.
    """

    markers: Path | None
    functions: Path | None


def read_marker_settings(
    path: str | Path, *, constrained: bool = True
) -> tuple[MarkerSettings, Sweep, MarkerFiles, tuple[str, ...]]:
    """Read the settings of OpenSim-JAM's COMAKInverseKinematicsTool.

    Parameters
    ----------
    path : str or Path
        XML file; the files that it names are relative to its folder.
    constrained : bool
        Whether the secondary coordinates lie on their functions.

    Returns
    -------
    MarkerSettings
        Weights of markers, time and accuracy.
    Sweep
        The sweep of the coupled coordinate, an angle.
    MarkerFiles
        Markers and, where no sweep is requested, constraint functions.
    tuple of str
        Sentences on settings that are unknown or not carried out: tasks of coordinates, and a
        finite weight of the functions if the secondary coordinates are `constrained`.

    Raises
    ------
    InputError
        If the file is missing, has no such tool, or a value is malformed or out of its range.
    """
    tool = read_tool(path, _TOOL)
    weights = tuple(_tasks(tool, "IKMarkerTask"))
    times = tool.numbers("time_range").tolist()
    start, stop = times[:2] if len(times) > 1 else (None, None)
    settings = MarkerSettings(weights, start, stop, tool.number("ik_accuracy", 1e-5))
    swept = tool.boolean("perform_secondary_constraint_sim", True)
    functions = None if swept else tool.path("secondary_constraint_function_file")
    files = MarkerFiles(tool.path("marker_file"), functions)
    return settings, Sweep(**tool.read(_SWEEP)), files, _notes(tool, constrained)


def _tasks(tool: OsimObject, tag: str) -> list[tuple[str, float]]:
    """Return names and weights [1] of the tasks that apply."""
    return [
        (task.name, task.number("weight", 1.0))
        for task in tool.below(tag)
        if task.boolean("apply", True)
    ]


def _notes(tool: OsimObject, constrained: bool) -> tuple[str, ...]:
    """Return sentences on settings that are unknown or not carried out."""
    notes = settings_notes(tool, _TOOL)
    tasks = [name for name, weight in _tasks(tool, "IKCoordinateTask") if weight > 0.0]
    if tasks:
        notes += (f"{tool.where}: no effect of the tasks of coordinates {', '.join(tasks)}",)
    weight = tool.text("ik_constraint_weight", "Inf")
    if constrained and weight.lower() not in ("inf", "infinity"):
        notes += (
            f"{tool.where}, ik_constraint_weight: expected Inf, found {weight}; secondary "
            "coordinates lie on their functions, while OpenSim-JAM lets markers pull them off",
        )
    return notes
