"""Loading of the meshes of a study.

Faulty meshes are repaired, bearing surfaces cut out of closed bodies, huge meshes decimated.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from foundation.base.findings import Finding
from foundation.surfaces.decimation import HUGE, decimate
from foundation.surfaces.mesh import MeshWarning, TriangleMesh, load_mesh
from foundation.surfaces.mesh_checks import check_mesh
from foundation.surfaces.offset import moved_outwards
from foundation.surfaces.repair import repaired
from foundation.surfaces.smoothing import Smoothed, smoothed
from pipeline.config.data_folder import data_file
from pipeline.config.knee_schema import REPAIR_TOLERANCE_MM, MeshConfig
from pipeline.originals.bearing_part import (
    BearingPart,
    bearing_findings,
    bearing_part,
    part_findings,
)
from pipeline.progress import peak_memory, say

#: Size of a file beyond which reading takes seconds [bytes].
LARGE_FILE = 20_000_000


@dataclass(frozen=True, eq=False)
class LoadedMesh:
    """A mesh as the contact model uses the mesh.

    Parameters
    ----------
    mesh : TriangleMesh
        Surface [m], decimated if huge.
    triangles : int
        Number of triangles of the file.
    findings : tuple of Finding
        Errors and warnings about the repaired mesh, without the check of the orientation.
    repairs : tuple of str
        What was repaired, one clause each.
    deviation : float or None
        Largest distance between the decimated surface and that of the file [m]; None if the mesh
        is not decimated.
    smoothed : Smoothed or None
        The mesh and the distances by which smoothing moved its vertices; None without smoothing.
    part : BearingPart or None
        The bearing surface of a closed body; None if the whole mesh is used.
    """

    mesh: TriangleMesh
    triangles: int
    findings: tuple[Finding, ...]
    repairs: tuple[str, ...] = ()
    deviation: float | None = None
    smoothed: Smoothed | None = None
    part: BearingPart | None = None

    @property
    def bearing(self) -> BearingPart:
        """The surface as the contact model uses it, and the body it is taken from."""
        if self.part is None:
            return BearingPart(self.mesh, self.mesh)
        return replace(self.part, mesh=self.mesh)

    @property
    def decimation(self) -> str:
        """Sentence on the decimation; "" without a decimation."""
        if self.deviation is None:
            return ""
        return (
            f"{self.triangles:,} triangles decimated to {len(self.mesh.faces):,}; largest "
            f"deviation {1e6 * self.deviation:.2g} um"
        )

    @property
    def smoothing(self) -> str:
        """Sentence on the smoothing; "" without smoothing."""
        if self.smoothed is None:
            return ""
        return (
            f"smoothed by local quadratic fits: vertices moved by at most "
            f"{1e6 * self.smoothed.largest:.2g} um, {1e6 * self.smoothed.rms:.2g} um RMS"
        )


def load_surface(
    config: MeshConfig, side: str, body: str, repair_tolerance_mm: float = REPAIR_TOLERANCE_MM
) -> LoadedMesh:
    """Load the mesh of a "femur" or a "tibia" into the frame of its body, with its findings.

    A left knee is mirrored to a right one, and faults are repaired within the tolerance
    (`foundation.surfaces.repair`). Of a closed body, the bearing surface is taken if
    `config.surface` says so. A mesh of more than `HUGE` triangles is decimated to the deviation
    `decimate_um`, if that leaves at most half of its triangles. The mesh is then smoothed within
    `smooth_um`, and moved outwards by `cartilage_mm`. The same file gives the same surface in every
    call.

    Raises
    ------
    InputError
        If the file is missing or cannot be read.
    """
    path = data_file(config.file)
    version = (path.stat().st_mtime_ns, path.stat().st_size) if path.is_file() else None
    return _loaded(path, version, config, side, body, repair_tolerance_mm)


# `check` tests the meshes of the files, and then the contact model over the same meshes.
@lru_cache(maxsize=3)
def _loaded(
    path: Path,
    version: tuple[int, int] | None,
    config: MeshConfig,
    side: str,
    body: str,
    repair_tolerance_mm: float,
) -> LoadedMesh:
    loaded = _unsmoothed(path, version, config, side, body, repair_tolerance_mm)
    if any(found.is_error for found in loaded.findings):
        return loaded
    if config.smooth_um > 0.0:
        found = smoothed(loaded.mesh, 1e-6 * config.smooth_um)
        loaded = replace(loaded, mesh=found.mesh, smoothed=found)
    if config.cartilage_mm > 0.0:
        loaded = replace(loaded, mesh=moved_outwards(loaded.mesh, 1e-3 * config.cartilage_mm))
    return loaded


def _unsmoothed(
    path: Path,
    version: tuple[int, int] | None,
    config: MeshConfig,
    side: str,
    body: str,
    repair_tolerance_mm: float,
) -> LoadedMesh:
    if version is not None and version[1] > LARGE_FILE:
        say(f"reading {path} ({version[1] / 1e6:.0f} MB)")
    # Warnings become findings, since the surface of the next call is that of the cache.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MeshWarning)
        mesh = load_mesh(
            path,
            unit=config.unit,
            axes=config.axes,
            rotation=np.radians(config.rotation_deg),
            origin=1e-3 * np.array(config.origin_mm),
            side=side,
            check=False,
        )
    dropped = [Finding("warning", "", str(warning.message), "dropped") for warning in caught]
    count, part = len(mesh.faces), None
    mesh, repairs = repaired(mesh, 1e-3 * repair_tolerance_mm, body)
    for repair in repairs:
        say(f"{path.name}: repaired: {repair}")
    if config.surface == "bearing":
        # The rim of a bearing surface that is cut out has small holes: the body is checked.
        findings = (*dropped, *bearing_findings(mesh))
        if not any(found.is_error for found in findings):
            part = bearing_part(mesh, body)
            mesh, findings = part.mesh, (*findings, *part_findings(part))
    else:
        findings = (*dropped, *check_mesh(mesh, unit=config.unit))
    loaded = LoadedMesh(mesh, count, findings, repairs, part=part)
    # Wrong meshes are not decimated: the message is about the mesh of the file.
    if count <= HUGE or config.decimate_um == 0.0 or any(found.is_error for found in findings):
        return loaded
    say(f"decimating {count:,} triangles of {path.name}{peak_memory()}")
    decimated = decimate(mesh, 1e-6 * config.decimate_um)
    if decimated.failure:
        say(f"{path.name}: not decimated within {config.decimate_um:g} um: {decimated.failure}")
        return loaded
    loaded = replace(loaded, mesh=decimated.mesh, deviation=decimated.deviation)
    say(f"{path.name}: {loaded.decimation}{peak_memory()}")
    return loaded
