"""Settings of a forward simulation, from OpenSim-JAM's ForsimTool or by hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dynamics.musculoskeletal.comak_settings import check_distinct
from dynamics.musculoskeletal.tool_file import ToolFile
from foundation.checks import check_number
from foundation.errors import InputError

#: Time step and activation where OpenSim-JAM's file has none [s, 1].
_STEP, _ACTIVATION = 0.01, 0.01


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
    activation : float
        Activation of the muscles that have no course of their own [1].

    Raises
    ------
    InputError
        If no coordinate is named or one twice, or a number is out of its range.
    """

    secondary: tuple[str, ...]
    start: float | None = None
    stop: float | None = None
    step: float = _STEP
    activation: float = _ACTIVATION

    def __post_init__(self) -> None:
        check_number("step", self.step, above=0.0)
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
        If the file is missing, has no ForsimTool, or a value is no number or out of its range.
    """
    tool = ToolFile(path, "ForsimTool")
    model = tool.file("model_file")
    if model is None:
        raise InputError(f"{path}: expected model_file, found none")
    step, activation = tool.optional("report_time_step"), tool.optional("constant_muscle_control")
    settings = ForwardSettings(
        secondary=tool.names("unconstrained_coordinates"),
        start=tool.optional("start_time"),
        stop=tool.optional("stop_time"),
        step=_STEP if step is None else step,
        activation=_ACTIVATION if activation is None else activation,
    )
    files = ForwardFiles(
        model,
        tool.file("prescribed_coordinates_file"),
        tool.file("actuator_input_file"),
        tool.file("external_loads_file"),
    )
    return settings, files, tuple(_without_effect(tool))


def _without_effect(tool: ToolFile) -> list[str]:
    """Return which settings ask for what is not simulated."""
    return [
        f"{tool.path.name}, {name}: expected true, found false; muscles have rigid tendons, and "
        "their activations follow the controls without delay"
        for name in ("ignore_activation_dynamics", "ignore_tendon_compliance")
        if not tool.flag(name, False)
    ]
