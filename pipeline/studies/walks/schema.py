"""The schema of a walk: a subject's measured walking, and the knee that is simulated with it."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from dynamics.walking.trial import OPENSIM_COLUMNS
from foundation.errors import InputError
from pipeline.config.schema_base import Finite, NonNegative, Positive, Section, describe_section

#: Quantities whose columns a file may name otherwise.
QUANTITIES = (*OPENSIM_COLUMNS["right"], "pelvis_z")


class WalkConfig(Section):
    """The walk and the trained knee that it drives."""

    name: str = Field(
        "walking", pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", description="name of the walk"
    )
    run: str = Field(
        "runs/walking_implant",
        description="run directory of the knee; relative to the working directory",
    )
    run_config: str | None = Field(
        None,
        description="study (TOML, relative to this file) that makes the run where there is none",
    )
    compare: bool = Field(
        True, description="whether the original model drives the cycle as well, to be compared"
    )


class SubjectConfig(Section):
    """Who walks; lengths that are not stated follow from the height."""

    mass_kg: Positive = Field(le=400.0, description="mass of the body")
    height_m: Positive = Field(ge=0.5, le=2.5, description="height of the body")
    side: Literal["right", "left"] = Field("right", description="leg; a left one is mirrored")
    thigh_length_m: Positive | None = Field(None, le=1.0, description="hip to knee")
    shank_length_m: Positive | None = Field(None, le=1.0, description="knee to ankle")
    hip_m: tuple[Finite, Finite, Finite] | None = Field(
        None, description="right hip from the origin of the pelvis: forward, up, to the right"
    )


class MeasuredConfig(Section):
    """Motion and ground force, as OpenSim's .mot and .sto or as CSV; lab x forward, y up."""

    motion: str = Field(
        description="file with the position of the pelvis and the joint angles; `$KNEE_DATA` at "
        "its start stands for the data folder, other paths are relative to this file"
    )
    ground: str = Field(description="file with force, point and torque of the ground")
    in_degrees: bool | None = Field(
        None, description="whether angles are in degrees, where the motion file does not say"
    )
    columns: dict[str, str] = Field(
        default_factory=dict,
        description="names of columns that are not OpenSim's, by quantity "
        f"({', '.join(QUANTITIES)}); a minus before a name turns its sign; of force, point and "
        "torque the name without its last letter x, y, z",
    )
    stride_s: tuple[NonNegative, NonNegative] | None = Field(
        None, description="heel strike and next heel strike; by default found in the ground force"
    )
    pelvis_z_m: Finite = Field(
        0.0,
        description="lateral position of the pelvis, to the right, where no column tells it: "
        "adduction moment and torque depend on it",
    )
    motion_cutoff_Hz: Positive | None = Field(6.0, description="low-pass filter of the motion")
    force_cutoff_Hz: Positive | None = Field(20.0, description="low-pass filter of the forces")

    @model_validator(mode="after")
    def _known_quantities(self) -> Self:
        unknown = sorted(set(self.columns) - set(QUANTITIES))
        if unknown:
            raise InputError(
                f"columns: expected quantities of {', '.join(QUANTITIES)}, "
                f"found {', '.join(unknown)}"
            )
        return self


class MusclesConfig(Section):
    """How the muscles share the joint moments."""

    sharing: Literal["stress", "elastic"] = Field(
        "stress",
        description="least squared stresses, or in proportion to the stiffness of the fibres",
    )
    cocontraction_kPa: NonNegative = Field(0.0, description="stress that every muscle has at least")
    least_axial_force_N: NonNegative = Field(
        100.0, description="axial force of the simulated knee at least, in swing"
    )


class WalkFile(Section):
    """A file of `python -m pipeline walk`."""

    walk: WalkConfig = Field(default_factory=lambda: WalkConfig())
    subject: SubjectConfig
    measured: MeasuredConfig
    muscles: MusclesConfig = Field(default_factory=lambda: MusclesConfig())
    simulation: dict[str, Any] = Field(
        default_factory=dict,
        description="keys of the run's [simulation] that the walk replaces; waveforms and period "
        "come from the measured walking",
    )

    @model_validator(mode="after")
    def _cycle_is_measured(self) -> Self:
        given = sorted({"waveforms", "period_s"} & set(self.simulation))
        if given:
            raise InputError(
                "simulation: expected no waveforms and no period_s, which come from the measured "
                f"walking, found {', '.join(given)}"
            )
        return self


def describe_walk() -> str:
    """Return every key of a walk as Markdown tables, as `describe_schema` does."""
    return describe_section(WalkFile, "Walks")
