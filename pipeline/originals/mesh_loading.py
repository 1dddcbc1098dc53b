"""Loading of the meshes of a study.

Faulty meshes are repaired, bearing surfaces cut out of closed bodies, huge meshes decimated.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from foundation.anatomy.bearing_surface import BEARINGS
from foundation.anatomy.joint_end import is_long
from foundation.anatomy.own_pieces import OwnPieces, own_pieces
from foundation.anatomy.walls import large_pieces, on_columns, outer_walls, without_risers
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.findings import Finding
from foundation.surfaces.decimation import HUGE, decimate
from foundation.surfaces.mesh import MeshWarning, TriangleMesh, load_mesh, placement
from foundation.surfaces.mesh_checks import check_mesh, hole_findings, vertices_of
from foundation.surfaces.repair import repaired
from foundation.surfaces.smoothing import Smoothed, moved_outwards, smoothed
from foundation.surfaces.surface_shape import selected
from pipeline.config.data_folder import data_files
from pipeline.config.knee_schema import REPAIR_TOLERANCE_MM, KneeConfig, MeshConfig
from pipeline.progress import peak_memory, say


@dataclass(frozen=True, eq=False)
class BearingPart:
    """Bearing surface of a closed body, and the body; meshes in [m]."""

    mesh: TriangleMesh
    #: The repaired mesh of the file.
    whole: TriangleMesh
    #: Rounded edge of a tibial shell, which faces the femur and does not bear; None without.
    edge: TriangleMesh | None = None

    @property
    def words(self) -> str:
        """What is taken, in triangles and areas."""
        used, body = float(self.mesh.areas.sum()), float(self.whole.areas.sum())
        return (
            f"bearing surface: {1e6 * used:,.0f} mm² in {len(self.mesh.faces):,} of "
            f"{len(self.whole.faces):,} triangles ({used / body:.0%} of the area) are used"
        )


def bearing_findings(whole: TriangleMesh) -> tuple[Finding, ...]:
    """Return errors and warnings about the outer walls of a body [m].

    The size and holes are those of the bearing surface (`part_findings`): a shaft may be open.
    """
    return tuple(f for f in check_mesh(outer_walls(whole)) if f.code not in ("scale", "hole"))


def bearing_part(whole: TriangleMesh, body: str) -> BearingPart:
    """Return the bearing surface of a "femur" or "tibia" in its frame."""
    wall = BEARINGS[body](whole)
    if body != "tibia":
        return BearingPart(wall, whole)
    bears = large_pieces(wall, on_columns(outer_walls(whole), wall))
    edge = None if bears.all() else selected(wall, ~bears)
    return BearingPart(selected(wall, bears), whole, edge)


def part_findings(part: BearingPart, own: TriangleMesh) -> tuple[Finding, ...]:
    """Return errors and warnings about size and holes of a bearing surface.

    `own` is its body [m] along the axes of the file, as a mesh editor shows the places.
    """
    scale = [finding for finding in check_mesh(part.mesh) if finding.code == "scale"]
    return (*scale, *hole_findings(own, vertices_of(part.mesh, part.whole)))


#: Size of a file beyond which reading takes seconds [bytes].
LARGE_FILE = 20_000_000
#: Keys of a mesh whose vertices are not moved.
UNMOVED = {"smooth_um": 0.0, "cartilage_mm": 0.0}


@dataclass(frozen=True, eq=False)
class LoadedMesh:
    """A mesh [m] as the contact model uses the mesh."""

    #: Decimated if huge.
    mesh: TriangleMesh
    #: Number of triangles of the file.
    triangles: int
    #: Errors and warnings about the repaired mesh, without the check of the orientation.
    findings: tuple[Finding, ...]
    #: What was repaired, one clause each.
    repairs: tuple[str, ...] = ()
    #: Further bodies and inner sheets of the file that are not used, one clause each.
    left_out: tuple[str, ...] = ()
    #: Largest distance between decimated surface and file [m]; None if not decimated.
    deviation: float | None = None
    #: The mesh and the distances by which smoothing moved its vertices; None without smoothing.
    smoothed: Smoothed | None = None
    #: The bearing surface of a closed body; None if the whole mesh is used.
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
        decimated = self.mesh if self.part is None else self.part.whole
        return decimation_words(self.triangles, decimated, self.deviation)

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

    The same file gives the same surface in every call.
    """
    paths = data_files(config.files)
    return _loaded(paths, versions_of(paths), config, side, body, repair_tolerance_mm)


def load_body(knee: KneeConfig, section: str, **changes: Any) -> LoadedMesh:
    """Load the mesh of a section of [knee], of which keys may be changed, as `load_surface`."""
    config: MeshConfig = getattr(knee, section).model_copy(update=changes)
    body = section.removesuffix("_solid")
    return load_surface(config, knee.side, body, knee.repair_tolerance_mm)


# `check` tests the meshes of the files, and then the contact model over the same meshes, smoothed
# as in the study or by other distances.
@lru_cache(maxsize=6)
def _loaded(
    paths: tuple[Path, ...],
    versions: tuple[tuple[int, int] | None, ...],
    config: MeshConfig,
    side: str,
    body: str,
    repair_tolerance_mm: float,
) -> LoadedMesh:
    loaded = _unsmoothed(
        paths, versions, config.model_copy(update=UNMOVED), side, body, repair_tolerance_mm
    )
    if any(finding.is_error for finding in loaded.findings):
        return loaded
    if config.smooth_um > 0.0:
        result = smoothed(loaded.mesh, 1e-6 * config.smooth_um)
        loaded = replace(loaded, mesh=result.mesh, smoothed=result)
    if loaded.part is not None and body == "tibia":
        # After smoothing, which would turn the triangles around the holes of those left out.
        loaded = replace(loaded, mesh=without_risers(loaded.mesh))
    if config.cartilage_mm > 0.0:
        loaded = replace(loaded, mesh=moved_outwards(loaded.mesh, 1e-3 * config.cartilage_mm))
    return loaded


@lru_cache(maxsize=3)
def _unsmoothed(
    paths: tuple[Path, ...],
    versions: tuple[tuple[int, int] | None, ...],
    config: MeshConfig,
    side: str,
    body: str,
    repair_tolerance_mm: float,
) -> LoadedMesh:
    file = _of_file(paths, versions, config.unit, body, repair_tolerance_mm, config.decimate_um)
    origin, part = 1e-3 * np.array(config.origin_mm), None
    body_mesh, left_out = own_part(file.mesh, body, origin, repair_tolerance_mm)
    place = placement(config.axes, np.radians(config.rotation_deg), origin)
    mesh = TriangleMesh(place(body_mesh.vertices), body_mesh.faces, body_mesh.name)
    mesh = mesh.mirrored() if side == "left" else mesh
    findings = file.dropped
    if config.surface == "bearing":
        # The rim of a bearing surface that is cut out has small holes: the body is checked.
        findings += bearing_findings(body_mesh)
        if not any(finding.is_error for finding in findings):
            part = bearing_part(mesh, body)
            mesh, findings = part.mesh, (*findings, *part_findings(part, body_mesh))
    else:
        findings += tuple(check_mesh(body_mesh, unit=config.unit))
    return LoadedMesh(
        mesh, file.triangles, findings, file.repairs, left_out, file.deviation, part=part
    )


class FileMesh(NamedTuple):
    """The mesh of a file or of several files."""

    #: Repaired surface [m] along the axes of the file, decimated if huge.
    mesh: TriangleMesh
    #: Number of triangles of the file.
    triangles: int
    #: Warnings about what was not read.
    dropped: tuple[Finding, ...]
    #: What was repaired, one clause each, with places along the axes of the file.
    repairs: tuple[str, ...]
    #: Largest distance between decimated surface and file [m]; None if not decimated.
    deviation: float | None = None


def mesh_of_files(
    files: tuple[str, ...],
    unit: str | None,
    body: str,
    repair_tolerance_mm: float = REPAIR_TOLERANCE_MM,
    decimate_um: float = MeshConfig.model_fields["decimate_um"].default,
) -> FileMesh:
    """Return the repaired mesh of the files of a body, as `load_surface` places it."""
    paths = data_files(files)
    return _of_file(paths, versions_of(paths), unit, body, repair_tolerance_mm, decimate_um)


def own_part(
    mesh: TriangleMesh, body: str, near: FloatArray | None, repair_tolerance_mm: float
) -> OwnPieces:
    """Return the pieces of the body near (3,) [m], see `own_pieces`; without a repair all."""
    return own_pieces(mesh, body, near) if repair_tolerance_mm > 0.0 else OwnPieces(mesh)


def versions_of(paths: tuple[Path, ...]) -> tuple[tuple[int, int] | None, ...]:
    """Return times and sizes of files, so that a file that was replaced is read again."""
    states = [path.stat() if path.is_file() else None for path in paths]
    return tuple((state.st_mtime_ns, state.st_size) if state else None for state in states)


@lru_cache(maxsize=3)
def _of_file(
    paths: tuple[Path, ...],
    versions: tuple[tuple[int, int] | None, ...],
    unit: str | None,
    body: str,
    repair_tolerance_mm: float,
    decimate_um: float,
) -> FileMesh:
    """Return the mesh of files; `versions` are the times and sizes of `versions_of`."""
    size = sum(version[1] for version in versions if version is not None)
    if size > LARGE_FILE:
        say(f"reading {paths[0]} ({size / 1e6:.0f} MB)")
    # Warnings become findings, since the surface of the next call is that of the cache.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MeshWarning)
        whole = load_mesh(paths, unit=unit, check=False)
    dropped = tuple(Finding("warning", "", str(warning.message), "dropped") for warning in caught)
    count = len(whole.faces)
    mesh, repairs = repaired(whole, 1e-3 * repair_tolerance_mm, body)
    if count <= HUGE or decimate_um == 0.0 or _is_wrong(mesh):
        return FileMesh(mesh, count, dropped, repairs)
    name = Path(mesh.name).name
    say(f"decimating {count:,} triangles of {name}{peak_memory()}")
    decimated = decimate(mesh, 1e-6 * decimate_um)
    if decimated.failure:
        say(f"{name}: not decimated within {decimate_um:g} um: {decimated.failure}")
        return FileMesh(mesh, count, dropped, repairs)
    say(f"{name}: {decimation_words(count, decimated.mesh, decimated.deviation)}{peak_memory()}")
    return FileMesh(decimated.mesh, count, dropped, repairs, decimated.deviation)


def _is_wrong(mesh: TriangleMesh) -> bool:
    """Return whether a mesh has errors, which tell about the mesh of the file; a bone is long."""
    codes = {finding.code for finding in check_mesh(mesh) if finding.is_error} - {"hole"}
    return bool(codes - {"scale"}) or ("scale" in codes and not is_long(mesh))


def decimation_words(triangles: int, mesh: TriangleMesh, deviation: float) -> str:
    """Return what a decimation of a number of triangles to a mesh did; the deviation is in m."""
    return (
        f"{triangles:,} triangles decimated to {len(mesh.faces):,}; largest deviation "
        f"{1e6 * deviation:.2g} um"
    )


def vertex_table(
    path: Path,
    head: str,
    names: tuple[str, ...],
    vertices: int,
    mesh: str,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> FloatArray:
    """Return columns (V, K) [any unit] of a CSV file with a row per vertex, within limits."""
    try:
        # With index_col=None, a row with too many cells would turn the first column into the index.
        table = pd.read_csv(path, skipinitialspace=True, index_col=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{head}: cannot be read as CSV ({error})") from error
    if missing := [name for name in names if name not in table.columns]:
        raise InputError(
            f"{head}: expected columns {', '.join(names)}, found {list(table.columns)} (without "
            f"{', '.join(missing)})"
        )
    if len(table) != vertices:
        raise InputError(
            f"{head}: expected {vertices} rows, one per vertex of {mesh}, found {len(table)}"
        )
    values = table[list(names)].apply(pd.to_numeric, errors="coerce").to_numpy(dtype=np.float64)
    low, high = limits
    right = np.isfinite(values) & (values >= low) & (values <= high)
    if len(wrong := np.flatnonzero(~right.all(axis=1))):
        between = f" from {low:g} to {high:g}" if np.isfinite(high) else ""
        raise InputError(
            f"{head}: expected finite {', '.join(names)}{between}, found "
            f"{table[list(names)].iloc[wrong[0]].tolist()} in row {wrong[0] + 1} "
            f"({len(wrong)} such rows)"
        )
    return values
