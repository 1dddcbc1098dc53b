"""Settings of a forward simulation, from OpenSim-JAM's ForsimTool or by hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dynamics.musculoskeletal.comak_settings import check_distinct
from dynamics.musculoskeletal.jam_tools import read_tool, settings_notes
from dynamics.musculoskeletal.osim_xml import (
    FILE,
    NAMES,
    OPTIONAL,
    ObjectTable,
    OsimObject,
    Property,
    read_apart,
)
from foundation.base.checks import check_number
from foundation.base.errors import InputError

#: Time step and activation where OpenSim-JAM's file has none [s, 1].
_STEP, _ACTIVATION = 0.01, 0.02
#: Settings of what is not simulated: names since 2022 and before, which say the opposite.
_DYNAMICS = {
    "use_activation_dynamics": "ignore_activation_dynamics",
    "use_tendon_compliance": "ignore_tendon_compliance",
}
#: Setting of muscles that pull as length and velocity of their fibres allow, and its older name.
_FIBRES = ("use_muscle_physiology", "ignore_muscle_dynamics")
_SETTINGS = (
    Property("unconstrained_coordinates", "secondary", NAMES, (), "coordinates that forces move"),
    Property("start_time", "start", OPTIONAL, -1.0, "first instant [s]"),
    Property("stop_time", "stop", OPTIONAL, -1.0, "last instant [s]"),
    Property("report_time_step", "step", OPTIONAL, -1.0, "time step [s]"),
    Property("constant_muscle_control", "activation", OPTIONAL, _ACTIVATION, "of others [1]"),
)
_FILES = (
    Property("model_file", "model", FILE, None, "model (.osim)"),
    Property("prescribed_coordinates_file", "prescribed", FILE, None, "courses of coordinates"),
    Property("actuator_input_file", "muscles", FILE, None, "courses of muscles"),
    Property("external_loads_file", "external_loads", FILE, None, "external loads (.xml)"),
)
_FLAGS = read_apart(
    **dict.fromkeys((*_DYNAMICS, *_DYNAMICS.values(), *_FIBRES), "dynamics of muscles")
)
_TOOL = ObjectTable(
    "ForsimTool",
    (*_SETTINGS, *_FILES, *_FLAGS),
    details=frozenset({
        "results_directory", "results_file_basename", "minimum_time_step", "maximum_time_step",
        "integrator_accuracy", "internal_step_limit", "equilibrate_muscles", "geometry_folder",
        "use_visualizer", "verbose",
        # Activations follow the controls at once, so that none is left over from the default.
        "override_default_muscle_activation",
    }),
    not_done=frozenset({"AnalysisSet"}),
)  # fmt: skip


@dataclass(frozen=True)
class ForwardSettings:
    """Settings of a forward simulation.

    Parameters
    ----------
    secondary : tuple of str
        Coordinates that forces move; all others are prescribed or keep the default of the model.
    start, stop : float, optional
        First and last instant [s]; by default those of the prescribed coordinates, muscle forces
        and loads.
    step : float
        Time step [s].
    activation : float or None
        Activation of the muscles that have no course of their own [1]; None without control, for
        the least activation of each muscle.
    fibre_forces : bool
        Whether these muscles pull as length and velocity of their fibres allow, or by activation
        times largest force.

    Raises
    ------
    InputError
        If no coordinate is named or one twice, or a number is out of its range.
    """

    secondary: tuple[str, ...]
    start: float | None = None
    stop: float | None = None
    step: float = _STEP
    activation: float | None = _ACTIVATION
    fibre_forces: bool = True

    def __post_init__(self) -> None:
        check_number("step", self.step, above=0.0)
        if self.activation is not None:
            check_number("activation", self.activation, at_least=0.0, at_most=1.0)
        check_distinct(self.secondary)
        if not self.secondary:
            raise InputError(
                "coordinates: expected coordinates that forces move (secondary), found none"
            )


@dataclass(frozen=True)
class ForwardFiles:
    """Files that a forward simulation names.

    Parameters
    ----------
    model : Path
        The model.
    prescribed : Path or None
        Courses of prescribed coordinates.
    muscles : Path or None
        Courses of activations and forces of muscles.
    external_loads : Path or None
        Further forces on bodies.
    """

    model: Path
    prescribed: Path | None
    muscles: Path | None
    external_loads: Path | None


def read_forward_tool(path: str | Path) -> OsimObject:
    """Return the settings of a ForsimTool as XML; errors as of `read_forward_settings`."""
    return read_tool(path, _TOOL)


def read_forward_settings(
    path: str | Path,
) -> tuple[ForwardSettings, ForwardFiles, tuple[str, ...]]:
    """Read a ForsimTool of OpenSim-JAM: settings, files, and notes on what is not carried out."""
    tool = read_forward_tool(path)
    files = ForwardFiles(**tool.read(_FILES))
    if files.model is None:
        raise tool.fault("model_file", "a file", "none")
    values = tool.read(_SETTINGS)
    values["step"] = _STEP if values["step"] is None else values["step"]
    settings = ForwardSettings(fibre_forces=_requested(tool, *_FIBRES), **values)
    return settings, files, (*_dynamics_notes(tool, settings), *settings_notes(tool, _TOOL))


def _requested(tool: OsimObject, name: str, opposite: str) -> bool:
    """Return a flag by its name, or by the older name of its opposite."""
    if tool.has(name) or not tool.has(opposite):
        return tool.boolean(name, True)
    return not tool.boolean(opposite, False)


def _dynamics_notes(tool: OsimObject, settings: ForwardSettings) -> list[str]:
    """Return sentences on dynamics of muscles that are requested and not simulated."""
    if not settings.fibre_forces and settings.activation is not None:
        return []  # OpenSim-JAM ignores these settings too.
    notes = []
    for name, opposite in _DYNAMICS.items():
        if _requested(tool, name, opposite):
            older = tool.has(opposite) and not tool.has(name)
            here, wanted, found = (opposite, "true", "false") if older else (name, "false", "true")
            found = found if tool.has(here) else f"none, which stands for {found}"
            notes.append(
                f"{tool.where}, {here}: expected {wanted}, found {found}; muscles have rigid "
                "tendons, and their activations follow the controls without delay"
            )
    return notes
