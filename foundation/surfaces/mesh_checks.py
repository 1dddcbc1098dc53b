"""Checks of an articular surface: errors make the contact wrong, warnings may be meant."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, check_in
from foundation.base.findings import Finding
from foundation.base.wording import counted
from foundation.surfaces.mesh_topology import (
    boundary_loops,
    find_edges,
    find_holes,
    is_repeated,
    label_pieces,
)
from foundation.surfaces.readers.polygons import UNITS
from foundation.surfaces.surface_shape import (
    BODY,
    is_closed,
    is_nearly_closed,
    opposed_pieces,
    outwardness,
    ridge_rise,
)
from foundation.surfaces.triangle_mesh import MeshError, MeshWarning, TriangleMesh, compacted

BODIES = ("femur", "tibia")
#: Diagonal of the bounding box of a bearing surface [m], from a single condyle to a whole distal
#: femur with its flange (measured: 75 to 115 mm).
SIZE_RANGE = (15e-3, 250e-3)
#: A piece below this fraction of the largest piece's area is a fragment.
FRAGMENT = 0.01
#: Norm of the mean normal (1 for a plane, 0 for a closed body) below which a surface counts as
#: closed, and its least component towards the other body. Measured: femur 0.35 to 0.39 with its
#: flange or trochlea, tibia 0.86 to 0.95.
CLOSED, FACING = 0.02, 0.1
#: Least magnitudes of `outwardness` of a femur and of `ridge_rise` of a tibia that tell the outer
#: side. Measured: 0.20 to 0.23, and 0.03 to 0.05.
_OUTWARD, _RIDGE = 0.05, 0.015
#: What the shape of an open surface shows if its normals are inverted.
_HOLLOW = {
    "femur": "the condyles are hollow towards the tibia, expected convex",
    "tibia": "the middle between the plateaus points into the tibia, expected towards the femur",
}
#: Size across of a hole that a contact patch, 10 to 20 mm across, is wrong above [m].
LARGE_HOLE = 6e-3
#: Number of holes whose places are told.
_TOLD = 3

#: Bounding box diagonal of a typical bearing surface [m]: 75 mm (cartilage) to 115 mm (implants).
TYPICAL_SIZE = 90e-3


def check_mesh(
    mesh: TriangleMesh, body: str | None = None, *, unit: str | None = None
) -> list[Finding]:
    """Return all errors and warnings about a mesh [m] of a `body`; raise nothing."""
    # Errors: scale, duplicate, winding, large hole; with a body, orientation or inverted. Warnings:
    # non-manifold, unreferenced, hole, fragments, pieces.
    findings = [*_scale(mesh, unit), *_connectivity(mesh)]
    return findings if body is None else [*findings, *orientation_findings(mesh, body)]


def report_findings(findings: Iterable[Finding]) -> None:
    """Warn (`MeshWarning`) about each warning, then raise all errors in one `MeshError`."""
    errors = []
    for finding in findings:
        if finding.is_error:
            errors.append(f"{finding.about} {finding.text}".lstrip())
        else:
            warnings.warn(finding.text, MeshWarning, stacklevel=3)
    if errors:
        raise MeshError("\n".join(errors))


def check_orientation(mesh: TriangleMesh, body: str) -> None:
    """Raise `MeshError` unless the body faces the other: femur down (-y), tibia up (+y)."""
    # By the mean normal of an open surface, the volume of a closed body. Shape tells inverted
    # normals from wrong axes: condyles are convex, and the middle of a tibia rises between the
    # plateaus.
    report_findings(orientation_findings(mesh, body))


def unreferenced_text(stray: int) -> str:
    """Return the warning about a number of vertices without triangles."""
    text = f"{counted(stray, 'unreferenced vertex', 'unreferenced vertices')} without triangles"
    return (
        f"{text}, which load_mesh drops; the file may lack its last triangles: look at the "
        "surface, and export or copy the file again"
    )


_Findings = Iterator[Finding]


def _error(mesh: TriangleMesh, code: str, text: str) -> Finding:
    return Finding("error", "", f"{mesh.name}: {text}", code)


def _warning(mesh: TriangleMesh, code: str, text: str) -> Finding:
    return Finding("warning", "", f"{mesh.name}: {text}", code)


def _used(mesh: TriangleMesh) -> FloatArray:
    """Return the corners of all triangles, (3 F, 3), without unreferenced vertices."""
    return mesh.vertices[mesh.faces.reshape(-1)]


def _scale(mesh: TriangleMesh, unit: str | None) -> _Findings:
    corners = _used(mesh)
    diagonal = float(np.linalg.norm(corners.max(axis=0) - corners.min(axis=0)))
    low, high = SIZE_RANGE
    if low <= diagonal <= high:
        return
    mistakes = [
        (diagonal * UNITS[written] / UNITS[read], written, read)
        for read in (UNITS if unit is None else (unit,))
        for written in UNITS
        if written != read
    ]
    fitting = [mistake for mistake in mistakes if low <= mistake[0] <= high]
    # Of several possible mistakes, the first of the likeliest.
    best = min(fitting, key=lambda m: round(abs(np.log(m[0] / TYPICAL_SIZE)), 6), default=None)
    if best is None:
        remedy = "check the unit of the file and whether the mesh is a knee"
    else:
        remedy = f"a file in {best[1]} was probably read in {best[2]}: set unit={best[1]!r}"
    text = f"bounding box has a diagonal of {diagonal:.4g} m, expected {low:g} to {high:g} m"
    yield _error(mesh, "scale", f"{text} for a knee; {remedy}")


def _connectivity(mesh: TriangleMesh) -> _Findings:
    """Yield findings about triangles, edges, vertices and pieces."""
    edges = find_edges(mesh.faces, len(mesh.vertices))
    repeated = np.flatnonzero(is_repeated(mesh.faces))
    if len(repeated):
        text = f"{counted(len(repeated), 'duplicate triangle')}, the first is number {repeated[0]}"
        text += "; a duplicate carries load twice: remove the duplicates"
        yield _error(mesh, "duplicate", text)
    if wrong := int(((edges.count == 2) & (edges.balance != 0)).sum()):
        text = f"inconsistent winding at {counted(wrong, 'edge')}: neighbouring normals disagree"
        yield _error(mesh, "winding", f"{text}; unify the normals in a mesh editor")
    shared = edges.ends[edges.count > 2]
    if len(shared):
        x, y, z = 1e3 * mesh.vertices[shared[0]].mean(axis=0)
        text = f"{counted(len(shared), 'non-manifold edge')} (more than two triangles meet)"
        text += f", the first at ({x:.1f}, {y:.1f}, {z:.1f}) mm"
        yield _warning(mesh, "non-manifold", f"{text}; delete inner faces in a mesh editor")
    if stray := len(mesh.vertices) - len(compacted(mesh.faces, len(mesh.vertices))[0]):
        yield _warning(mesh, "unreferenced", unreferenced_text(stray))
    yield from _pieces_and_holes(mesh)


def _pieces_and_holes(mesh: TriangleMesh) -> _Findings:
    _, areas = label_pieces(mesh)
    fragments = int((areas < FRAGMENT * areas[0]).sum())
    if fragments:
        text = f"{counted(fragments, 'loose fragment')}, each below {FRAGMENT:.0%} of the largest"
        yield _warning(
            mesh, "fragments", f"{text} piece, carry load; delete the fragments in a mesh editor"
        )
    if len(areas) - fragments > 2:
        text = f"{len(areas) - fragments} separate pieces, expected one, or one per condyle"
        text += "; check that the file contains one articular surface"
        yield _warning(mesh, "pieces", text)
    yield from hole_findings(mesh)


def vertices_of(part: TriangleMesh, mesh: TriangleMesh) -> NDArray[np.bool_]:
    """Return which vertices (V,) of a mesh are those of a part of it."""
    part_points = {point.tobytes() for point in part.vertices}
    return np.array([point.tobytes() in part_points for point in mesh.vertices], dtype=np.bool_)


def hole_findings(mesh: TriangleMesh, bears: NDArray[np.bool_] | None = None) -> _Findings:
    """Yield the finding on the holes of a mesh [m], an error if one is large.

    With `bears` (V,), only holes at these vertices count, those of a bearing surface.
    """
    labels, areas = label_pieces(mesh)
    edges = find_edges(mesh.faces, len(mesh.vertices))
    loops = boundary_loops(mesh, edges, labels)
    is_hole = find_holes(loops, areas)
    if bears is not None:
        inside = bears[edges.ends[edges.count == 1]].ravel()
        count = np.bincount(np.repeat(loops.label, 2), weights=inside, minlength=len(is_hole))
        is_hole = (is_hole | is_nearly_closed(mesh)) & (count > 0)
    holes = np.flatnonzero(is_hole)
    if len(holes) == 0:
        return
    largest = holes[np.argsort(-loops.across[holes], kind="stable")]
    places = [
        f"{1e3 * loops.across[hole]:.2g} mm across at about "
        f"({', '.join(f'{1e3 * x:.1f}' for x in loops.centre[hole])}) mm"
        for hole in largest[:_TOLD]
    ]
    text = f"{counted(len(holes), 'hole')} in the surface, {', '.join(places)}"
    text += " and others" if len(holes) > _TOLD else ""
    text += "; contact there is missed: fill the holes in a mesh editor, unless they are meant"
    make = _error if loops.across[largest[0]] > LARGE_HOLE else _warning
    yield make(mesh, "hole", text)


def orientation_findings(mesh: TriangleMesh, body: str) -> _Findings:
    """Yield the error of `check_orientation`, if there is one, as a finding."""
    check_in("body", body, BODIES)
    wanted = -1.0 if body == "femur" else 1.0
    if (pair := opposed_pieces(mesh)) is not None:
        heights = [wanted * float(mesh.area_vectors[piece, 1].sum()) for piece in pair]
        wrong = pair[int(np.argmin(heights))]
        x, y, z = 1e3 * np.average(mesh.centroids[wrong], axis=0, weights=mesh.areas[wrong])
        text = (
            f"the normals of this {body} point inwards on the piece about ({x:.0f}, {y:.0f}, "
            f"{z:.0f}) mm alone; there the winding is inverted: flip the normals of that piece, "
            "not of the other, in a mesh editor"
        )
        yield _error(mesh, "inverted", text)
        return
    mean = mesh.area_vectors.sum(axis=0) / mesh.areas.sum()
    if np.linalg.norm(mean) < CLOSED:
        middle = _used(mesh).mean(axis=0)
        if float(np.sum((mesh.centroids - middle) * mesh.area_vectors)) <= 0.0:
            text = "the normals of this closed body point inwards, expected outwards"
            yield _error(mesh, "inverted", f"{text}; the winding is inverted: flip the normals")
        return
    if outer_side(mesh, body) < 0:
        text = f"the normals of this {body} point inwards: {_HOLLOW[body]}"
        remedy = "the winding is inverted: flip the normals in a mesh editor, and leave the axes"
        yield _error(mesh, "inverted", f"{text}; {remedy}")
        return
    if wanted * mean[1] >= FACING:
        return
    axis = int(np.argmax(np.abs(mean)))
    faces = ("-" if mean[axis] < 0.0 else "+") + "xyz"[axis]
    expected = "-y (down)" if body == "femur" else "+y (up)"
    if axis == 1:
        remedy = "the y axis points the wrong way: change the signs of two axes"
    else:
        remedy = "set axes to the file's axes that point anterior, superior and right"
    yield _error(mesh, "orientation", f"this {body} faces {faces}, expected {expected}; {remedy}")


def outer_side(mesh: TriangleMesh, body: str) -> int:
    """Return 1 if the shape of a body tells that normals point outwards, -1 inwards, else 0."""
    femur = body == "femur"
    mean = np.linalg.norm(mesh.area_vectors.sum(axis=0)) / mesh.areas.sum()
    is_bone = not femur and mean < BODY and opposed_pieces(mesh) is None
    if is_closed(mesh) or is_bone:
        middle = _used(mesh).mean(axis=0)
        return 1 if float(np.sum((mesh.centroids - middle) * mesh.area_vectors)) > 0.0 else -1
    measure, least = (outwardness(mesh), _OUTWARD) if femur else (ridge_rise(mesh), _RIDGE)
    return 0 if abs(measure) < least else 1 if measure > 0.0 else -1
