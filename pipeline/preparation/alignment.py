"""Frames of femur and tibia and side of a knee, proposed from the shape of both meshes.

The frame of each body comes from its own shape. What a shape does not tell, such as the anterior
side of a symmetric plateau, comes from the other body: from the position of both bodies in one
scan, from medial and lateral sides that must match, or from parallel axes of the files. If these
contradict each other, or tell nothing, the user is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

from foundation.anatomy.bearing_search import BONE, OPEN, SHELL, SOLID
from foundation.anatomy.evidence import AnatomicalFrame, Evidence
from foundation.anatomy.femoral_frame import (
    femoral_frame,
    flexed_by_mean,
    flexed_by_shaft,
    trochlear_lead,
)
from foundation.anatomy.joint_end import find_shaft, is_long, shaft_lean
from foundation.anatomy.tibial_frame import shape_of, tibial_frame
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.findings import Finding
from foundation.surfaces.mesh_checks import (
    check_mesh,
    hole_findings,
    report_findings,
    vertices_of,
)
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh
from pipeline.originals.knee_surface_checks import check_same, check_shapes, check_surfaces
from pipeline.originals.mesh_loading import BearingPart, bearing_part
from pipeline.preparation.bearing_pair import bearing_of

#: Largest angles between the superior and between the mediolateral axes of parallel files [rad].
_PARALLEL = np.radians([30.0, 20.0])
#: The same for files that may be parallel, one of which may be mirrored.
_NEARLY_PARALLEL = np.radians([45.0, 35.0])
#: The same for both bodies in one scan, in which the knee may be flexed.
_IN_A_SCAN = np.radians([70.0, 35.0])
#: Position of the flexion axis in the frame of the plateaus where both bodies lie as in a knee:
#: largest anterior and lateral distance, least and largest height [m] (measured on a hundred knees
#: of a shape model: 9, 6, 20 and 30 mm).
_AHEAD, _BESIDE, _ABOVE = 20e-3, 15e-3, (10e-3, 45e-3)
#: Least difference of medial and lateral parts that tells the side, and that is certain
#: (`trochlear_lead`, `shaft_lean` and `Shape.medial_left`).
_LIKELY, _CERTAIN = 0.04, 0.2
#: Falls of a plateau towards posterior [deg].
_SLOPES = (-20.0, 30.0)
#: Largest angle of a stated direction to the anterior axis [deg]: signed axes are at most 55 off.
_STATED = 60.0
#: Largest median distance between the bearing surface and the corners of its bone [m].
_ON_BONE = 10e-3
#: Decimals of lengths [mm] and angles [deg] in a configuration.
_DIGITS = 4
_PLATEAU = "the longer, less convex plateau"
_TROCHLEA = "the larger part of the trochlea is on the {side}"
_SHAFT = "the shaft of the femur leans to the {side}"


class _FemoralSide(NamedTuple):
    """How clearly a femur is of a right knee [1], negative for a left knee, and words for why."""

    score: float
    words: str


class Alignment(NamedTuple):
    """Proposed frames of both bodies, what each mesh is, and the side."""

    #: Frames of "femur" and "tibia" in the coordinates of their meshes.
    frames: dict[str, AnatomicalFrame]
    #: What the meshes of both bodies are, one of `foundation.anatomy.bearing_search.KINDS`.
    kinds: dict[str, str]
    #: "right", "left", or None if neither shape nor file names tell.
    side: str | None
    #: Evidence of the side.
    evidence: Evidence

    @property
    def surfaces(self) -> dict[str, str]:
        """Key `surface` of both bodies: "whole" for an open surface, else "bearing"."""
        return {body: "whole" if kind == OPEN else "bearing" for body, kind in self.kinds.items()}


def propose_alignment(
    meshes: Mapping[str, TriangleMesh],
    stated_anterior: Mapping[str, FloatArray] | None = None,
    named_side: str | None = None,
    *,
    side_stated: bool = False,
    slope: float = 0.0,
    bone: TriangleMesh | None = None,
) -> Alignment:
    """Return the proposed frames and the side of a knee.

    `meshes` are "femur" and "tibia" [m], in the axes of their files; `stated_anterior` has
    directions (3,) that point roughly anterior, by body. `named_side` is the side that the file
    names or the user state; one that the user states stands against the shape. `slope` is the angle
    [rad] by which the tibial plateau falls towards posterior; the shaft of `bone`, the bone of the
    femur [m] in the frame of its mesh, tells the zero of flexion. Raises `InputError` if a shape is
    not that of a knee, or leaves a question that an option answers.
    """
    if not _SLOPES[0] <= np.degrees(slope) <= _SLOPES[1]:
        raise InputError(
            f"--slope-deg: expected {_SLOPES[0]:g} to {_SLOPES[1]:g}, found {np.degrees(slope):g}"
        )
    hints = dict(stated_anterior or {})
    bearings = {body: bearing_of(meshes, body) for body in meshes}
    femur_mesh, tibia_mesh = bearings["femur"].mesh, bearings["tibia"].mesh
    if bearings["femur"].kind == SOLID:  # a component shows its shape as a whole
        femur_mesh = meshes["femur"]
    femur = bearings["femur"].frame or femoral_frame(femur_mesh, hints.get("femur"))
    tibia = tibial_frame(tibia_mesh, hints.get("tibia"), slope)
    if femur.evidence["anterior"].certainty == "unknown":
        if tibia.evidence["anterior"].certainty != "sure" or not _parallel(femur, tibia):
            raise _anterior_question(femur_mesh, "femur", femur.evidence["anterior"], femur)
        ahead = femoral_frame(femur_mesh, tibia.rotation[0])
        femur = _stated(ahead, "likely", "parallel to the tibia")
    lead = _femoral_side(femur, femur_mesh, meshes["femur"], bearings["femur"].kind)
    if tibia.evidence["anterior"].certainty == "unknown":
        forward, known = _forward(femur, lead, tibia, tibia_mesh, named_side)
        anterior = tibia.rotation[0] if forward else -tibia.rotation[0]
        tibia = _stated(tibial_frame(tibia_mesh, anterior, slope), *known)
    if bone is not None:
        femur = flexed_by_shaft(femur, _shaft(bone, femur, bearings["femur"].mesh))
    elif all(bearing.kind == SHELL for bearing in bearings.values()):
        femur = flexed_by_mean(femur)
    for body, direction in hints.items():
        _check_stated(meshes[body], body, direction, {"femur": femur, "tibia": tibia}[body])
    if side_stated:
        side, reason = named_side, "as stated"
        shape, found = _side(lead, tibia, tibia_mesh, None)
        if shape not in (None, side):
            reason += f"; but the shape says {shape} ({found.reason}): check the side and the files"
        evidence = Evidence("sure", reason)
    else:
        side, evidence = _side(lead, tibia, tibia_mesh, named_side)
    kinds = {body: bearing.kind for body, bearing in bearings.items()}
    return Alignment({"femur": femur, "tibia": tibia}, kinds, side, evidence)


def _femoral_side(
    frame: AnatomicalFrame, bearing: TriangleMesh, whole: TriangleMesh, kind: str
) -> _FemoralSide:
    """Return the side of a femur [m] by its trochlea, or by the shaft of a bone.

    Without cartilage, the medial part of the trochlea is often the larger one.
    """
    if kind == BONE:
        return _FemoralSide(shaft_lean(whole, frame.rotation), _SHAFT)
    return _FemoralSide(trochlear_lead(bearing, frame), _TROCHLEA)


def _shaft(bone: TriangleMesh, frame: AnatomicalFrame, bearing: TriangleMesh) -> FloatArray:
    """Return the direction (3,) [1] of the shaft of a bone [m], away from the joint."""
    away = float(np.median(np.asarray(KDTree(bone.vertices).query(bearing.centroids)[0])))
    if away > _ON_BONE:
        raise MeshError(
            f"{bone.name}: the bone lies {1e3 * away:.0f} mm from {bearing.name}, expected at most "
            f"{1e3 * _ON_BONE:g} mm: give the bone (--femur-bone) in the frame and the unit of the "
            "femur's mesh, as segmented from the same scan"
        )
    shaft = find_shaft(bone, -frame.rotation[1])
    if shaft is None:
        raise MeshError(
            f"{bone.name}: no shaft is seen above the condyles; expected a bone (--femur-bone) of "
            "at least three quarters of its width in height, with a shaft within 25 deg of the "
            "superior axis"
        )
    return -shaft


def check_placed(meshes: Mapping[str, TriangleMesh]) -> list[str]:
    """Check the surfaces (V, 3) [m] of both bodies in their proposed frames; return the doubts.

    Raises `InputError` if both are not the surfaces of one knee, such as a single condyle.
    """
    found = check_surfaces(meshes)
    report_findings([finding for finding in found if finding.is_error])
    return [finding.text for finding in found]


def check_before_alignment(meshes: Mapping[str, TriangleMesh]) -> None:
    """Check the meshes [m] of "femur" and "tibia", vertices (V, 3) each, in any position.

    Raises `InputError` if the unit, the triangles or the shape of a mesh are not those of a knee.
    """
    for mesh in meshes.values():
        # The shaft of a bone may be longer than a knee, and open; loose pieces are left out.
        known = ("scale", "hole") if is_long(mesh) else ("hole",)
        report_findings(
            [found for found in check_mesh(mesh) if found.is_error and found.code not in known]
        )
    report_findings(check_same(meshes))
    shapes, holes = dict(meshes), list[Finding]()
    for body in meshes:
        # A body without a bearing surface is checked as a whole, which tells what it is instead.
        with suppress(MeshError):
            found = bearing_of(meshes, body)
            shapes[body] = meshes[body] if found.kind == SOLID else found.mesh
            mesh = meshes[body]
            bears = None if found.kind == OPEN else vertices_of(found.mesh, mesh)
            holes += hole_findings(mesh, bears)
    report_findings([finding for finding in holes if finding.is_error])
    report_findings([finding for finding in check_shapes(shapes) if finding.is_error])


def placed_parts(
    meshes: Mapping[str, TriangleMesh], alignment: Alignment, side: str
) -> dict[str, BearingPart]:
    """Return the bearing surfaces of both bodies in the proposed frames, as a right knee.

    Raises `MeshError` if a closed solid has no bearing surface.
    """
    placed = {}
    for body, frame in alignment.frames.items():
        own = meshes[body]
        mesh = TriangleMesh(frame.of(own.vertices), own.faces, own.name)
        mesh = mesh.mirrored() if side == "left" else mesh
        bears = alignment.surfaces[body] == "bearing"
        placed[body] = bearing_part(mesh, body) if bears else BearingPart(mesh, mesh)
    return placed


def frame_keys(frame: AnatomicalFrame) -> dict[str, Any]:
    """Return the keys axes, rotation_deg and origin_mm of [knee.femur] or [knee.tibia]."""
    axes = _nearest_axes(frame.rotation)
    rest = Rotation.from_matrix(frame.rotation @ axes.T).as_euler("xyz", degrees=True)
    # Adding 0 turns -0.0 into 0.0.
    return {
        "axes": [_name(row) for row in axes],
        "rotation_deg": (np.round(rest, _DIGITS) + 0.0).tolist(),
        "origin_mm": (np.round(1e3 * frame.origin, _DIGITS) + 0.0).tolist(),
    }


def frame_words(frame: AnatomicalFrame) -> list[str]:
    """Return the frame and its evidence in words, one line each."""
    keys = frame_keys(frame)
    turn, origin = (", ".join(f"{v:.1f}" for v in keys[k]) for k in ("rotation_deg", "origin_mm"))
    return [
        f"frame: axes {','.join(keys['axes'])} turned by ({turn}) deg, origin at ({origin}) mm",
        *(f"{what} ({found.certainty}): {found.reason}" for what, found in frame.evidence.items()),
    ]


def _nearest_axes(rotation: FloatArray) -> FloatArray:
    """Return the signed permutation matrix (3, 3) nearest to a rotation, itself a rotation."""
    candidates = [
        np.diag(signs) @ np.eye(3)[list(order)]
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    ]
    proper = [matrix for matrix in candidates if np.linalg.det(matrix) > 0.0]
    return max(proper, key=lambda matrix: float((matrix * rotation).sum()))


def _name(row: FloatArray) -> str:
    return ("-" if row.sum() < 0.0 else "") + "xyz"[int(np.argmax(np.abs(row)))]


def _parallel(
    femur: AnatomicalFrame, tibia: AnatomicalFrame, largest: FloatArray = _PARALLEL
) -> bool:
    """Return whether both files have nearly parallel axes, up to a half turn about superior.

    `largest` (2,) are the angles [rad] between the superior and between the mediolateral axes.
    """
    cosines = (femur.rotation * tibia.rotation).sum(axis=1)
    angles = np.arccos(np.clip([cosines[1], abs(cosines[2])], -1.0, 1.0))
    return bool((angles < largest).all())


def _in_a_scan(femur: AnatomicalFrame, tibia: AnatomicalFrame) -> bool:
    """Return whether the bodies lie in their files as in a knee, up to a half turn of the tibia."""
    x, y, z = tibia.of(femur.origin[None])[0]
    near = abs(x) < _AHEAD and _ABOVE[0] < y < _ABOVE[1] and abs(z) < _BESIDE
    return near and _parallel(femur, tibia, _IN_A_SCAN)


def _stated(frame: AnatomicalFrame, certainty: str, reason: str) -> AnatomicalFrame:
    evidence = frame.evidence | {"anterior": Evidence(certainty, reason)}
    return AnatomicalFrame(frame.origin, frame.rotation, evidence)


def _forward(
    femur: AnatomicalFrame,
    lead: _FemoralSide,
    tibia: AnatomicalFrame,
    tibia_mesh: TriangleMesh,
    named_side: str | None,
) -> tuple[bool, Evidence]:
    """Return whether the frame of a tibia without notch faces forward, and the evidence.

    In one scan, the position of the femur tells, which shapes do not outweigh: the cut of a shell
    may make the medial part of a trochlea the larger one. Elsewhere, the medial plateau is medial
    of the femur, whose side the shape or a name tells; a shape that is certain must not contradict
    the axes of the files, which otherwise decide.
    """
    plateaus = shape_of(tibia_mesh, tibia.rotation).medial_left
    named = {"right": 1.0, "left": -1.0, None: 0.0}[named_side]
    right = named if abs(lead.score) < _LIKELY else lead.score + named
    clear = min(abs(plateaus), abs(right))
    certain = clear > _CERTAIN and named * lead.score >= 0.0
    by_shape = plateaus * right > 0.0
    ahead = float(femur.rotation[0] @ tibia.rotation[0]) > 0.0
    parallel = _parallel(femur, tibia)
    against = by_shape != ahead and (certain if parallel else clear > _LIKELY)
    if _in_a_scan(femur, tibia):
        forward, certain, reasons = ahead, True, ["both files are of one scan"]
    elif against and _parallel(femur, tibia, _NEARLY_PARALLEL):
        contradiction = f"{_PLATEAU} would be lateral by the axes of the files"
        raise _anterior_question(tibia_mesh, "tibia", Evidence("unknown", contradiction), tibia)
    elif parallel:
        forward, reasons = ahead, ["parallel to the femur"]
    elif clear > _LIKELY:
        forward, reasons = by_shape, []
    else:
        raise _anterior_question(tibia_mesh, "tibia", tibia.evidence["anterior"], tibia)
    if by_shape == forward and clear > _LIKELY:
        reasons.append(f"{_PLATEAU} is medial")
    certainty = "sure" if certain else "likely"
    return forward, Evidence(certainty, " and ".join(reasons))


def _anterior_question(
    mesh: TriangleMesh, body: str, evidence: Evidence, frame: AnatomicalFrame
) -> InputError:
    """Return the question which end of a body is anterior; its frame may face backward."""
    option, ahead = f"--{body}-anterior", frame.rotation[0]
    name = "xyz"[int(np.argmax(np.abs(ahead)))]
    return InputError(
        f"{mesh.name}: does {name} or -{name} of the file point anterior? The shape of the {body} "
        f"does not tell ({evidence.reason}); add {option}={name} or {option}=-{name}, or state the "
        "axes of the files (init --axes)"
    )


def _check_stated(
    mesh: TriangleMesh, body: str, direction: FloatArray, frame: AnatomicalFrame
) -> None:
    """Check that a stated direction is nearly anterior in the frame that was found."""
    cosine = float(frame.rotation[0] @ direction) / float(np.linalg.norm(direction))
    angle = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
    if angle > _STATED:
        raise InputError(
            f"{mesh.name}: --{body}-anterior is {angle:.0f} deg off the anterior axis of the shape "
            f"(expected at most {_STATED:g} deg); state the axis of the file that points nearest "
            "to anterior"
        )


def _side(
    lead: _FemoralSide,
    tibia: AnatomicalFrame,
    tibia_mesh: TriangleMesh,
    named_side: str | None,
) -> tuple[str | None, Evidence]:
    """Return the side by shape and file names, and the evidence."""
    plateaus = shape_of(tibia_mesh, tibia.rotation).medial_left
    scores = [score for score in (plateaus, lead.score) if abs(score) > _LIKELY]
    agreeing = len(scores) > 0 and min(scores) * max(scores) > 0.0
    # Small differences of cartilage may be wrong alike (measured: 0.04 and 0.12 on a left knee);
    # shafts lean by 0.05 to 0.16.
    clear = abs(sum(scores)) > _CERTAIN or (agreeing and lead.words == _SHAFT)
    shape = None if not clear else "right" if sum(scores) > 0.0 else "left"
    if shape is None:
        if named_side is None:
            return None, Evidence("unknown", "neither shape nor file names tell")
        return named_side, Evidence("sure", "from the file names")
    certainty = "sure" if agreeing and abs(sum(scores)) > _CERTAIN else "likely"
    sign, medial = (1.0, "left") if shape == "right" else (-1.0, "right")
    found = [
        *([f"{_PLATEAU} is on the {medial}"] if sign * plateaus > _LIKELY else []),
        *([lead.words.format(side=shape)] if sign * lead.score > _LIKELY else []),
    ]
    reason = " and ".join(found)
    if named_side not in (None, shape):
        if certainty == "sure":
            raise InputError(
                f"is this a right or a left knee? The file names say {named_side}, the shape says "
                f"{shape} ({reason}); add --side right or --side left"
            )
        return named_side, Evidence(
            "likely", f"from the file names; the shape says {shape} ({reason})"
        )
    return shape, Evidence("sure" if named_side else certainty, reason)
