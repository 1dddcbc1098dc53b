"""Schema of the forces that an instrumented implant measured during a walk."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from foundation.base.errors import InputError
from pipeline.config.schema_base import File, Finite, Positive, Section
from pipeline.studies.implant_forces.roles import ROLES


class ImplantForcesConfig(Section):
    """Forces that an instrumented implant measured, compared with the forces of the walk."""

    file: File = Field(
        description="table of the forces (.csv, .txt, .sto, .xlsx); `$KNEE_DATA` at the start is "
        "the data folder"
    )
    sheet: str | None = Field(
        None, description="sheet of a workbook; by default the only sheet with forces"
    )
    columns: dict[str, str] = Field(
        default_factory=dict,
        description=f"names of columns that are not recognised, by role ({', '.join(ROLES)})",
    )
    unit: Literal["N", "kN", "lbf", "kgf", "BW", "%BW"] | None = Field(
        None,
        description="unit of the forces; by default as in the header, or N or lbf by the body "
        "weight",
    )
    moment_unit: Literal["N m", "N mm", "N cm", "lbf in", "lbf ft"] | None = Field(
        None,
        description="unit of the moments; by default as in the header, lbf in beside lbf, or N m "
        "or N mm by the distance of the force from the origin",
    )
    medial: dict[str, Finite] | None = Field(
        None,
        description="force of the medial compartment, positive in compression, as a sum of columns "
        "times factors, in units of the file; the lateral force is the rest of the total force",
    )
    spacing_mm: Positive | None = Field(
        None,
        le=100.0,
        description="distance between the contacts of both condyles, with which the frontal moment "
        "of a table in OrthoLoad's axes determines the forces of the compartments",
    )
    shift_s: Finite | None = Field(
        None,
        description="time that is added to the times of the table; by default 0 if the table "
        "covers the walk",
    )
    contact: str | None = Field(
        None,
        description="contact of an OpenSim model; by default the only contact with a medial and a "
        "lateral compartment",
    )

    @model_validator(mode="after")
    def _known(self) -> Self:
        unknown = sorted(set(self.columns) - set(ROLES))
        if unknown:
            raise InputError(
                f"columns: expected roles of {', '.join(ROLES)}, found {', '.join(unknown)}"
            )
        if self.medial is not None and self.spacing_mm is not None:
            raise InputError("expected either medial or spacing_mm, found both")
        return self
