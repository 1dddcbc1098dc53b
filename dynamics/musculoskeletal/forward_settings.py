"""Settings of a forward simulation, from OpenSim-JAM's ForsimTool or by hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dynamics.musculoskeletal.comak_settings import check_distinct
from dynamics.musculoskeletal.tool_file import ToolFile
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


def read_forward_settings(
    path: str | Path,
) -> tuple[ForwardSettings, ForwardFiles, tuple[str, ...]]:
    """Read the settings of OpenSim-JAM's ForsimTool.

    Parameters
    ----------
    path : str or Path
        XML file; the files it names are relative to its folder.

    Returns
    -------
    ForwardSettings
        The settings; `report_time_step` is the time step.
    ForwardFiles
        Model, prescribed coordinates, muscle inputs and external loads.
    tuple of str
        Settings that have no effect here.

    Raises
    ------
    InputError
        If the file is missing, has no ForsimTool, or a value is no number, no boolean, or out of
        its range.
    """
    tool = ToolFile(path, "ForsimTool")
    model = tool.file("model_file")
    if model is None:
        raise InputError(f"{path}: expected model_file, found none")
    step = tool.optional("report_time_step")
    settings = ForwardSettings(
        secondary=tool.names("unconstrained_coordinates"),
        start=tool.optional("start_time"),
        stop=tool.optional("stop_time"),
        step=_STEP if step is None else step,
        activation=tool.optional("constant_muscle_control", _ACTIVATION),
        fibre_forces=_asked_for(tool, *_FIBRES),
    )
    files = ForwardFiles(
        model,
        tool.file("prescribed_coordinates_file"),
        tool.file("actuator_input_file"),
        tool.file("external_loads_file"),
    )
    return settings, files, tuple(_without_effect(tool, settings))


def _asked_for(tool: ToolFile, name: str, opposite: str) -> bool:
    """Return a flag by its name, or by the older name of its opposite."""
    if tool.has(name) or not tool.has(opposite):
        return tool.flag(name, True)
    return not tool.flag(opposite, False)


def _without_effect(tool: ToolFile, settings: ForwardSettings) -> list[str]:
    """Return which settings ask for what is not simulated."""
    if not settings.fibre_forces and settings.activation is not None:
        return []  # OpenSim-JAM ignores these settings too.
    told = []
    for name, opposite in _DYNAMICS.items():
        if _asked_for(tool, name, opposite):
            older = tool.has(opposite) and not tool.has(name)
            here, wanted, found = (opposite, "true", "false") if older else (name, "false", "true")
            found = found if tool.has(here) else f"none, which stands for {found}"
            told.append(
                f"{tool.path.name}, {here}: expected {wanted}, found {found}; muscles have rigid "
                "tendons, and their activations follow the controls without delay"
            )
    return told
