"""Options of the command `init`, apart from what reads them: help must not import mesh readers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

#: As `foundation.elastic_foundation.laws.LAWS`, whose import takes long.
Law = Literal["linear", "modified", "logarithmic"]
#: As `foundation.surfaces.mesh.UNITS`.
Unit = Literal["m", "cm", "mm", "um", "inch"]
FileAxis = Annotated[str | None, Parameter(metavar="AXIS", allow_leading_hyphen=True)]
Mesh = Annotated[tuple[Path, ...], Parameter(metavar="FILE", consume_multiple=False)]


@dataclass(frozen=True)
class InitOptions:
    """Values of a first configuration; None for a value to be guessed.

    Parameters
    ----------
    femur : tuple of Path
        Femoral mesh (.stl, .ply, .obj, .vtk, .vtp, .vtu, .step, .stp).
        Repeat the option for a body in several files.
    tibia : tuple of Path
        Tibial mesh (.stl, .ply, .obj, .vtk, .vtp, .vtu, .step, .stp).
        Repeat the option for a body in several files.
    material : {"polyethylene", "cartilage"}, optional
        Material of the bearing surface (default: cartilage if both bodies are thin closed shells).
    unit : {"m", "cm", "mm", "um", "inch"}, optional
        Unit of the files that state no unit (default: guessed).
    femur_unit : {"m", "cm", "mm", "um", "inch"}, optional
        Unit of the femoral file (default: stated by the file, or as --unit).
    tibia_unit : {"m", "cm", "mm", "um", "inch"}, optional
        Unit of the tibial file (default: stated by the file, or as --unit).
    axes : str, optional
        Signed axes of both files, whose frames are then those of the bodies: anterior, superior,
        right; such as -x,y,-z (default: frames proposed from the shape).
    femur_anterior : str, optional
        Signed axis of the femoral file nearest to anterior, if the shape does not tell.
    tibia_anterior : str, optional
        Signed axis of the tibial file nearest to anterior, if the shape does not tell.
    femur_bone : tuple of Path
        Bone of the femur, in the frame and unit of the femoral file: its shaft tells the zero of
        flexion within 5 deg, closed shells of cartilage alone within 8 deg.
    slope_deg : float, optional
        Fall of the tibial plateau towards posterior (default: from the material).
    side : {"right", "left"}, optional
        Side of the knee (default: from shape and file names).
    repair_tolerance_mm : float, optional
        Largest distance between corners that the repair welds, 0 for no repair (default: 0.02).
    name : str, optional
        Name of the run (default: name of the configuration file).
    law : {"linear", "modified", "logarithmic"}, optional
        Law of springs (default: finite elements, on surfaces that are smooth or can be smoothed).
    youngs_modulus_MPa : float, optional
        Young's modulus [MPa] (default: from the material).
    poissons_ratio : float, optional
        Poisson's ratio [1] (default: from the material).
    thickness_mm : float, optional
        Thickness of the layer [mm] (default: from the material).
    force : bool
        Replace an existing file.
    """

    femur: Mesh = ()
    tibia: Mesh = ()
    material: Literal["polyethylene", "cartilage"] | None = None
    unit: Unit | None = None
    femur_unit: Unit | None = None
    tibia_unit: Unit | None = None
    axes: Annotated[str | None, Parameter(metavar="A,S,R", allow_leading_hyphen=True)] = None
    femur_anterior: FileAxis = None
    tibia_anterior: FileAxis = None
    femur_bone: Mesh = ()
    slope_deg: Annotated[float | None, Parameter(metavar="DEG", allow_leading_hyphen=True)] = None
    side: Literal["right", "left"] | None = None
    repair_tolerance_mm: Annotated[float | None, Parameter(metavar="MM")] = None
    name: str | None = None
    law: Law | None = None
    youngs_modulus_MPa: Annotated[
        float | None, Parameter(name="--modulus-MPa", metavar="E")
    ] = None  # fmt: skip
    poissons_ratio: Annotated[float | None, Parameter(metavar="NU")] = None
    thickness_mm: Annotated[float | None, Parameter(metavar="H")] = None
    force: bool = False
