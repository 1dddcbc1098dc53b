"""Settings of OpenSim-JAM's tools that nobody knows, or that have no effect here."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

from dynamics.musculoskeletal.osim_xml import boolean_of, child_text, number_in
from dynamics.musculoskeletal.tool_file import ToolFile

#: Settings of the ForsimTool that are read, folders, and details of the integrator.
_FORWARD = {
    "model_file", "start_time", "stop_time", "report_time_step", "constant_muscle_control",
    "use_activation_dynamics", "ignore_activation_dynamics", "use_tendon_compliance",
    "ignore_tendon_compliance", "use_muscle_physiology", "ignore_muscle_dynamics",
    "unconstrained_coordinates", "prescribed_coordinates_file", "actuator_input_file",
    "external_loads_file",
    "results_directory", "results_file_basename", "minimum_time_step", "maximum_time_step",
    "integrator_accuracy", "internal_step_limit", "equilibrate_muscles", "geometry_folder",
    "use_visualizer", "verbose",
}  # fmt: skip
#: Likewise of the COMAKInverseKinematicsTool.
_MARKERS = {
    "model_file", "perform_secondary_constraint_sim", "secondary_coordinates",
    "secondary_coupled_coordinate", "secondary_constraint_sim_settle_threshold",
    "secondary_constraint_sim_sweep_time", "secondary_coupled_coordinate_start_value",
    "secondary_coupled_coordinate_stop_value", "secondary_constraint_function_file",
    "constraint_function_num_interpolation_points", "marker_file", "time_range", "ik_accuracy",
    "ik_constraint_weight", "IKTaskSet", "coordinate_file",
    "results_directory", "results_prefix", "secondary_constraint_sim_integrator_accuracy",
    "secondary_constraint_sim_internal_step_limit", "print_secondary_constraint_sim_results",
    "perform_inverse_kinematics", "output_motion_file", "report_errors",
    "report_marker_locations", "constrained_model_file", "geometry_folder", "use_visualizer",
    "verbose",
}  # fmt: skip
_OFF = ("", "false", "0", "unassigned")


def settings_notes(
    tool: ToolFile,
    known: set[str],
    without_effect: set[str],
    nested: Mapping[str, set[str]] | None = None,
) -> list[str]:
    """Return sentences on settings of a tool that nobody knows, or that have no effect.

    Parameters
    ----------
    tool : ToolFile
        The settings.
    known, without_effect : set of str
        Settings with an effect, and those that are told if they ask for something.
    nested : mapping of str to set of str, optional
        Known settings of elements within the tool, by their tags.
    """
    name = tool.path.name
    lists = {tool.element.tag: known | without_effect, **(nested or {})}
    notes = [f"{name}: unknown setting {text}" for text in _unknown(tool, lists)]
    idle = [e.tag for e in tool.element if e.tag in without_effect and _asks(e)]
    if idle:
        notes.append(f"{name}: no effect of {', '.join(idle)}")
    return notes


def forward_file_notes(path: str | Path) -> tuple[str, ...]:
    """Return which settings of a ForsimTool (.xml) are unknown or have no effect."""
    return tuple(settings_notes(ToolFile(path, "ForsimTool"), _FORWARD, {"AnalysisSet"}))


def marker_file_notes(path: str | Path, *, constrained: bool = True) -> tuple[str, ...]:
    """Return what settings of a COMAKInverseKinematicsTool (.xml) ask for that is not done.

    Unknown settings, tasks of coordinates, and a finite weight of the constraints: secondary
    coordinates that are `constrained` lie on their functions.
    """
    tool = ToolFile(path, "COMAKInverseKinematicsTool")
    name, notes = tool.path.name, settings_notes(tool, _MARKERS, set())
    tasks = [
        str(task.get("name"))
        for task in tool.element.iter("IKCoordinateTask")
        if boolean_of(task, "apply", f"{name}, {task.get('name')}", True)
        and number_in(f"{name}, {task.get('name')}", child_text(task, "weight") or "1") > 0.0
    ]
    if tasks:
        notes.append(f"{name}: no effect of the tasks of coordinates {', '.join(tasks)}")
    weight = tool.text("ik_constraint_weight", "Inf")
    if constrained and weight.lower() not in ("inf", "infinity"):
        notes.append(
            f"{name}, ik_constraint_weight: expected Inf, found {weight}; secondary coordinates "
            "lie on their functions, while OpenSim-JAM lets markers pull them off"
        )
    return tuple(notes)


def _asks(element: ET.Element) -> bool:
    """Return whether a setting asks for something."""
    if element.find("objects") is not None:
        return element.find("objects/*") is not None
    return (element.text or "").strip().lower() not in _OFF


def _unknown(tool: ToolFile, lists: Mapping[str, set[str]]) -> Iterator[str]:
    inner = (e for tag in lists if tag != tool.element.tag for e in tool.element.iter(tag))
    for element in (tool.element, *inner):
        names = lists[element.tag]
        for child in element:
            if child.tag not in names:
                alike = get_close_matches(child.tag, sorted(names), n=1)
                yield f"{child.tag}; did you mean {alike[0]}?" if alike else child.tag
