"""Schema of a walk of a model of OpenSim."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from foundation.base.errors import InputError
from pipeline.config.data_folder import data_file
from pipeline.config.schema_base import (
    File,
    Finite,
    NonNegative,
    Positive,
    Section,
    name_field,
)
from pipeline.studies.implant_forces import ImplantForcesConfig


def stated_fields(section: Section, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the stated values of keys, by the fields of the settings that the keys change."""
    stated = section.model_dump(exclude_none=True)
    return {field: stated[key] for key, field in fields.items() if key in stated}


def stated_files(section: Section, fields: Mapping[str, str]) -> dict[str, Path]:
    """Return the files that keys state, by the fields that the keys change."""
    return {field: data_file(text) for field, text in stated_fields(section, fields).items()}


class ArticularModelConfig(Section):
    """How the surfaces, meshes and paths of a model are read."""

    surface: Literal["curved", "flat"] = Field(
        "curved", description="shape of the surfaces; OpenSim-JAM has flat triangles"
    )
    single_wraps_slide: bool = Field(
        False, description="whether paths over one surface are found as OpenSim did until 2021"
    )
    meshes: dict[str, File] = Field(
        default_factory=dict,
        description="mesh files that replace files of the model, by the name of the replaced file; "
        "`$KNEE_DATA` at the start is the data folder",
    )
    thickness_mm: dict[str, Positive] = Field(
        default_factory=dict,
        description="uniform thicknesses of layers in place of those of the model, by the name of "
        "the contact mesh; a layer that the model measures needs no mesh of the bone then",
    )

    @property
    def surfaces(self) -> dict[str, Any]:
        """Arguments of `articular_contacts`: mesh files, thicknesses of layers [m], shape."""
        thicknesses = {name: 1e-3 * value for name, value in self.thickness_mm.items()}
        return {"meshes": self.mesh_files, "thicknesses": thicknesses, "surface": self.surface}

    @property
    def mesh_files(self) -> dict[str, Path]:
        """Mesh files in place of those of the model, by their names."""
        return {name: data_file(path) for name, path in self.meshes.items()}


class MuscleWalkConfig(ArticularModelConfig):
    """The model, its motion and its contact."""

    name: str = name_field("muscle_walk", "walk")
    model: File = Field(
        description="model (.osim): with articular contact, or any other, whose knee then bears "
        "the reaction of its joint"
    )
    knee: str | None = Field(
        None,
        description="joint of the knee whose loads become waveforms, of a model without articular "
        "contact; by default that of the leg that the ground carries more",
    )
    settings: File | None = Field(
        None, description="settings of OpenSim-JAM's COMAKTool (.xml), which [comak] changes"
    )
    motion: File | None = Field(
        None,
        description=(
            "motion of the coordinates (.mot, .sto); by default the motion of the settings"
        ),
    )
    external_loads: File | None = Field(
        None,
        description="forces on the feet (.xml), or the table (.mot, .sto) or C3D file of force "
        "plates, which act on the feet above them; by default the forces of the settings",
    )
    reserves: File | None = Field(
        None,
        description="force set with an actuator per coordinate (.xml); by default the force set of "
        "the settings, or reserves of 1 N or 1 N m at full control",
    )
    surrogates: dict[str, str] = Field(
        default_factory=dict,
        description="run directories of trained surrogates in place of springs, by contact; "
        "relative to the working directory",
    )


class InverseKinematicsConfig(Section):
    """Motion of the walk from markers; secondary coordinates follow a passive sweep of an angle."""

    settings: File | None = Field(
        None,
        description="settings of OpenSim-JAM's COMAKInverseKinematicsTool (.xml), which the keys "
        "change",
    )
    markers: File | None = Field(
        None, description="measured markers (.trc, .c3d); by default the markers of the settings"
    )
    marker_set: File | None = Field(
        None, description="markers of the model (.xml); by default the markers in the model"
    )
    weights: dict[str, NonNegative] = Field(
        default_factory=dict,
        description="weights of markers, by name; other markers have the weights of the settings",
    )
    start_s: Finite | None = Field(None, description="first instant")
    stop_s: Finite | None = Field(None, description="last instant")
    constrained: bool = Field(
        True,
        description="whether secondary coordinates follow the functions, or the markers alone",
    )
    functions: File | None = Field(
        None, description="constraint functions (.xml) in place of a sweep"
    )
    coupled: str | tuple[str, ...] | None = Field(
        None,
        description="angle that the secondary coordinates follow; with several angles, such as the "
        "flexions of both knees, each coordinate follows the angle of its leg",
    )
    secondary: tuple[str, ...] | None = Field(
        None,
        description=(
            "coordinates that follow the angle; by default the secondary coordinates of the "
            "settings or of [comak]"
        ),
    )


class ComakConfig(Section):
    """Keys that replace settings of the file, which a model with articular contact needs."""

    primary: tuple[str, ...] | None = Field(
        None,
        description="coordinates that muscles move; by default, of a model without articular "
        "contact, its angles in the motion that muscles cross",
    )
    secondary: dict[str, NonNegative] | None = Field(
        None,
        description="coordinates in which surfaces touch, with their damping [N m s/rad, N s/m]",
    )
    start_s: Finite | None = Field(None, description="first instant")
    stop_s: Finite | None = Field(None, description="last instant")
    step_s: Positive | None = Field(None, description="time step")
    lowpass_Hz: Positive | None = Field(
        None,
        description="low-pass filter of the motion; by default, of a model without articular "
        "contact, 6 Hz",
    )
    iterations: int | None = Field(
        None, ge=1, description="largest number of iterations of a frame"
    )
    tolerance: Positive | None = Field(
        None, description="error of acceleration of a converged frame [rad/s², m/s²]"
    )
    settle: bool | None = Field(None, description="whether secondary coordinates settle first")
    contact_energy_weight: NonNegative | None = Field(
        None, description="weight of the energy that contacts store"
    )
    muscle_weights: dict[str, NonNegative] = Field(
        default_factory=dict, description="weights of muscles in the cost, by name"
    )
    fibre_forces: bool | None = Field(
        None,
        description="whether length and velocity of the fibres limit the forces of muscles, with "
        "rigid tendons; otherwise, forces are activation times largest force",
    )


class MuscleWalkFile(Section):
    """Walk of a model of OpenSim."""

    walk: MuscleWalkConfig
    comak: ComakConfig = Field(default_factory=lambda: ComakConfig())
    inverse_kinematics: InverseKinematicsConfig | None = Field(
        None, description="motion from markers"
    )
    implant_forces: ImplantForcesConfig | None = Field(
        None, description="measured forces, compared with those of the walk"
    )

    @model_validator(mode="after")
    def _enough(self) -> Self:
        walk = self.walk
        if walk.motion is not None and self.inverse_kinematics is not None:
            raise InputError("expected either walk.motion or inverse_kinematics, found both")
        if walk.settings is None:
            self.check_stated({"walk.motion": walk.motion or self.inverse_kinematics})
        return self

    def check_coordinates(self) -> None:
        """Raise an `InputError` unless settings or keys state the coordinates of a contact."""
        if self.walk.settings is None:
            keys = ("primary", "secondary")
            self.check_stated({f"comak.{key}": getattr(self.comak, key) for key in keys})

    @staticmethod
    def check_stated(needed: Mapping[str, object]) -> None:
        """Raise an `InputError` that names the keys without a value."""
        missing = [name for name, value in needed.items() if value is None]
        if missing:
            raise InputError(f"walk.settings: expected a file of settings, or {', '.join(missing)}")
