"""Section of the shape of a knee: corresponding meshes, or displacements, and weights of modes."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from foundation.base.errors import InputError
from foundation.base.wording import counted
from pipeline.config.schema_base import File, Finite, Section

#: Largest number of modes.
MOST_MODES = 8


def _weight(number: int) -> Any:
    return Field(
        0.0,
        description=f"weight of mode {number}, in standard deviations of the set or in units of "
        "the displacements",
    )


class ShapeConfig(Section):
    """Shape of the knee by modes: principal components of corresponding knees, or displacements.

    The surfaces of femur and tibia are the mean of the knees, or the meshes of [knee.femur] and
    [knee.tibia] with displacements, plus the weighted modes. All meshes have the same triangles
    and corresponding vertices; the file of [knee.femur] or [knee.tibia] says which, and unit, axes,
    rotation_deg, origin_mm and side of that section hold for all files of the body.
    """

    femur_files: tuple[File, ...] = Field(
        (), description="corresponding femoral meshes, one per knee"
    )
    tibia_files: tuple[File, ...] = Field(
        (),
        description="corresponding tibial meshes of the same knees, in the same order; a body "
        "without files keeps its mesh in all knees",
    )
    femur_displacements: tuple[File, ...] = Field(
        (),
        description="in place of meshes: CSV files, one per mode, with columns dx_mm, dy_mm and "
        "dz_mm along the axes of the file of the mesh and a row per vertex of that file",
    )
    tibia_displacements: tuple[File, ...] = Field(
        (),
        description="the same for the tibia; if both bodies have displacements, each mode moves "
        "both",
    )
    align: Literal["none", "rigid"] = Field(
        "none",
        description="none: the meshes of a body are in one frame, that of its section; rigid: each "
        "mesh is first turned and moved onto that of the section, as its vertices fit best",
    )
    modes: int | None = Field(
        None,
        ge=1,
        le=MOST_MODES,
        description="number of modes; by default as many as the files give, at most 8",
    )
    mode_1: Finite = _weight(1)
    mode_2: Finite = _weight(2)
    mode_3: Finite = _weight(3)
    mode_4: Finite = _weight(4)
    mode_5: Finite = _weight(5)
    mode_6: Finite = _weight(6)
    mode_7: Finite = _weight(7)
    mode_8: Finite = _weight(8)

    @property
    def of_knees(self) -> bool:
        """Whether the modes are those of corresponding knees, not given displacements."""
        return bool(self.femur_files or self.tibia_files)

    @property
    def count(self) -> int:
        """Number of files of a body: of knees, or of displacements."""
        femoral, tibial = self.files
        return max(len(femoral), len(tibial))

    @property
    def files(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Files of femur and tibia, none for a body that stays as it is."""
        if self.of_knees:
            return self.femur_files, self.tibia_files
        return self.femur_displacements, self.tibia_displacements

    @property
    def kept(self) -> int:
        """Number of modes."""
        available = self.count - 1 if self.of_knees else self.count
        return min(available, MOST_MODES) if self.modes is None else self.modes

    @property
    def weights(self) -> tuple[float, ...]:
        """Weights of the modes that are kept [1]."""
        return self._all_weights()[: self.kept]

    def without_weights(self) -> Self:
        """Return the section with all weights at zero."""
        return self.model_copy(update={f"mode_{k}": 0.0 for k in range(1, MOST_MODES + 1)})

    def _all_weights(self) -> tuple[float, ...]:
        return tuple(float(getattr(self, f"mode_{k}")) for k in range(1, MOST_MODES + 1))

    @model_validator(mode="after")
    def _files_given(self) -> Self:
        displaced = bool(self.femur_displacements or self.tibia_displacements)
        if self.of_knees == displaced:
            raise InputError(
                "expected corresponding meshes (femur_files, tibia_files) or displacements "
                "(femur_displacements, tibia_displacements), found "
                f"{'both' if displaced else 'neither'}"
            )
        kind = "files" if self.of_knees else "displacements"
        femoral, tibial = self.files
        if femoral and tibial and len(femoral) != len(tibial):
            raise InputError(
                f"femur_{kind} and tibia_{kind}: expected one file of each body per "
                f"{'knee' if self.of_knees else 'mode'}, found {len(femoral)} and {len(tibial)}"
            )
        if self.of_knees and self.count < 2:
            raise InputError("femur_files and tibia_files: expected two knees or more, found 1")
        if displaced and self.align != "none":
            raise InputError(f'align: expected "none" with displacements, found "{self.align}"')
        if displaced and self.count > MOST_MODES:
            raise InputError(
                f"{kind}: expected at most {MOST_MODES} files of a body, found {self.count}"
            )
        return self

    @model_validator(mode="after")
    def _modes_known(self) -> Self:
        available = self.count - 1 if self.of_knees else self.count
        if self.modes is not None and self.modes > available:
            raise InputError(
                f"modes: expected at most {available}, since there are "
                f"{counted(self.count, 'knee' if self.of_knees else 'displacement')}, found "
                f"{self.modes}"
            )
        for number, weight in enumerate(self._all_weights(), start=1):
            if number > self.kept and weight != 0.0:
                raise InputError(
                    f"mode_{number}: expected 0, since there are {counted(self.kept, 'mode')}, "
                    f"found {weight:g}"
                )
        return self
