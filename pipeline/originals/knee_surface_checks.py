"""Checks of femur and tibia by their shapes, before any contact is evaluated; side of a knee.

Each cause has one sentence with finding, expectation and remedy. The checks go from causes that
hide others to those that do not; after an error the later checks are left out, so that one cause
has one message. All take well under a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from foundation.anatomy.evidence import AnatomicalFrame
from foundation.anatomy.femoral_frame import femoral_frame, trochlear_lead
from foundation.anatomy.tibial_frame import NOTCH, shape_of, tibial_frame
from foundation.base.checks import frozen
from foundation.base.findings import Finding, Level
from foundation.base.wording import counted
from foundation.surfaces import surface_shape as shape
from foundation.surfaces.mesh import SIDES
from foundation.surfaces.mesh_checks import orientation_findings
from foundation.surfaces.mesh_topology import find_edges, label_pieces
from foundation.surfaces.repair import weld_seams
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh

#: Anterior axis of the body, (3,) [1].
FORWARD = frozen(np.array([1.0, 0.0, 0.0]))


def faces_backward(femur: TriangleMesh) -> bool:
    """Return whether the trochlea of a femur (V, 3) [m] is posterior; False without a trochlea."""
    frame = _frame_by_trochlea(femur)
    return frame is not None and float(frame.rotation[0, 0]) < 0.0


# Several checks need the frame of the same femur, whose fit takes longest.
@lru_cache(maxsize=1)
def forward_frame(femur: TriangleMesh) -> AnatomicalFrame:
    """Return the anatomical frame of a femur (V, 3) [m] whose first axis points anterior."""
    frame = _frame_by_trochlea(femur)
    if frame is not None and float(frame.rotation[0, 0]) > 0.0:
        return frame
    return femoral_frame(femur, FORWARD)


@lru_cache(maxsize=1)
def _frame_by_trochlea(femur: TriangleMesh) -> AnatomicalFrame | None:
    """Return the frame of a femur by its shape alone; None without a trochlea."""
    try:
        frame = femoral_frame(femur)
    except MeshError:
        return None
    return frame if frame.evidence["anterior"].certainty == "sure" else None


#: Least difference of medial and lateral parts that tells the side (measured: 0.3 to 1 and 0.4 to
#: 1.1 on plateaus and trochleas of 24 segmented knees, plateaus 0.04 on an insert), and that of
#: each of two bodies that contradict each other: ways to cut cartilage differ by 0.3.
TELLING, _CONTRARY = 0.03, 0.3


def side_scores(meshes: Mapping[str, TriangleMesh]) -> dict[str, float]:
    """Return by body how clearly it is of a right (> 0) or left (< 0) knee [1]; none if untold."""
    scores = {}
    for body, mesh in meshes.items():
        try:
            if body == "femur":
                score = trochlear_lead(mesh, forward_frame(mesh))
            else:
                score = shape_of(mesh, np.eye(3)).medial_left
        except MeshError:  # the shape has no such part, which does not make the mesh wrong
            continue
        if abs(score) > TELLING:
            scores[body] = score
    return scores


def check_sides(
    meshes: Mapping[str, TriangleMesh], side: str, *, bony_femur: bool = False
) -> list[Finding]:
    """Return warnings about bodies of different sides, or of another side than is stated.

    The trochlea of a bony femur, without cartilage, does not tell the side.
    """
    scores = side_scores(meshes)
    if bony_femur:
        scores.pop("femur", None)
    other = SIDES[1 - SIDES.index(side)]
    values = list(scores.values())
    if len(values) == 2 and min(values) < -_CONTRARY and max(values) > _CONTRARY:
        of = {body: side if score > 0.0 else other for body, score in scores.items()}
        text = (
            f"the shapes of femur and tibia are of different sides: {meshes['femur'].name} is of a "
            f"{of['femur']} knee ({_TROCHLEA}), {meshes['tibia'].name} is of a {of['tibia']} "
            f"knee ({_PLATEAU}); expected both bodies of one knee: one of the files may be "
            "mirrored; name a file that is not mirrored"
        )
        return [Finding("warning", "[knee]", text, "different-sides")]
    if sum(values) < -TELLING:
        signs = {
            "femur": "the medial part of the trochlea is larger than the lateral part",
            "tibia": "the lateral plateau is longer, or less convex, than the medial plateau",
        }
        found = " and ".join(signs[body] for body, score in scores.items() if score < 0.0)
        text = (
            f'side = "{side}", but the shape is of a {other} knee: {found}, unlike in natural '
            f'knees; set side = "{other}" for a {other} knee, or check the axes'
        )
        return [Finding("warning", "knee.side", text, "side")]
    return []


_TROCHLEA = "the larger part of the trochlea is lateral"
_PLATEAU = "the longer, less convex plateau is medial"


#: Fewest triangles. A natural pair of 548 and 397 triangles is already 98 % off in force.
_FEWEST = 200
#: The two largest pieces of a surface have at least this part of its area, unless there are few.
_WHOLE, _FEW_PIECES = 0.6, 4
#: Largest tolerance of a repair [m], and least part of the open edges that joins a surface.
_LARGEST_TOLERANCE, _JOINED = 1e-3, 0.8
#: Relative difference of area and spreads below which two surfaces are the same.
_SAME = 1e-3
#: Flatness above which a surface is not a tibia, and between femur and tibia of an exchanged pair.
_NO_PLATEAU, _BETWEEN = 0.5, 0.235
#: Longest side of a tibia over that of the femur, and width over length, below which it is one
#: plateau (measured: one 0.58 to 0.63 and 0.59 to 0.75, both 0.96 to 1.05 and 1.6 to 1.7).
_ONE_PLATEAU = (0.75, 1.1)
#: Width of a femur over that of the tibia, and over its own length, below which it is one condyle
#: (measured: one 0.35 to 0.45 and 0.4 to 0.6, both 0.94 to 1.03 and 0.96 to 1.6).
_ONE_CONDYLE = (0.6, 0.75)
#: Widths of femur over tibia beyond which the condyles miss the plateaus, and are doubtful
#: (measured: 0.94 to 1.03; twice the volume is 1.26 times the width).
_MISSING, _DOUBTFUL = (0.62, 1.6), (0.83, 1.17)
#: Anterior component of the mean normal of a tibia (measured: -0.16 to 0.01).
_ANTERIOR_SLOPE = 0.1
#: Distances of the middle of a body from its origin that are doubtful and wrong [m]: of the
#: posterior condyles in x and y, of mid-width of the femur, of the tibia in x and z.
_CONDYLES, _FEMUR_ACROSS = (20e-3, 45e-3), (10e-3, 25e-3)
_TIBIA_ALONG, _TIBIA_ACROSS = (15e-3, 40e-3), (12e-3, 20e-3)
#: Angle between the lateral axis and that of the shape that is doubtful [deg] (measured: 0 to 6).
_TURNED = 12.0
#: Least superior component of the mean direction that a bed faces.
_UPRIGHT = 0.7
_ALIGN = (
    "take axes, rotation_deg and origin_mm from a second configuration, which `knee-contact init "
    "second.toml --femur FILE --tibia FILE` writes"
)


Meshes = Mapping[str, TriangleMesh]
_Findings = Iterator[Finding]
_Check = Callable[[Meshes], _Findings]


def check_surfaces(meshes: Meshes) -> list[Finding]:
    """Return errors and warnings about the surfaces of a knee by their shapes."""
    return _findings(meshes, (*_WITHOUT_AXES, *_WITH_AXES))


def check_shapes(meshes: Meshes) -> list[Finding]:
    """Return those findings of `check_surfaces` that do not depend on the frames of the meshes."""
    return _findings(meshes, _WITHOUT_AXES)


def check_pair(meshes: Meshes) -> list[Finding]:
    """Return errors about a contact pair that is no tibiofemoral joint: an open bed faces +y."""
    return _findings(meshes, (check_same, _pieces, _bed_faces_up, _solids))


def _findings(meshes: Meshes, checks: tuple[_Check, ...]) -> list[Finding]:
    return list(_found(tuple(meshes.items()), checks))


# `check` and the contact model over the same meshes need the findings one after the other.
@lru_cache(maxsize=1)
def _found(
    meshes: tuple[tuple[str, TriangleMesh], ...], checks: tuple[_Check, ...]
) -> tuple[Finding, ...]:
    found: list[Finding] = []
    for check in checks:
        found += check(dict(meshes))
        if any(finding.is_error for finding in found):
            break
    return tuple(found)


def check_same(meshes: Meshes) -> _Findings:
    """Yield an error if femur and tibia, vertices (V, 3) [m] in any position, are one mesh."""
    if len(meshes) < 2:
        return
    femur, tibia = meshes["femur"], meshes["tibia"]
    # The measures do not depend on format, placement, or side.
    if np.allclose(shape.spreads(femur), shape.spreads(tibia), rtol=_SAME, atol=0.0):
        text = (
            f"femur and tibia are the same mesh: {femur.name} and {tibia.name} have the same "
            "surface; name the mesh of the other body in knee.femur.file or knee.tibia.file"
        )
        yield Finding("error", "[knee]", text, "same")


def _of_body(code: str, body: str, mesh: TriangleMesh, text: str) -> Finding:
    """Return an error about the mesh of a body."""
    return Finding("error", f"[knee.{body}]", f"{mesh.name}: {text}", code)


def _pieces(meshes: Meshes) -> _Findings:
    for body, mesh in meshes.items():
        part = "condyle" if body == "femur" else "plateau"
        areas = label_pieces(mesh)[1] / mesh.areas.sum()
        if len(areas) > _FEW_PIECES and areas[:2].sum() < _WHOLE:
            text = (
                f"the surface falls into {len(areas)} loose pieces, the largest with "
                f"{100.0 * areas[0]:.2g} % of the area (expected one piece, or one for each "
                f"{part}); {_joining(mesh)}"
            )
            yield _of_body("crumbs", body, mesh, text)
        elif len(mesh.faces) < _FEWEST:
            text = (
                f"{counted(len(mesh.faces), 'triangle')}, too few to carry contact (expected at "
                f"least {_FEWEST}); export a finer mesh, with edges of about 1 mm"
            )
            yield _of_body("few", body, mesh, text)


def _joining(mesh: TriangleMesh) -> str:
    """Return what joins a surface of loose pieces: the repair, if a larger tolerance suffices."""
    welded = weld_seams(mesh.vertices, mesh.faces, _LARGEST_TOLERANCE)
    rest = find_edges(welded.faces, len(welded.vertices))
    if welded.closed > _JOINED * (welded.closed + (rest.count == 1).sum()):
        tolerance = np.ceil(1e5 * welded.tolerance) / 100.0
        return (
            f"the corners of neighbours are up to {2e3 * welded.moved:.2g} mm apart: set "
            f"knee.repair_tolerance_mm = {tolerance:g} (init --repair-tolerance-mm {tolerance:g})"
        )
    return "merge close vertices in a mesh editor, or export the surface again"


def _bodies(meshes: Meshes) -> _Findings:
    for body, mesh in meshes.items():
        what = shape.simple_body(mesh)
        if what is None and body == "tibia" and shape.flatness(mesh) > _NO_PLATEAU:
            exchanged = "femur" in meshes and shape.flatness(meshes["femur"]) < _BETWEEN
            what = None if exchanged else "nearly as high as wide"
        if what is not None:
            text = (
                f"the mesh is {what}, not the bearing surface of a {body} (expected "
                f"{'curved condyles' if body == 'femur' else 'two shallow plateaus'}); name the "
                f"mesh of the {body} in knee.{body}.file"
            )
            yield _of_body("other-body", body, mesh, text)


def _exchanged(meshes: Meshes) -> _Findings:
    if len(meshes) < 2:
        return
    first, second = (shape.flatness(meshes[body]) for body in ("femur", "tibia"))
    if first < _BETWEEN < second:
        text = (
            f"femur and tibia are exchanged: {meshes['femur'].name} is flat as a tibia (height "
            f"over width {first:.2f}), {meshes['tibia'].name} is high as a femur ({second:.2f}); "
            "exchange knee.femur.file and knee.tibia.file, with their other keys (in init, --femur "
            "and --tibia)"
        )
        yield Finding("error", "[knee]", text, "exchanged")


def _longest(mesh: TriangleMesh) -> float:
    """Return the largest extent of a surface seen from superior [m], along its principal axes."""
    flat = mesh.centroids[:, [0, 2]]
    flat = flat - np.average(flat, axis=0, weights=mesh.areas)
    _, axes = np.linalg.eigh((flat.T * mesh.areas) @ flat)
    return float(np.ptp(mesh.vertices[:, [0, 2]] @ axes, axis=0).max())


def _single(meshes: Meshes) -> _Findings:
    if len(meshes) < 2:
        return
    if float(meshes["tibia"].area_vectors[:, 1].sum()) < 0.5 * meshes["tibia"].areas.sum():
        return  # with other axes, length and width are not known
    femur, tibia = (np.ptp(meshes[body].vertices, axis=0)[[0, 2]] for body in ("femur", "tibia"))
    # A whole plateau that is turned about the superior axis is no single plateau.
    reach = _longest(meshes["tibia"]) / _longest(meshes["femur"])
    if reach < _ONE_PLATEAU[0] and tibia[1] < _ONE_PLATEAU[1] * tibia[0]:
        body, part, size, other = "tibia", "plateau", tibia, f"below a femur {1e3 * femur[1]:.0f}"
    elif femur[1] < _ONE_CONDYLE[0] * tibia.max() and femur[1] < _ONE_CONDYLE[1] * femur[0]:
        body, part, size, other = "femur", "condyle", femur, f"above a tibia {1e3 * tibia[1]:.0f}"
    else:
        return
    text = (
        f"the {body} is a single {part}, {1e3 * size[1]:.0f} mm wide and {1e3 * size[0]:.0f} mm "
        f"long {other} mm wide (expected both {part}s); list the files of both in "
        f'knee.{body}.file, such as ["medial.stl", "lateral.stl"]'
    )
    yield _of_body(f"single-{part}", body, meshes[body], text)


def _bed_faces_up(meshes: Meshes) -> _Findings:
    bed = meshes.get("tibia")
    if bed is None or shape.is_closed(bed):
        return
    mean = bed.area_vectors.sum(axis=0) / bed.areas.sum()
    if mean[1] < _UPRIGHT * np.linalg.norm(mean):
        listed = ", ".join(f"{part:.2f}" for part in mean)
        text = (
            f"the mean normal of the bed is ({listed}), expected mainly +y, along which contact "
            "presses; set knee.tibia.axes so that the second axis points out of the bed towards "
            "the other body, and turn knee.femur.axes alike"
        )
        yield _of_body("bed", "tibia", bed, text)


def _orientations(meshes: Meshes) -> _Findings:
    for body, mesh in meshes.items():
        for finding in orientation_findings(mesh, body):
            remedy = f", or {_ALIGN}" if finding.code == "orientation" else ""
            yield replace(finding, about=f"[knee.{body}]", text=finding.text + remedy)


def _turned(meshes: Meshes) -> _Findings:
    """Yield findings about bodies that are turned about the superior axis."""
    femur, tibia = meshes.get("femur"), meshes.get("tibia")
    if femur is not None:
        squares = (femur.normals**2 * femur.areas[:, None]).sum(axis=0)
        if squares[2] > 1.3 * squares[0]:
            text = "the condyles roll about the anterior axis (expected about the lateral axis)"
            yield _of_body("quarter-turn", "femur", femur, f"{text}; {_exchange('femur')}")
        elif faces_backward(femur):
            text = (
                "femur and tibia are opposed: the trochlea of the femur is posterior (expected "
                "anterior); turn the femur by 180 deg about the superior axis: change the signs of "
                f"the first and third of knee.femur.axes, or {_ALIGN}"
            )
            yield _of_body("opposed", "femur", femur, text)
    if tibia is None:
        return
    size = np.ptp(tibia.vertices, axis=0)
    if size[0] > 1.15 * size[2]:
        text = (
            f"the tibia is {1e3 * size[0]:.0f} mm long and {1e3 * size[2]:.0f} mm wide (expected "
            f"wider than long); {_exchange('tibia')}"
        )
        yield _of_body("quarter-turn", "tibia", tibia, text)
    if (notch := shape_of(tibia, np.eye(3)).notch) < -NOTCH:
        text = (
            "femur and tibia are opposed: the notch of the tibia is anterior, "
            f"{-100.0 * notch:.0f} % of the length deep (expected posterior); turn the tibia by "
            "180 deg about the superior axis: change the signs of the first and third of "
            f"knee.tibia.axes, or {_ALIGN}"
        )
        yield _of_body("notch", "tibia", tibia, text)
    slope = float(tibia.area_vectors[:, 0].sum() / tibia.areas.sum())
    if slope > _ANTERIOR_SLOPE:
        text = (
            f"{tibia.name}: the tibia may be opposed to the femur: its plateaus slope "
            f"{np.degrees(np.arcsin(slope)):.0f} deg anteriorly (natural plateaus slope "
            "posteriorly); check that the first of knee.tibia.axes points anterior"
        )
        yield Finding("warning", "[knee.tibia]", text, "tibia-opposed")


def _exchange(body: str) -> str:
    return (
        f"the mesh is turned by 90 deg about the superior axis: exchange the first and third of "
        f"knee.{body}.axes, and change one sign, or {_ALIGN}"
    )


def _solids(meshes: Meshes) -> _Findings:
    tibia = meshes.get("tibia")
    if tibia is not None and shape.is_closed(tibia):
        text = (
            "the tibia is a closed solid, so that the layer also covers its underside and sides "
            '(expected the open bearing surface); set surface = "bearing" in [knee.tibia], or '
            "delete all but the bearing surface in a mesh editor"
        )
        yield _of_body("closed", "tibia", tibia, text)


def _widths(meshes: Meshes) -> _Findings:
    if len(meshes) < 2:
        return
    femur, tibia = (float(np.ptp(meshes[body].vertices[:, 2])) for body in ("femur", "tibia"))
    ratio = femur / tibia
    if _DOUBTFUL[0] <= ratio <= _DOUBTFUL[1]:
        return
    misses = not _MISSING[0] <= ratio <= _MISSING[1]
    effect = "so that the condyles miss the plateaus" if misses else "which is unusual"
    text = (
        f"the femur is {1e3 * femur:.0f} mm wide, the tibia {1e3 * tibia:.0f} mm, {effect} "
        "(expected about the same width); check knee.femur.unit and knee.tibia.unit, and that both "
        "files belong to one knee"
    )
    yield Finding("error" if misses else "warning", "[knee]", text, "width")


def _origins(meshes: Meshes) -> _Findings:
    for body, mesh in meshes.items():
        if body == "femur":
            centre = shape.posterior_centre(mesh)
            distances = np.array([np.hypot(*centre[:2]), abs(centre[2])])
            limits = _CONDYLES, _FEMUR_ACROSS
            what = "the middle of the posterior condyles of the femur"
            expected = "expected near the origin, which flexion turns about"
        else:
            centre = 0.5 * (mesh.vertices.min(axis=0) + mesh.vertices.max(axis=0))
            distances, limits = np.abs(centre[[0, 2]]), (_TIBIA_ALONG, _TIBIA_ACROSS)
            what = "the middle of the plateaus of the tibia"
            expected = "expected above or below the origin, near which the axial force acts"
        doubtful, wrong = (
            any(at > limit[k] for at, limit in zip(distances, limits, strict=True)) for k in (0, 1)
        )
        if doubtful:
            x, y, z = 1e3 * centre
            text = (
                f"{mesh.name}: {what} is {1e3 * np.hypot(*distances):.0f} mm off the origin, at "
                f"({x:.0f}, {y:.0f}, {z:.0f}) mm ({expected}); set origin_mm and axes in "
                f"[knee.{body}]: {_ALIGN}"
            )
            level: Level = "error" if wrong else "warning"
            yield Finding(level, f"[knee.{body}]", text, f"{body}-origin")


def _axes(meshes: Meshes) -> _Findings:
    """Yield warnings about bodies that are turned against their anatomical frame."""
    for body, mesh in meshes.items():
        try:
            frame = forward_frame(mesh) if body == "femur" else tibial_frame(mesh, FORWARD)
        except MeshError:  # the frame is not found, which does not make the mesh wrong
            continue
        # Flexion and the slope of the plateau are not visible in the shapes.
        line = "posterior condyles" if body == "femur" else "middles of both plateaus"
        angle = np.degrees(np.arccos(min(1.0, abs(float(frame.rotation[2, 2])))))
        if angle > _TURNED:
            text = (
                f"{mesh.name}: the line through the {line} is {angle:.0f} deg off the lateral axis "
                f"(expected nearly along this axis); set origin_mm and axes in [knee.{body}]: "
                f"{_ALIGN}"
            )
            yield Finding("warning", f"[knee.{body}]", text, f"{body}-turned")


#: In the order in which a fault hides others.
_WITHOUT_AXES: tuple[_Check, ...] = (check_same, _pieces, _bodies, _exchanged)
_WITH_AXES: tuple[_Check, ...] = (
    _single,
    _orientations,
    _turned,
    _solids,
    _widths,
    _origins,
    _axes,
)
