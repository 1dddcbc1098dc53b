"""Checks of the meshes of a study, alone and as a pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from foundation.base.loads import COMPARTMENTS
from foundation.base.wording import counted
from foundation.surfaces.compartments import LATERAL, MEDIAL
from foundation.surfaces.decimation import HUGE
from foundation.surfaces.mesh import SIDES
from foundation.surfaces.mesh_checks import BODIES, orientation_findings
from foundation.surfaces.triangle_mesh import TriangleMesh, edge_length
from pipeline.config.data_folder import data_path
from pipeline.config.knee_schema import REPAIR_TOLERANCE_MM, MeshConfig
from pipeline.config.reading import tuples_of
from pipeline.originals.knee_surface_checks import check_pair, check_sides, check_surfaces
from pipeline.originals.knee_surfaces import compartments_of
from pipeline.originals.mesh_loading import LARGE_FILE, load_surface
from pipeline.preparation.findings import Findings
from pipeline.preparation.mesh_guess import side_in_names
from pipeline.preparation.shape_checkup import check_shape
from pipeline.progress import say

#: Body of each section that names a mesh.
MESHES = {"femur": "femur", "tibia": "tibia", "tibia_solid": "tibia"}
#: Largest ratio of the areas of the compartments (measured: 1.02 and 1.07).
_AREAS = 2.0


def check_meshes(knee: Mapping[str, Any], base: Path, findings: Findings) -> bool:
    """Check the meshes of [knee] and return whether a mesh is too fine for an evaluation.

    `knee` is the section of the file, possibly with errors, `base` the folder of the file.
    """
    side, tolerance = knee.get("side", "right"), _tolerance(knee)
    meshes: dict[str, TriangleMesh] = {}
    bony_femur = False
    for section, body in MESHES.items():
        try:
            keys = tuples_of(knee.get(section))
            mesh = MeshConfig.model_validate(keys, context={"folder": base})
        except ValidationError:  # no such section, or an error of the configuration
            continue
        files = [data_path(file, Path()) for file in mesh.files]
        named = side_in_names(files)
        if named is not None and side in SIDES and named != side:
            findings.warning(
                "knee.side",
                f'{mesh.name}: file name suggests a {named} knee, but side = "{side}"; set side = '
                f'"{named}", or rename the file',
            )
        if sum(file.stat().st_size for file in files if file.is_file()) <= LARGE_FILE:
            say(f"reading {mesh.name}")
        loaded = _read(mesh, _known(side), body, section, tolerance, findings)
        if loaded is not None:
            meshes[section] = loaded
            bony_femur |= section == "femur" and mesh.cartilage_mm > 0.0
    if "shape" in knee and {"femur", "tibia"} <= meshes.keys():
        shaped = check_shape(knee, base, findings)
        if shaped is None:
            return False
        meshes |= shaped
    of_knee = tuple(knee.get("compartments", COMPARTMENTS)) == COMPARTMENTS
    check = check_surfaces if of_knee else check_pair
    of_surfaces = check({body: meshes[body] for body in BODIES if body in meshes})
    findings.add(of_surfaces)
    if any(finding.is_error for finding in of_surfaces):
        return False
    if of_knee and {"femur", "tibia"} <= meshes.keys():
        pair = {body: meshes[body] for body in BODIES}
        findings.add(check_sides(pair, _known(side), bony_femur=bony_femur))
        _check_compartments(meshes["tibia"], knee.get("split_lateral_mm"), findings)
    return any(len(mesh.faces) > HUGE for mesh in meshes.values())


def _read(
    config: MeshConfig, side: str, body: str, section: str, tolerance: float, findings: Findings
) -> TriangleMesh | None:
    """Return a mesh, or None if it has errors."""
    about = f"[knee.{section}]"
    loaded = findings.attempt(about, load_surface, config, side, body, tolerance)
    if loaded is None:
        return None
    mesh = loaded.mesh
    # The shapes of the two bodies are checked together.
    solid = orientation_findings(mesh, body) if section == "tibia_solid" else []
    of_mesh = [replace(finding, about=about) for finding in (*loaded.findings, *solid)]
    findings.add(of_mesh)
    if any(finding.is_error for finding in of_mesh):
        return None
    size = 1e3 * np.ptp(mesh.vertices, axis=0)
    count = f"{mesh.name}: {counted(len(mesh.faces), 'triangle')}"
    findings.note(
        about,
        f"{count} with edges of {1e3 * edge_length(mesh):.2g} mm, {size[0]:.0f} mm long, "
        f"{size[2]:.0f} mm wide, {size[1]:.0f} mm high",
    )
    for repair in loaded.repairs:
        findings.note(about, f"repaired: {repair}")
    for clause in loaded.left_out:
        findings.note(about, clause)
    if loaded.part is not None:
        findings.note(about, loaded.part.words)
    if config.cartilage_mm > 0.0:
        findings.note(
            about, f"moved outwards by {config.cartilage_mm:g} mm of cartilage on the bone"
        )
    if loaded.decimation:
        findings.note(about, loaded.decimation)
    if loaded.smoothing:
        findings.note(about, loaded.smoothing)
    if len(mesh.faces) > HUGE:
        findings.warning(
            about,
            f"{count}; more than {HUGE} triangles are slow without a gain in accuracy: set "
            "decimate_um to a deviation of some micrometres, or decimate the mesh in a mesh editor",
        )
    return mesh


def _tolerance(knee: Mapping[str, Any]) -> float:
    """Return the stated tolerance of the repair [mm]; the default for an error of the file."""
    stated = knee.get("repair_tolerance_mm", REPAIR_TOLERANCE_MM)
    usable = isinstance(stated, int | float) and 0.0 <= stated <= 1.0
    return float(stated) if usable else REPAIR_TOLERANCE_MM


def _known(side: Any) -> str:
    """Return a stated side; the default for an error of the configuration."""
    return side if side in SIDES else "right"


def _check_compartments(tibia: TriangleMesh, split: Any, findings: Findings) -> None:
    """Check the compartments of a tibia."""
    key = "knee.split_lateral_mm"
    labels = findings.attempt(key, compartments_of, tibia, split)
    if labels is None:
        return
    areas = [1e6 * float(tibia.areas[labels == label].sum()) for label in (MEDIAL, LATERAL)]
    across = tibia.centroids[:, 2]
    border = 0.5e3 * (
        float(across[labels == MEDIAL].max()) + float(across[labels == LATERAL].min())
    )
    text = (
        f"border of the compartments at {border:.1f} mm lateral; {areas[0]:.0f} mm² medial, "
        f"{areas[1]:.0f} mm² lateral"
    )
    if max(areas) > _AREAS * min(areas):
        text += ": uneven; check split_lateral_mm, and that the tibia is complete"
        findings.warning(key, text)
    else:
        findings.note("[knee]", text)
