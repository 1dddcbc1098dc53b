"""What OpenSim-JAM's file of COMAK settings asks for that is not done, and names nobody knows."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection
from difflib import get_close_matches
from pathlib import Path

from dynamics.musculoskeletal.osim_xml import (
    boolean_of,
    child_text,
    number_in,
    parse_xml,
    with_defaults,
)
from dynamics.musculoskeletal.tool_checks import settings_notes
from dynamics.musculoskeletal.tool_file import ToolFile
from foundation.base.errors import InputError

_TOOL, _SECONDARY = "COMAKTool", "COMAKSecondaryCoordinate"
_USED = {
    "model_file", "coordinates_file", "external_loads_file", "results_prefix", "force_set_file",
    "start_time", "stop_time", "time_step", "lowpass_filter_frequency", "prescribed_coordinates",
    "primary_coordinates", "COMAKSecondaryCoordinateSet", "settle_secondary_coordinates_at_start",
    "settle_threshold", "max_iterations", "udot_tolerance", "udot_worse_case_tolerance",
    "contact_energy_weight", "non_muscle_actuator_weight", "activation_exponent",
    "COMAKCostFunctionParameterSet", "COMAKCostFunctionWeightSet", "replace_force_set",
}  # fmt: skip
#: Folders, details of OpenSim-JAM's solvers, and the course of settling: they change no result.
_DETAILS = {
    "results_directory", "settle_sim_results_directory", "settle_sim_results_prefix",
    "print_settle_sim_results", "settle_accuracy", "settle_internal_step_limit", "geometry_folder",
    "unit_udot_epsilon", "optimization_scale_delta_coord", "ipopt_diagnostics_level",
    "ipopt_max_iterations", "ipopt_convergence_tolerance", "ipopt_constraint_tolerance",
    "ipopt_limited_memory_history", "ipopt_nlp_scaling_max_gradient",
    "ipopt_nlp_scaling_min_value", "ipopt_obj_scaling_factor", "ipopt_expect_infeasible_problem",
    "model_assembly_accuracy", "verbose",
}  # fmt: skip
#: Results and analyses that are not written.
_WITHOUT_EFFECT = {"print_processed_input_kinematics", "use_visualizer", "AnalysisSet"}
#: OpenSim-JAM takes larger limits of control for none.
_NO_LIMIT = 1000.0
_OF_SECONDARY = {"coordinate", "comak_damping", "max_change"}


def comak_file_notes(
    path: str | Path, coordinates: Collection[str], held: Collection[str] = ()
) -> tuple[str, ...]:
    """Return what a file of COMAK settings asks for that is not done.

    Parameters
    ----------
    path : str or Path
        Settings of OpenSim-JAM's COMAKTool (.xml).
    coordinates : collection of str
        Names of the coordinates of the model.
    held : collection of str
        Coordinates that are locked or coupled to others, which no list needs.

    Returns
    -------
    tuple of str
        Sentences on settings without effect, settings of unknown names, and actuators that are not
        taken into account.

    Raises
    ------
    InputError
        If the file is missing or of another tool, asks for other forces than those of the model,
        or names a prescribed coordinate that the model does not have.
    """
    tool = ToolFile(path, _TOOL)
    if tool.flag("replace_force_set", False):
        raise InputError(
            f"{path}, replace_force_set: expected false, found true, which removes the muscles and "
            "ligaments of the model; set replace_force_set to false"
        )
    check_coordinates(f"{path}, prescribed_coordinates", tool.names("prescribed_coordinates"),
                      coordinates)  # fmt: skip
    notes = settings_notes(tool, _USED | _DETAILS, _WITHOUT_EFFECT, {_SECONDARY: _OF_SECONDARY})
    notes += _coordinates_in_no_list(tool, [n for n in coordinates if n not in held])
    forces = tool.file("force_set_file")
    return (*notes, *(() if forces is None else _other_actuators(forces)))


def prescribed_in(path: str | Path, coordinates: Collection[str]) -> tuple[str, ...]:
    """Return which coordinates a file of COMAK settings prescribes, by its list or in no list."""
    tool = ToolFile(path, _TOOL)
    return (*tool.names("prescribed_coordinates"), *_in_no_list(tool, coordinates))


def _in_no_list(tool: ToolFile, coordinates: Collection[str]) -> list[str]:
    """Return the coordinates that are neither prescribed, primary nor secondary."""
    listed = {*tool.names("prescribed_coordinates"), *tool.names("primary_coordinates")}
    for element in tool.element.iter(_SECONDARY):
        listed.add(child_text(element, "coordinate").rsplit("/", 1)[-1])
    return [name for name in coordinates if name not in listed]


def _coordinates_in_no_list(tool: ToolFile, coordinates: Collection[str]) -> list[str]:
    """Return a sentence on coordinates that are neither prescribed, primary nor secondary."""
    left = _in_no_list(tool, coordinates)
    if not left:
        return []
    return [
        f"{tool.path.name}: {', '.join(left)}: expected in prescribed_coordinates, "
        "primary_coordinates or the secondary coordinates, found in none; they follow the motion "
        "as prescribed coordinates do; add each of them to the list that is meant"
    ]


def check_coordinates(where: str, names: Collection[str], known: Collection[str]) -> None:
    """Raise an `InputError` unless every name is that of a coordinate of the model."""
    for name in names:
        if name not in known:
            alike = sorted(get_close_matches(name, list(known), n=3))
            wanted = f"such as {', '.join(alike)}" if alike else f"one of {', '.join(known)}"
            raise InputError(f"{where}: expected coordinates of the model, {wanted}, found {name}")


def _other_actuators(path: Path) -> tuple[str, ...]:
    """Return sentences on actuators that are no reserves, and on reserves with limits."""
    root = parse_xml(path, "reserves")
    owner = root.find("ForceSet")
    objects = [] if owner is None else [
        with_defaults(e, owner) for e in owner.iterfind("objects/*")
    ]  # fmt: skip
    applied = [e for e in objects if boolean_of(e, "appliesForce", path.name, True)]
    others = [str(e.get("name")) for e in applied if e.tag != "CoordinateActuator"]
    limited = [
        str(e.get("name"))
        for e in applied
        if e.tag == "CoordinateActuator"
        and any(_limits(e, name) for name in ("min_control", "max_control"))
    ]
    notes = []
    if others:
        text = "which are no CoordinateActuators"
        notes.append(f"{path.name}: no effect of {', '.join(others)}, {text}")
    if limited:
        notes.append(
            f"{path.name}: no effect of min_control and max_control of {', '.join(limited)}; "
            "reserves have no limits"
        )
    return tuple(notes)


def _limits(actuator: ET.Element, name: str) -> bool:
    """Return whether an actuator has a limit of control that OpenSim-JAM observes."""
    text = child_text(actuator, name).lower()
    if not text or "inf" in text:
        return False
    return abs(number_in(f"{actuator.get('name')}, {name}", text)) < _NO_LIMIT
