"""Checks of a triangle mesh before it is used as an articular surface.

Each check looks for one fault and says it in one sentence: which mesh, what was found, what to do.
An error makes the contact wrong (`MeshError`); a warning may be meant (`MeshWarning`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from foundation.checks import FloatArray, check_in
from foundation.surfaces.mesh_topology import Edges, boundary_loops, find_edges, label_pieces
from foundation.surfaces.triangle_mesh import MeshError, MeshWarning, TriangleMesh
from foundation.wording import counted

BODIES = ("femur", "tibia")
#: Diagonal of the bounding box of a knee's bearing surface [m], from one condyle to a whole distal
#: femur with its flange (the measured ones: 75 to 115 mm).
SIZE_RANGE = (15e-3, 250e-3)
#: Of a piece's area, below which it counts as a fragment.
FRAGMENT = 0.01
#: Mean normal of a surface (1 for a plane, 0 for a closed body): below the first it is taken as
#: closed, and a bearing surface reaches the second along its axis. Measured: femur 0.35 to 0.39
#: with its flange or trochlea, tibia 0.86 to 0.95.
CLOSED, FACING = 0.02, 0.1
#: A loop is a hole below these parts of the longest loop, and of a disc's rim of the same area.
HOLE_OF_RIM, HOLE_OF_DISC = 0.5, 0.25

#: Factors that undo a mistaken unit: (factor, unit of the file, unit it was read in).
_UNIT_MISTAKES = (
    (1e-3, "mm", "m"),
    (1e-2, "cm", "m"),
    (1e-6, "um", "m"),
    (1e3, "m", "mm"),
    (1e2, "m", "cm"),
    (1e6, "m", "um"),
)


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Parameters
    ----------
    code : str
        Short name of the fault, for example "orientation".
    is_error : bool
        Whether the mesh cannot be used.
    message : str
        Mesh, finding and remedy.
    """

    code: str
    is_error: bool
    message: str


def check_mesh(mesh: TriangleMesh, body: str | None = None) -> list[Finding]:
    """Return everything that is wrong or doubtful about a mesh; nothing is raised for a finding.

    Parameters
    ----------
    mesh : TriangleMesh
        Surface in the frame of its body [m].
    body : {"femur", "tibia"}, optional
        Which one it is; without it the orientation is not looked at.

    Returns
    -------
    list of Finding
        Codes: scale, duplicate, winding, orientation (errors); non-manifold, unreferenced, hole,
        fragments, pieces (warnings).

    Raises
    ------
    InputError
        If `body` is something else.
    """
    edges = find_edges(mesh.faces, len(mesh.vertices))
    found = [
        _scale(mesh),
        _duplicates(mesh),
        _winding(mesh, edges),
        _non_manifold(mesh, edges),
        _unreferenced(mesh),
        *_pieces_and_holes(mesh, edges),
    ]
    if body is not None:
        found.append(_orientation(mesh, body))
    return [finding for finding in found if finding is not None]


def report_findings(findings: Iterable[Finding]) -> None:
    """Warn about each doubtful finding, then raise for the errors, all in one message.

    Raises
    ------
    MeshError
        If a finding is an error.

    Warns
    -----
    MeshWarning
        For each other finding.
    """
    errors = []
    for finding in findings:
        if finding.is_error:
            errors.append(finding.message)
        else:
            warnings.warn(finding.message, MeshWarning, stacklevel=3)
    if errors:
        raise MeshError("\n".join(errors))


def check_orientation(mesh: TriangleMesh, body: str) -> None:
    """Check that the surface faces the other body: the femur down (-y), the tibia up (+y).

    An open surface is judged by its area-weighted mean normal; a closed body, whose mean normal
    vanishes, by the sign of its volume.

    Parameters
    ----------
    mesh : TriangleMesh
        Surface in the frame of its body [m].
    body : {"femur", "tibia"}
        Which one it is.

    Raises
    ------
    MeshError
        If it faces the wrong way or sideways.
    InputError
        If `body` is something else.
    """
    finding = _orientation(mesh, body)
    if finding is not None:
        raise MeshError(finding.message)


def _used(mesh: TriangleMesh) -> FloatArray:
    """Return the corners of all triangles, (3 F, 3): a stray vertex is not part of the surface."""
    return mesh.vertices[mesh.faces.reshape(-1)]


def _scale(mesh: TriangleMesh) -> Finding | None:
    corners = _used(mesh)
    diagonal = float(np.linalg.norm(corners.max(axis=0) - corners.min(axis=0)))
    low, high = SIZE_RANGE
    if low <= diagonal <= high:
        return None
    # A knee measures about 90 mm across: of two mistakes that fit take the likelier.
    fitting = [m for m in _UNIT_MISTAKES if low <= m[0] * diagonal <= high]
    best = min(fitting, key=lambda m: abs(np.log(m[0] * diagonal / 90e-3)), default=None)
    if best is None:
        guess = "check the unit of the file, and whether it is a knee at all"
    else:
        guess = f"as if a file in {best[1]} was read in {best[2]}: give unit={best[1]!r}"
    text = (
        f"{mesh.name}: its box has a diagonal of {diagonal:.4g} m, expected {low:g} to {high:g} m "
        f"for a knee; {guess}"
    )
    return Finding("scale", True, text)


def _duplicates(mesh: TriangleMesh) -> Finding | None:
    sorted_faces = np.sort(mesh.faces, axis=1)
    _, first, inverse = np.unique(sorted_faces, axis=0, return_index=True, return_inverse=True)
    repeated = np.flatnonzero(first[inverse.reshape(-1)] != np.arange(len(mesh.faces)))
    if len(repeated) == 0:
        return None
    text = (
        f"{mesh.name}: {counted(len(repeated), 'duplicate triangle')}, the first is number "
        f"{repeated[0]}; each would carry load twice: remove the duplicates"
    )
    return Finding("duplicate", True, text)


def _winding(mesh: TriangleMesh, edges: Edges) -> Finding | None:
    wrong = int(((edges.count == 2) & (edges.balance != 0)).sum())
    if wrong == 0:
        return None
    text = (
        f"{mesh.name}: inconsistent winding at {counted(wrong, 'edge')}: neighbours disagree on "
        "which side is out; unify the normals in a mesh editor"
    )
    return Finding("winding", True, text)


def _non_manifold(mesh: TriangleMesh, edges: Edges) -> Finding | None:
    shared = int((edges.count > 2).sum())
    if shared == 0:
        return None
    text = (
        f"{mesh.name}: {counted(shared, 'non-manifold edge')} (more than two triangles meet); an "
        "articular surface has one sheet: delete inner faces in a mesh editor"
    )
    return Finding("non-manifold", False, text)


def _unreferenced(mesh: TriangleMesh) -> Finding | None:
    count = len(mesh.vertices) - len(np.unique(mesh.faces))
    if count == 0:
        return None
    stray = counted(count, "unreferenced vertex belongs", "unreferenced vertices belong")
    text = (
        f"{mesh.name}: {stray} to no triangle; load_mesh drops what belongs to none, "
        "the surface is the same: clean the file if they were meant to be surface"
    )
    return Finding("unreferenced", False, text)


def _pieces_and_holes(mesh: TriangleMesh, edges: Edges) -> list[Finding]:
    labels, areas = label_pieces(mesh)
    fragments = int((areas < FRAGMENT * areas[0]).sum())
    large = len(areas) - fragments
    found = []
    if fragments:
        text = (
            f"{mesh.name}: {counted(fragments, 'loose fragment')}, each below {FRAGMENT:.0%} of "
            "the largest piece; a fragment carries load like the rest: delete it in a mesh editor"
        )
        found.append(Finding("fragments", False, text))
    if large > 2:
        text = (
            f"{mesh.name}: {large} separate pieces, expected one, or one per condyle; "
            "check that the file holds one articular surface"
        )
        found.append(Finding("pieces", False, text))
    loops = boundary_loops(mesh, edges, labels)
    rim = np.zeros(len(areas))
    np.maximum.at(rim, loops.piece, loops.length)
    disc_rim = np.sqrt(4.0 * np.pi * areas)
    is_hole = loops.length < np.maximum(
        HOLE_OF_RIM * rim[loops.piece], HOLE_OF_DISC * disc_rim[loops.piece]
    )
    if is_hole.any():
        where = 1e3 * loops.centre[np.flatnonzero(is_hole)[0]]
        text = (
            f"{mesh.name}: {counted(int(is_hole.sum()), 'hole')} in the surface, the first about "
            f"({where[0]:.1f}, {where[1]:.1f}, {where[2]:.1f}) mm; contact there is missed: "
            "fill every hole in a mesh editor"
        )
        found.append(Finding("hole", False, text))
    return found


def _orientation(mesh: TriangleMesh, body: str) -> Finding | None:
    check_in("body", body, BODIES)
    wanted = -1.0 if body == "femur" else 1.0
    mean = mesh.area_vectors.sum(axis=0) / mesh.areas.sum()
    if np.linalg.norm(mean) < CLOSED:
        return _closed_orientation(mesh)
    if wanted * mean[1] >= FACING:
        return None
    axis = int(np.argmax(np.abs(mean)))
    faces = ("-" if mean[axis] < 0.0 else "+") + "xyz"[axis]
    wants = "-y (down)" if body == "femur" else "+y (up)"
    if axis == 1:
        remedy = "the winding is inverted (flip the normals) or the y axis points the wrong way"
    else:
        remedy = "give the file's axes, for example axes=('-x', 'y', '-z')"
    text = f"{mesh.name}: this {body} faces {faces}, expected {wants}; {remedy}"
    return Finding("orientation", True, text)


def _closed_orientation(mesh: TriangleMesh) -> Finding | None:
    middle = _used(mesh).mean(axis=0)
    if float(np.sum((mesh.centroids - middle) * mesh.area_vectors)) > 0.0:
        return None
    text = (
        f"{mesh.name}: the normals of this closed body point inwards, expected outwards; "
        "the winding is inverted: flip the normals"
    )
    return Finding("orientation", True, text)
