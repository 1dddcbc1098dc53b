"""Schema of a forward simulation of a model of OpenSim with articular contact."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from foundation.base.errors import InputError
from pipeline.config.schema_base import (
    File,
    Finite,
    Positive,
    Section,
    name_field,
)
from pipeline.studies.muscle_walks.schema import ArticularModelConfig

_Vector = tuple[Finite, Finite, Finite]


class CourseConfig(Section):
    """Course in [forward.coordinates.NAME]: smooth between instants and constant outside."""

    at_s: tuple[Finite, ...] = Field((0.0,), min_length=1, description="instants, increasing")
    deg: tuple[Finite, ...] | None = Field(None, description="values of an angle at the instants")
    m: tuple[Finite, ...] | None = Field(None, description="values of a length at the instants")

    @model_validator(mode="after")
    def _matches(self) -> Self:
        given = [values for values in (self.deg, self.m) if values is not None]
        if len(given) != 1 or len(given[0]) != len(self.at_s):
            raise InputError("expected either deg or m, with a value for each instant in at_s")
        return self


class LoadConfig(Section):
    """A force on a body in [forward.loads.NAME]: smooth between instants and constant outside."""

    body: str = Field(description="body that the force acts on")
    point_m: _Vector = Field((0.0, 0.0, 0.0), description="point of the force, frame of the body")
    at_s: tuple[Finite, ...] = Field((0.0,), min_length=1, description="instants, increasing")
    force_N: tuple[_Vector, ...] = Field(
        min_length=1, description="force at the instants, frame of the body"
    )

    @model_validator(mode="after")
    def _matches(self) -> Self:
        if len(self.force_N) != len(self.at_s):
            raise InputError("expected a force for each instant in at_s")
        return self


class ForwardConfig(ArticularModelConfig):
    """The model, the prescribed coordinates and forces, and the contact."""

    name: str = name_field("forward", "simulation")
    model: File = Field(description="model with articular contact (.osim)")
    settings: File | None = Field(
        None, description="settings of OpenSim-JAM's ForsimTool (.xml), which the keys change"
    )
    secondary: tuple[str, ...] | None = Field(
        None,
        description="coordinates that forces move; required without settings. All other "
        "coordinates that are not prescribed keep the default of the model",
    )
    kind: Literal["dynamic", "equilibrium"] = Field(
        "dynamic", description="motion with inertia and damping, or an equilibrium at each instant"
    )
    prescribed: File | None = Field(
        None,
        description=(
            "values of coordinates over time (.sto, .mot); by default the values of the settings"
        ),
    )
    muscles: File | None = Field(
        None,
        description="columns NAME_activation, NAME_control and NAME_force over time (.sto, .mot); "
        "by default the columns of the settings",
    )
    external_loads: File | None = Field(
        None, description="forces on bodies (.xml); by default the forces of the settings"
    )
    activation: Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)] | None = Field(
        None,
        description=(
            "activation of all other muscles; by default the activation of the settings, or 0.02"
        ),
    )
    fibre_forces: bool | None = Field(
        None,
        description="whether length and velocity of the fibres limit the forces of these muscles; "
        "otherwise, forces are activation times largest force; by default as in the settings, "
        "or true",
    )
    start_s: Finite | None = Field(None, description="first instant")
    stop_s: Finite | None = Field(None, description="last instant")
    step_s: Positive | None = Field(
        None, description="time step; by default the time step of the settings, or 0.01"
    )
    over: str | None = Field(
        None, description="coordinate along the horizontal axes of the page; by default the time"
    )
    coordinates: dict[str, CourseConfig] = Field(
        default_factory=dict,
        description="[forward.coordinates.NAME]: courses of prescribed coordinates",
    )
    loads: dict[str, LoadConfig] = Field(
        default_factory=dict, description="[forward.loads.NAME]: forces on bodies"
    )

    @model_validator(mode="after")
    def _enough(self) -> Self:
        if self.settings is None and self.secondary is None:
            raise InputError("forward.settings: expected a file of settings, or forward.secondary")
        if self.loads and self.external_loads is not None:
            raise InputError("expected either external_loads or loads, found both")
        return self


class ForwardFile(Section):
    """Forward simulation of a joint of an OpenSim model."""

    forward: ForwardConfig
