"""The section of a configuration that the gait simulation reads."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from dynamics.ligaments.bundle_tables import SHIPPED_LIGAMENTS
from dynamics.simulator.waveform_tables import ACTIVITIES, LEVEL_WALKING
from foundation.base.errors import InputError
from pipeline.config.knee_schema import KneeConfig
from pipeline.config.schema_base import Finite, NonNegative, Positive, Section, file_unless


class SimulationConfig(Section):
    """Stage h: knee simulator, driven by the loads or the motions of the waveforms."""

    only_with = (
        ("waveform_layout", "iso14243", ("waveform_reversed",)),
        ("wear_law", "factor", ("wear_factor_mm3_per_Nm", "wear_factor_cross_shear_mm3_per_Nm")),
        ("wear_law", "coefficient", ("wear_coefficient", "wear_coefficient_cross_shear")),
    )
    waveforms: Annotated[str, file_unless(*ACTIVITIES)] = Field(
        LEVEL_WALKING.stem,
        description='table of the inputs: the shipped "level_walking", "stair_ascent", '
        '"stair_descent", "squat" or "deep_flexion", or a CSV file, relative to the config; '
        "ap_force_N or anterior_mm drives the AP direction, internal_torque_Nm or rotation_deg "
        "drives the rotation",
    )
    waveform_layout: Literal["columns", "iso14243"] = Field(
        "columns",
        description=(
            "names of the columns of the CSV file: by this package, or by ISO 14243-1 or -3"
        ),
    )
    waveform_reversed: tuple[Literal["ap", "rotation"], ...] = Field(
        (), description="directions of an ISO table with the opposite sign (docs/formats.md)"
    )
    period_s: Positive = Field(1.0, description="duration of one cycle")
    cycles: int = Field(1, ge=1, description="cycles simulated; the last one is reported")
    samples: int = Field(201, ge=11, description="instants reported over the cycle")
    axial_scale: Positive = Field(1.0, description="factor on the axial force")
    medial_offset_mm: Finite = Field(5.0, description="axial line of action, medial of the origin")
    anterior_offset_mm: Finite = Field(
        0.0, description="axial line of action, anterior of the origin"
    )
    ap_stiffness_N_per_mm: NonNegative = Field(30.0, description="AP restraint")
    ap_gap_mm: NonNegative = Field(
        0.0, description="travel to either side before the AP restraint acts"
    )
    rotation_stiffness_Nm_per_deg: NonNegative = Field(0.6, description="rotational restraint")
    rotation_gap_deg: NonNegative = Field(
        0.0, description="turn to either side before the rotational restraint acts"
    )
    lateral_stiffness_N_per_mm: NonNegative = Field(0.0, description="ML restraint")
    adduction_stiffness_Nm_per_deg: NonNegative = Field(0.0, description="coronal restraint")
    restraint_about: Literal["pose", "path"] = Field(
        "pose",
        description="springs are slack in one pose (implants) or along the path (natural knees)",
    )
    neutral_anterior_mm: Finite | None = Field(
        None,
        description="anterior position where the AP spring is slack, with restraint_about = "
        '"pose"; by default where the femur rests',
    )
    neutral_lateral_mm: Finite = Field(
        0.0,
        description='lateral position where the ML spring is slack, with restraint_about = "pose"',
    )
    ligaments: Annotated[str, file_unless(SHIPPED_LIGAMENTS)] | None = Field(
        None,
        description='bundles between femur and tibia: the shipped "lenhart2015", or a CSV file, '
        "relative to the config, with attachments along the axes of the mesh files "
        "(docs/formats.md)",
    )
    mass_kg: tuple[Positive, Positive, Positive] = Field(
        (3.0, 3.0, 3.0), description="moving masses in the AP, axial and ML directions"
    )
    inertia_kg_m2: tuple[Positive, Positive] = Field(
        (0.03, 0.01), description="moving inertias in adduction and rotation"
    )
    damping_N_s_per_m: tuple[NonNegative, NonNegative, NonNegative] = Field(
        (200.0, 200.0, 200.0), description="viscous damping in the AP, axial and ML directions"
    )
    damping_Nm_s_per_rad: tuple[NonNegative, NonNegative] = Field(
        (2.0, 0.2), description="viscous damping in adduction and rotation"
    )
    equations: Literal["full", "reduced"] = Field(
        "full",
        description="dynamics of all free coordinates, or with height, adduction and ML position "
        "quasi-static",
    )
    relative_tolerance: Positive = Field(1e-3, description="relative tolerance of the integrator")
    method: Literal["Rodas5P", "Rodas4P"] = Field("Rodas5P", description="integrator")
    wear_law: Literal["factor", "coefficient"] = Field(
        "factor", description="wear over force and sliding distance, or over area and distance"
    )
    wear_factor_mm3_per_Nm: NonNegative = Field(
        1e-7, description="Archard's wear volume per force and sliding distance"
    )
    wear_factor_cross_shear_mm3_per_Nm: NonNegative = Field(
        0.0, description="what a cross-shear of 1 adds to the wear factor"
    )
    wear_coefficient: NonNegative = Field(
        0.0, description="wear volume per contact area and sliding distance"
    )
    wear_coefficient_cross_shear: NonNegative = Field(
        0.0, description="what a cross-shear of 1 adds to the wear coefficient"
    )
    creep_per_MPa: NonNegative = Field(
        0.0, description="strain of the layer over the mean pressure of the cycle after a minute"
    )
    creep_per_MPa_decade: NonNegative = Field(
        0.0, description="strain over pressure that each decade of time adds"
    )
    density_g_per_cm3: Positive = Field(0.94, description="density of the worn material")
    combinations: bool = Field(
        True, description="whether to compare both models for eleven combinations of the inputs"
    )
    kind: Literal["gait", "none"] = Field(
        "gait",
        description='a gait cycle of the knee; "none" is for a contact pair that the knee '
        "simulator does not drive, and ends the run with the validation of the surrogate",
    )
    _knee: KneeConfig = PrivateAttr(default_factory=KneeConfig)

    @property
    def knee(self) -> KneeConfig:
        """The knee whose mesh files have the frames of the ligaments, stated by `Config`."""
        return self._knee

    def state_knee(self, knee: KneeConfig) -> Self:
        """State the knee of the ligaments; return the section itself."""
        self._knee = knee
        return self

    @model_validator(mode="after")
    def _layout_of_a_file(self) -> Self:
        if self.waveform_layout == "iso14243" and self.waveforms in ACTIVITIES:
            raise InputError(
                'waveform_layout = "iso14243": expected your file in waveforms, since the numbers '
                f"of the standard are not shipped, found {self.waveforms!r}"
            )
        return self
