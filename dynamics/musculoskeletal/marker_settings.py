"""Settings of inverse kinematics from markers, from OpenSim-JAM's tool or by hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dynamics.musculoskeletal.jam_tools import read_tool, settings_notes
from dynamics.musculoskeletal.osim_xml import (
    DEGREES,
    INTEGER,
    LAST_NAME,
    NAMES,
    NUMBER,
    ObjectTable,
    OsimObject,
    Property,
    read_apart,
)
from dynamics.musculoskeletal.passive_sweep import Sweep
from foundation.base.checks import check_number
from foundation.base.errors import InputError

_SIM = "secondary_constraint_sim"
_ANGLE = "secondary_coupled_coordinate"
_SWEEP = (
    Property(_ANGLE, "coupled", LAST_NAME, "", "angle that moves in the sweep"),
    Property("secondary_coordinates", "secondary", NAMES, (), "coordinates that follow"),
    Property(f"{_ANGLE}_start_value", "start", DEGREES, 0.0, "first angle [deg]"),
    Property(f"{_ANGLE}_stop_value", "stop", DEGREES, 110.0, "last angle [deg]"),
    Property(f"{_SIM}_sweep_time", "seconds", NUMBER, 3.0, "duration of the sweep [s]"),
    Property(f"{_SIM}_settle_threshold", "settle_threshold", NUMBER, 1e-4, "[rad, m]"),
    Property("constraint_function_num_interpolation_points", "points", INTEGER, 20, "each"),
)
_READ_APART = read_apart(
    time_range="first and last instant [s]",
    ik_accuracy="relative accuracy of the coordinates [1]",
    ik_constraint_weight="weight of the functions, Inf",
    IKTaskSet="weights of markers",
    marker_file="measured markers (.trc, .c3d)",
    perform_secondary_constraint_sim="whether to sweep, or read the functions",
    secondary_constraint_function_file="constraint functions (.xml)",
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
    """Settings of inverse kinematics."""

    #: Markers and their weights [1]; markers without a weight have no effect.
    weights: tuple[tuple[str, float], ...]
    #: First and last instant [s]; by default those of the markers.
    start: float | None = None
    stop: float | None = None
    #: Relative accuracy of the coordinates [1].
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
        Measured markers (.trc, .c3d).
    functions : Path or None
        Constraint functions, where they are not simulated anew.
    """

    markers: Path | None
    functions: Path | None


def read_marker_settings(
    path: str | Path, *, constrained: bool = True
) -> tuple[MarkerSettings, Sweep, MarkerFiles, tuple[str, ...]]:
    """Read a COMAKInverseKinematicsTool of OpenSim-JAM: settings, sweep, files, and notes."""
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
        notes += (f"{tool.where}: ignored tasks of coordinates: {', '.join(tasks)}",)
    weight = tool.text("ik_constraint_weight", "Inf")
    if constrained and weight.lower() not in ("inf", "infinity"):
        notes += (
            f"{tool.where}, ik_constraint_weight: expected Inf, found {weight}; secondary "
            "coordinates follow their constraint functions exactly, while in OpenSim-JAM markers "
            "can move the coordinates away from the functions",
        )
    return notes
