"""Schema of a walk: measured walking of a subject, and the knee that it drives."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from dynamics.walking.columns import OPENSIM_COLUMNS
from foundation.base.errors import InputError
from pipeline.config.schema_base import (
    File,
    Finite,
    NonNegative,
    Positive,
    Section,
    describe_section,
    name_field,
)
from pipeline.studies.implant_forces.schema import ImplantForcesConfig

#: Quantities with columns that `columns` may rename.
QUANTITIES = (*OPENSIM_COLUMNS["right"], "pelvis_z")


class WalkConfig(Section):
    """The walk and its trained knee."""

    name: str = name_field("walking", "walk")
    model: Literal["planar"] = Field(
        "planar",
        description=(
            '"planar" is a planar leg; an .osim file is a walk with muscles (Walks of OpenSim '
            "models)"
        ),
    )
    run: str = Field(
        "runs/walking_implant",
        description="run directory of the knee; relative to the working directory",
    )
    run_config: File | None = Field(
        None,
        description="configuration of the run (TOML, relative to this file), made if missing",
    )
    compare: bool = Field(
        True, description="whether to simulate with the original model too, for comparison"
    )


class SubjectConfig(Section):
    """The subject; missing lengths follow from the height."""

    mass_kg: Positive = Field(le=400.0, description="mass of the body")
    height_m: Positive = Field(ge=0.5, le=2.5, description="height of the body")
    side: Literal["right", "left"] = Field("right", description="leg; a left leg is mirrored")
    thigh_length_m: Positive | None = Field(None, le=1.0, description="hip to knee")
    shank_length_m: Positive | None = Field(None, le=1.0, description="knee to ankle")
    hip_m: tuple[Finite, Finite, Finite] | None = Field(
        None, description="right hip from the origin of the pelvis: forward, up, to the right"
    )


class MeasuredConfig(Section):
    """Motion and ground force, as OpenSim's .mot and .sto or as CSV; lab x forward, y up."""

    motion: File = Field(
        description="file with the position of the pelvis and the joint angles; `$KNEE_DATA` at "
        "the start is the data folder, other paths are relative to this file"
    )
    ground: File = Field(
        description="file with force, point and torque of the ground; also a C3D file"
    )
    in_degrees: bool | None = Field(
        None,
        description="whether angles are in degrees; by default the header of the motion file, or "
        "the range of motion where the range contradicts the header",
    )
    columns: dict[str, str] = Field(
        default_factory=dict,
        description="names of columns that are not recognised, by quantity "
        f"({', '.join(QUANTITIES)}); a minus before a name changes the sign; for force, point and "
        "torque, the name without the last letter x, y, z",
    )
    stride_s: tuple[NonNegative, NonNegative] | None = Field(
        None,
        description="instants of a heel strike and of the next heel strike; by default from the "
        "ground force, or from the motion if the next heel strike is off the plates",
    )
    pelvis_z_m: Finite | None = Field(
        None,
        description="lateral position of the pelvis, to the right; by default the column "
        "pelvis_tz, or midway between the forces of both feet without this column; adduction "
        "moment and torque depend on this position",
    )
    fit_foot: bool = Field(
        True,
        description="whether to move the ground force fore and aft by a constant where the force "
        "is not between heel and metatarsal heads at the peaks of the force",
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
    """Sharing of the joint moments among the muscles."""

    sharing: Literal["stress", "elastic"] = Field(
        "stress",
        description=(
            "muscles share the moments by the least sum of squared stresses, or in proportion to "
            "the fibre stiffness"
        ),
    )
    cocontraction_kPa: NonNegative = Field(0.0, description="least stress of each muscle")
    least_axial_force_N: NonNegative = Field(
        100.0, description="least axial force of the simulated knee, in swing"
    )
    adduction_moment: Literal["external", "remaining"] = Field(
        "external",
        description="moment that contact carries: the external adduction moment, as if muscles "
        "that the model lacks balanced the frontal moments of the muscles of the model, or the "
        "moment that remains after the muscles of the model",
    )
    largest_offset_mm: NonNegative = Field(
        15.0,
        le=40.0,
        description="largest offset of the axial force from the tibial origin by which contact "
        "carries the adduction moment; ligaments and antagonists carry the rest; 0 applies no "
        "adduction moment, and the axial force acts at the medial_offset_mm of the run",
    )


class WalkFile(Section):
    """Configuration of `knee-contact walk`."""

    walk: WalkConfig = Field(default_factory=lambda: WalkConfig())
    subject: SubjectConfig
    measured: MeasuredConfig
    muscles: MusclesConfig = Field(default_factory=lambda: MusclesConfig())
    implant_forces: ImplantForcesConfig | None = Field(
        None, description="measured forces, compared with those of the walk"
    )
    simulation: dict[str, Any] = Field(
        default_factory=dict,
        description="keys of [simulation] that replace the keys of the run; waveforms and period "
        "follow from the measured walking",
    )

    @model_validator(mode="after")
    def _cycle_is_measured(self) -> Self:
        replaced = sorted({"waveforms", "period_s"} & set(self.simulation))
        if replaced:
            raise InputError(
                "simulation: expected no waveforms and no period_s, which follow from the "
                f"measured walking, found {', '.join(replaced)}"
            )
        return self


def describe_walk() -> str:
    """Return every key of a walk as Markdown tables, as `describe_schema` does."""
    return describe_section(WalkFile, "Walks")
