"""Schema of the forces that an instrumented implant measured during a walk."""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

from pydantic import Field, model_validator

from foundation.base.errors import InputError
from pipeline.config.schema_base import File, Finite, Section

#: A column by its name, or a sum of columns times factors.
Columns = str | dict[str, Finite]
Unit = Literal["N", "kN", "lbf", "kgf", "BW", "%BW"]


class Layout(NamedTuple):
    """What the tables of a public collection have: column of times, axial force, unit."""

    time: str
    total: Columns
    unit: Unit


#: Second implant of the Grand Challenge (simtk.org/projects/kneeloads), and OrthoLoad
#: (cams-knee.orthoload.com), whose Fz is negative in compression.
LAYOUTS = {
    "grand_challenge": Layout("Time", "Fz", "lbf"),
    "orthoload": Layout("Time", {"Fz": -1.0}, "N"),
}


class ImplantForcesConfig(Section):
    """Forces that an instrumented implant measured, compared with the forces of the walk."""

    file: File = Field(
        description="table of the forces (.csv, .txt, .sto); `$KNEE_DATA` at the start is the data "
        "folder"
    )
    layout: Literal["grand_challenge", "orthoload"] | None = Field(
        None, description="public collection whose column of times, total force and unit apply"
    )
    time: str | None = Field(None, description='column of the times; by default "time"')
    time_unit: Literal["s", "ms", "percent"] = Field(
        "s", description="unit of the times; 0 to 100 percent are the whole walk"
    )
    total: Columns | None = Field(
        None,
        description="total axial force, positive in compression: a column, or a sum of columns "
        "times factors, such as {PM = 1, AM = 1}; by default medial plus lateral",
    )
    medial: Columns | None = Field(
        None,
        description="force of the medial compartment, as for total; by default total less lateral",
    )
    lateral: Columns | None = Field(
        None,
        description="force of the lateral compartment, as for total; by default total less medial",
    )
    unit: Unit | None = Field(None, description="unit of the forces; by default N")
    shift_s: Finite = Field(
        0.0, description="time that is added to the times of the table to give those of the walk"
    )
    contact: str | None = Field(
        None,
        description="contact of an OpenSim model; by default the only contact with a medial and a "
        "lateral compartment",
    )

    @model_validator(mode="after")
    def _enough(self) -> Self:
        if self.sums.keys() & {"total"} or self.sums.keys() >= {"medial", "lateral"}:
            return self
        raise InputError(
            "expected total, both medial and lateral, or layout, found "
            f"{', '.join(self.sums) or 'none'}; state the columns of the total force, such as "
            'total = "Fz" or total = {Fz = -1}'
        )

    @property
    def sums(self) -> dict[str, dict[str, float]]:
        """Factors of columns by part (total, medial, lateral), of the parts that are stated."""
        given = {"total": self.total, "medial": self.medial, "lateral": self.lateral}
        if self.layout is not None and self.total is None:
            given["total"] = LAYOUTS[self.layout].total
        return {
            part: {columns: 1.0} if isinstance(columns, str) else columns
            for part, columns in given.items()
            if columns is not None
        }

    @property
    def clock(self) -> str:
        """Name of the column of times."""
        layout = LAYOUTS[self.layout].time if self.layout is not None else "time"
        return self.time or layout

    @property
    def force_unit(self) -> Unit:
        """Unit of the forces."""
        layout: Unit = LAYOUTS[self.layout].unit if self.layout is not None else "N"
        return self.unit or layout
