"""What a checkup says about the meshes of a study, each by itself and as a pair."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import ValidationError

from foundation.errors import InputError
from foundation.surfaces.compartments import LATERAL, MEDIAL
from foundation.surfaces.mesh import SIDES, load_mesh
from foundation.surfaces.mesh_checks import check_mesh
from foundation.surfaces.triangle_mesh import TriangleMesh
from foundation.wording import counted
from pipeline.config.reading import data_path, independent_path, tuples_of
from pipeline.config.schema import MeshConfig
from pipeline.originals.contact_original import compartments_of
from pipeline.originals.mesh_files import same_mesh, told_same
from pipeline.preparation.mesh_guess import faces_backwards, lateral_is_longer, side_in_name
from pipeline.progress import say

#: Sections that name a mesh, and the body that it is of.
MESHES = {"femur": "femur", "tibia": "tibia", "tibia_solid": "tibia"}
#: Widths of femur and tibia differ by at most this factor (measured: 1.01 and 1.06).
_WIDTHS = 1.5
#: Triangles of a mesh beyond which contact is slow; with edges of 0.5 mm a femur has some 50,000.
FINE = 300_000
#: Areas of the compartments differ by at most this factor (measured: 1.02 and 1.07).
_AREAS = 2.0


@dataclass(frozen=True)
class Remark:
    """What a checkup has to say.

    Parameters
    ----------
    level : {"error", "warning", "note"}
        A run is impossible; is doubtful; is worth knowing.
    about : str
        Key, section or file.
    text : str
        Finding and remedy.
    """

    level: Literal["error", "warning", "note"]
    about: str
    text: str


def check_meshes(knee: Mapping[str, Any], base: Path) -> tuple[list[Remark], bool]:
    """Return what is wrong with the meshes of [knee], and whether one is too fine to evaluate.

    Parameters
    ----------
    knee : mapping
        The section as it stands in the file, whatever else may be wrong with it.
    base : Path
        Folder of the configuration.
    """
    side = knee.get("side", "right")
    remarks: list[Remark] = []
    meshes: dict[str, TriangleMesh] = {}
    for section, body in MESHES.items():
        given = knee.get(section)
        if given is None:
            continue
        try:
            mesh = MeshConfig.model_validate(tuples_of(given))
        except ValidationError:  # a wrong key is told with those of the others
            continue
        about = f"[knee.{section}]"
        # Named as a run names it, so that what both say of it is known to be the same.
        file = data_path(independent_path(mesh.file, base), Path())
        named = side_in_name(file)
        if named is not None and side in SIDES and named != side:
            text = f'{file}: its name tells a {named} knee, side says {side}; give side = "{named}"'
            remarks.append(Remark("warning", "knee.side", text))
        say(f"reading {file}")
        found = _read(file, mesh, side if side in SIDES else "right", about, body, remarks)
        if found is not None:
            meshes[section] = found
    if {"femur", "tibia"} <= meshes.keys():
        if same_mesh(meshes["femur"], meshes["tibia"]):
            text = told_same(meshes["femur"], meshes["tibia"])
            return [*remarks, Remark("error", "[knee]", text)], False
        remarks += _check_pair(meshes["femur"], meshes["tibia"], knee.get("split_lateral_mm"))
    return remarks, any(map(is_too_fine, meshes.values()))


def _read(
    file: Path, mesh: MeshConfig, side: str, about: str, body: str, remarks: list[Remark]
) -> TriangleMesh | None:
    """Return a mesh if nothing is wrong with it; add what there is to say."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = load_mesh(file, unit=mesh.unit, axes=mesh.axes, side=side, check=False)
    except InputError as error:
        remarks.append(Remark("error", about, str(error)))
        return None
    remarks += [Remark("warning", about, str(one.message)) for one in caught]
    findings = check_mesh(found, body)
    for finding in findings:
        level: Literal["error", "warning"] = "error" if finding.is_error else "warning"
        remarks.append(Remark(level, about, finding.message))
    if any(finding.is_error for finding in findings):
        return None
    size = 1e3 * np.ptp(found.vertices, axis=0)
    text = (
        f"{file}: {counted(len(found.faces), 'triangle')} with edges of "
        f"{1e3 * edge_length(found):.2g} mm, "
        f"{size[0]:.0f} mm long, {size[2]:.0f} mm wide, {size[1]:.0f} mm high"
    )
    remarks.append(Remark("note", about, text))
    if is_too_fine(found):
        advice = (
            f"{file}: {counted(len(found.faces), 'triangle')}, more than {FINE} are slow and gain "
            "nothing: decimate the mesh, for example to edges of 0.5 mm, in a mesh editor"
        )
        remarks.append(Remark("warning", about, advice))
    return found


def is_too_fine(mesh: TriangleMesh) -> bool:
    """Return whether a mesh has more triangles than a checkup evaluates unasked."""
    return len(mesh.faces) > FINE


def edge_length(mesh: TriangleMesh) -> float:
    """Return the median length of a mesh's edges [m]."""
    corners = mesh.vertices[mesh.faces]
    return float(np.median(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)))


def _check_pair(femur: TriangleMesh, tibia: TriangleMesh, split: Any) -> list[Remark]:
    remarks = []
    widths = [float(np.ptp(mesh.vertices[:, 2])) for mesh in (femur, tibia)]
    if max(widths) > _WIDTHS * min(widths):
        text = (
            f"the femur is {1e3 * widths[0]:.0f} mm wide, the tibia {1e3 * widths[1]:.0f} mm: "
            "check unit and axes of both, and that they are of one knee"
        )
        remarks.append(Remark("warning", "[knee]", text))
    heights = [1e3 * float(np.ptp(mesh.vertices[:, 1])) for mesh in (femur, tibia)]
    if heights[0] < heights[1]:
        text = (
            f"the femur is {heights[0]:.0f} mm high, the tibia {heights[1]:.0f} mm, and a "
            "plateau is lower than its condyles: check that the files are not exchanged, and axes"
        )
        remarks.append(Remark("warning", "[knee]", text))
    if faces_backwards(femur):
        text = (
            "the femur seems to face backwards: its trochlea is posterior; turn it by half about "
            "the superior axis: change the signs of the first and third of its axes"
        )
        remarks.append(Remark("warning", "knee.femur.axes", text))
    return [*remarks, *_check_compartments(tibia, split)]


def _check_compartments(tibia: TriangleMesh, split: Any) -> list[Remark]:
    remarks: list[Remark] = []
    try:
        labels = compartments_of(tibia, split)
    except InputError as error:
        return [*remarks, Remark("error", "knee.split_lateral_mm", str(error))]
    areas = [1e6 * float(tibia.areas[labels == part].sum()) for part in (MEDIAL, LATERAL)]
    border = 0.5e3 * (
        float(tibia.centroids[labels == MEDIAL, 2].max())
        + float(tibia.centroids[labels == LATERAL, 2].min())
    )
    text = (
        f"the compartments part at {border:.1f} mm lateral, {areas[0]:.0f} mm² medial and "
        f"{areas[1]:.0f} mm² lateral"
    )
    if max(areas) > _AREAS * min(areas):
        text += ": uneven, check split_lateral_mm and that the tibia is whole"
        remarks.append(Remark("warning", "knee.split_lateral_mm", text))
    else:
        remarks.append(Remark("note", "[knee]", text))
    if lateral_is_longer(tibia, labels):
        text = (
            "the lateral plateau is the longer one, which in natural knees is the medial: if this "
            'is a left knee give side = "left", or check the axes'
        )
        remarks.append(Remark("warning", "knee.side", text))
    return remarks
