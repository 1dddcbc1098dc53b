"""Keys of both meshes in a first configuration: stated, guessed, or proposed from the shape."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foundation.anatomy.bearing_search import BONE, FINDERS, OPEN, SHELL, SOLID
from foundation.anatomy.joint_end import is_long
from foundation.anatomy.walls import shell_thickness
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.surfaces.decimation import HUGE, coarse_copy
from foundation.surfaces.mesh import (
    EXTENSIONS,
    UNITS,
    RawMesh,
    load_mesh,
    load_raw_mesh,
    rotation_of,
)
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh
from pipeline.config.knee_schema import REPAIR_TOLERANCE_MM
from pipeline.originals.mesh_loading import decimation_words, mesh_of_files, own_part
from pipeline.preparation.alignment import (
    Alignment,
    check_before_alignment,
    check_placed,
    frame_keys,
    frame_words,
    placed_parts,
    propose_alignment,
)
from pipeline.preparation.bearing_pair import bearing_of
from pipeline.preparation.init_options import InitOptions
from pipeline.preparation.mesh_guess import (
    check_stated_unit,
    guess_unit,
    side_in_names,
)
from pipeline.preparation.starter import PRESETS, SLOPES_DEG
from pipeline.progress import say

BODIES = ("femur", "tibia")
#: Beginning of a line on what is doubtful.
WARNING = "warning: "
#: Number of triangles that take seconds, and that show the frame of a body.
_LARGE, _FRAME = 50_000, 60_000
#: Deviation of a decimated huge mesh [um]: several times the noise of a scan, which stands against
#: decimation within less.
_DECIMATE_UM = 100.0
#: Meshes that are bones where the layer is cartilage.
BONY = (SOLID, BONE)
#: Thickness of the cartilage on a bone [mm], and its source. The mean over femur and tibia of 17
#: knees of a shape model is 2.3 and 2.2 mm.
CARTILAGE_MM = 2.0
_CARTILAGE_SOURCE = (
    "the middle of the mean thicknesses of 27 healthy knees, 1.57 to 2.43 mm (Eckstein et al. "
    "2001, Osteoarthritis Cartilage 9:101-111)"
)
#: What a user has to state where the shape does not tell the material.
_MATERIAL = (
    "the material of the bearing surface is not known: state "
    f"{' or '.join(f'--material {name}' for name in PRESETS)}"
)
#: What a user has to do about the frames.
_FRAMES_DONE = (
    "frames: turns by large angles are no fault; act only if the picture shows a wrong frame, with "
    "--axes or --slope-deg"
)
_FLEXION = "for a zero of flexion within 5 deg, state --femur-bone with the bone of the scan"


class MeshAnswers(NamedTuple):
    """Keys of [knee.femur] and [knee.tibia] by body, side, and what was guessed."""

    #: One of `PRESETS`.
    material: str
    #: Keys of the sections "femur" and "tibia".
    keys: dict[str, dict[str, Any]]
    #: "right" or "left".
    side: str
    #: Whether the side is stated, or told by shape or file names.
    side_known: bool
    #: Guesses and reasons for the user, no findings of checks; those with `WARNING` are doubtful.
    guesses: list[str]
    #: Comments of the configuration by dotted key.
    notes: dict[str, str]
    #: Bodies whose mesh is a bone without cartilage.
    bones: tuple[str, ...] = ()
    #: Mean thickness of each closed cartilage shell [m].
    shells: tuple[float, ...] = ()


def find_mesh_keys(config: Path, options: InitOptions) -> MeshAnswers:
    """Return the material, and the keys of both meshes of a configuration.

    `config` is the file of the configuration, from whose folder files are named. Raises
    `InputError` if a mesh or the material is not stated, a mesh cannot be read or is not a knee, or
    the shape leaves a question that no option answers.
    """
    guesses: list[str] = []
    files_of = _stated(options)
    axes = _stated_axes(options)
    read = {body: (files, load_raw_mesh(files)) for body, files in files_of.items()}
    keys: dict[str, dict[str, Any]] = {}
    for body, (files, raw) in read.items():
        guesses.append(f"{body}: {raw.mesh.name}")
        for remark in raw.remarks:
            guesses.append(f"{body}: {remark}")
        beside = [_beside(file, config.parent) for file in files]
        unit = _unit(body, raw, options, guesses)
        keys[body] = {"file": beside[0] if len(beside) == 1 else beside, "unit": unit}
    meshes, repairs = _prepared(read, keys, options.repair_tolerance_mm, guesses)
    check_before_alignment(meshes)
    material = options.material or _material(meshes, guesses)
    named_side = side_in_names(file for files, _ in read.values() for file in files)
    kinds: dict[str, str] = {}
    if axes is not None:
        notes: dict[str, str] = {}
        for body in BODIES:
            keys[body]["axes"] = list(axes)
        kinds = _kinds_in_file_frames(keys, meshes)
        known_side, reason = options.side or named_side, "from the file names"
    else:
        slope = SLOPES_DEG[material] if options.slope_deg is None else options.slope_deg
        alignment = _aligned(meshes, options, named_side, np.radians(slope), keys["femur"]["unit"])
        notes = _anatomical_frames(keys, alignment, options, guesses)
        known_side, reason = alignment.side, alignment.evidence.reason
        placed = placed_parts(meshes, alignment, known_side or "right")
        for doubt in check_placed({body: part.mesh for body, part in placed.items()}):
            guesses.append(f"{WARNING}{doubt}")
        kinds = alignment.kinds
        for body, kind in kinds.items():
            if kind != OPEN:
                guesses.append(
                    f"{body}: {kind}: only the bearing surface is used, that of the picture in "
                    "colour; check states its area"
                )
    side = _side(options, known_side, reason, guesses)
    if repairs:
        notes["knee.repair_tolerance_mm"] = " ".join(f"{text}." for text in repairs)
    bones = tuple(body for body in BODIES if material == "cartilage" and kinds.get(body) in BONY)
    closed = [meshes[b] for b in BODIES if material == "cartilage" and kinds.get(b) == SHELL]
    shells = tuple(t for mesh in closed if (t := shell_thickness(mesh)) is not None)
    return MeshAnswers(material, keys, side, known_side is not None, guesses, notes, bones, shells)


def _stated(options: InitOptions) -> dict[str, tuple[Path, ...]]:
    """Return the files of each body, by default one named after it."""
    files, missing = {}, []
    for body in BODIES:
        names = [Path(f"{body}{extension}") for extension in EXTENSIONS]
        chosen = getattr(options, body) or tuple([name for name in names if name.is_file()][:1])
        files[body] = chosen
        if not chosen:
            missing.append(
                f"found no mesh of the {body} ({body}.stl or another format) in this folder: "
                f"state --{body} FILE"
            )
    if missing:
        raise InputError("; ".join(missing if options.material else [*missing, _MATERIAL]))
    return files


def _material(meshes: dict[str, TriangleMesh], told: list[str]) -> str:
    """Return the material of the bearing surfaces, known where both bodies are thin closed shells.

    Raises `InputError` for other bodies.
    """
    try:
        shells = all(bearing_of(meshes, body).kind == SHELL for body in BODIES)
    except MeshError:
        shells = False
    if not shells:
        raise InputError(_MATERIAL)
    told.append(
        "material: cartilage, as both bodies are thin closed shells; state --material otherwise"
    )
    return "cartilage"


def _prepared(
    read: dict[str, tuple[tuple[Path, ...], RawMesh]],
    keys: dict[str, dict[str, Any]],
    stated: float | None,
    told: list[str],
) -> tuple[dict[str, TriangleMesh], list[str]]:
    """Return the meshes [m], repaired and without further bodies, and what was repaired.

    A mesh of many triangles is replaced by a coarse copy, which shows the same frame.
    """
    tolerance = REPAIR_TOLERANCE_MM if stated is None else stated
    meshes, repairs, near = {}, [], None
    for body in BODIES[::-1]:
        files, raw = read[body]
        name = raw.mesh.name
        if len(raw.mesh.faces) > _LARGE:
            say(f"looking at {len(raw.mesh.faces):,} triangles of {name}")
        paths = tuple(str(file.resolve()) for file in files)
        huge = len(raw.mesh.faces) > HUGE
        own_keys = {"decimate_um": _DECIMATE_UM} if huge else {}
        file_mesh = mesh_of_files(paths, keys[body]["unit"], body, tolerance, **own_keys)
        if file_mesh.deviation is not None:
            keys[body] |= own_keys
            words = decimation_words(file_mesh.triangles, file_mesh.mesh, file_mesh.deviation)
            told.append(f"{body}: {words}: decimate_um = {_DECIMATE_UM:g}")
        mesh = TriangleMesh(file_mesh.mesh.vertices, file_mesh.mesh.faces, name)
        repairs += [f"{body}: repaired: {text}" for text in file_mesh.repairs]
        # Of both femurs, that of the tibia in use.
        body_mesh, left_out = own_part(mesh, body, near, tolerance)
        meshes[body] = coarse_copy(body_mesh, _FRAME)
        near = meshes[body].centroid
        for text in left_out:
            told.append(f"{body}: {text}")
    for text in repairs:
        told.append(text)
    return {body: meshes[body] for body in BODIES}, repairs


def cover_bones(answers: MeshAnswers, contact: dict[str, Any]) -> None:
    """Give bones without cartilage a thickness of cartilage, and their layer the sum of both.

    The keys of `answers` get cartilage_mm: half of a stated thickness of the layer between two
    bones, else a typical thickness; `contact` gets the thickness of a layer between two bones.
    """
    if not answers.bones:
        return
    thickness, reason = CARTILAGE_MM, f"{CARTILAGE_MM:g} mm, {_CARTILAGE_SOURCE}"
    if len(answers.bones) == len(BODIES):
        stated = contact.get("thickness_mm")
        if isinstance(stated, float):
            thickness, reason = (
                0.5 * stated,
                f"{0.5 * stated:g} mm, half of the thickness of the layer",
            )
        contact["thickness_mm"] = 2.0 * thickness
    for body in answers.bones:
        answers.keys[body]["cartilage_mm"] = thickness
        answers.notes[f"knee.{body}.cartilage_mm"] = (
            f"The file is a bone without cartilage, whose thickness is assumed: {reason}."
        )
        answers.guesses.append(
            f"{body}: a bone without cartilage: the surface is moved outwards by a cartilage of "
            f"{reason}; set cartilage_mm in [knee.{body}] to the thickness of this knee"
        )


def _kinds_in_file_frames(
    keys: dict[str, dict[str, Any]], meshes: dict[str, TriangleMesh]
) -> dict[str, str]:
    """Return what the meshes are, and add the key of the surface to closed bodies."""
    kinds = {}
    for body, other in zip(BODIES, BODIES[::-1], strict=True):
        try:
            kinds[body] = FINDERS[body](meshes[body], meshes[other]).kind
        except MeshError:  # reported by `check`
            continue
        if kinds[body] != OPEN:
            keys[body]["surface"] = "bearing"
    return kinds


def _stated_axes(options: InitOptions) -> tuple[str, ...] | None:
    """Return the axes of both files if they are stated, with which other options are refused."""
    if options.axes is None:
        return None
    for option in ("femur_anterior", "tibia_anterior", "femur_bone", "slope_deg"):
        if getattr(options, option) not in (None, ()):
            raise InputError(
                f"--{option.replace('_', '-')} has no effect with --axes; leave out one of the two "
                "options"
            )
    return axes_of(options.axes)


def _beside(file: Path, folder: Path) -> str:
    return Path(os.path.relpath(file, folder)).as_posix()


def _unit(body: str, raw: RawMesh, options: InitOptions, told: list[str]) -> str:
    """Return the unit of a file: stated by the file, of its own option, of --unit, or guessed."""
    stated: str | None = getattr(options, f"{body}_unit")
    if raw.unit is not None:
        option = "" if stated in (None, raw.unit) else f"; --{body}-unit {stated} has no effect"
        told.append(f"{body}: unit {raw.unit}, stated by the file{option}")
        return raw.unit
    guess, unit = guess_unit(raw.mesh), stated or options.unit
    if unit is not None:
        check_stated_unit(body, raw.mesh, unit, guess)
        return unit
    begin, doubt = "", ""
    if is_long(TriangleMesh(UNITS[guess.value] * raw.mesh.vertices, raw.mesh.faces)):
        doubt = ", a long bone"
    elif not guess.certain:
        doubt = f", which is not the size of a knee; check the mesh, or state --{body}-unit"
        begin = WARNING
    told.append(f"{begin}{body}: unit {guess.value}: {guess.reason}{doubt}")
    return guess.value


def _side(options: InitOptions, found: str | None, reason: str, told: list[str]) -> str:
    if options.side is not None:
        if "the shape says" in reason:
            told.append(f"{WARNING}side: {options.side}, {reason}")
        return options.side
    if found is not None:
        told.append(f"side: {found}, {reason}")
        return found
    told.append(
        f"{WARNING}side: right by default, as neither shape nor file names tell; state --side left "
        "for a left knee"
    )
    return "right"


def _aligned(
    meshes: dict[str, TriangleMesh],
    options: InitOptions,
    named_side: str | None,
    slope: float,
    unit: str,
) -> Alignment:
    """Return the proposed alignment; a bone of the femur is in the `unit` of the femur's mesh."""
    anterior = {
        body: axis_of(text)
        for body in BODIES
        if (text := getattr(options, f"{body}_anterior")) is not None
    }
    files = options.femur_bone
    bone = load_mesh(files, unit=unit, check=False) if files else None
    return propose_alignment(
        meshes,
        anterior,
        options.side or named_side,
        side_stated=options.side is not None,
        slope=slope,
        bone=bone,
    )


def _anatomical_frames(
    keys: dict[str, dict[str, Any]],
    alignment: Alignment,
    options: InitOptions,
    told: list[str],
) -> dict[str, str]:
    """Add the proposed frames to the keys; return the comments of the configuration."""
    notes = {}
    for body, frame in alignment.frames.items():
        keys[body] |= frame_keys(frame)
        if alignment.surfaces[body] == "bearing":
            keys[body]["surface"] = "bearing"
        for line in frame_words(frame):
            told.append(f"{body}: {line}")
        notes[f"knee.{body}.axes"] = (
            "Proposed from the shape: please verify in the picture. "
            + ". ".join(frame_words(frame))
        )
    scan = options.material != "polyethylene" and alignment.kinds["femur"] != BONE
    further = scan and not options.femur_bone
    told.append(f"{_FRAMES_DONE}; {_FLEXION}" if further else _FRAMES_DONE)
    return notes


def axes_of(text: str) -> tuple[str, ...]:
    """Return three signed axes from text such as "-x,y,-z"; `InputError` if it is not that."""
    axes = tuple(axis.strip() for axis in text.split(","))
    if sorted(axis.removeprefix("-") for axis in axes) != ["x", "y", "z"]:
        raise InputError(
            f"--axes: expected x, y and z once each, with signs, such as -x,y,-z; found {text!r}"
        )
    rotation_of(axes, np.zeros(3))  # refuses a left-handed frame
    return axes


def axis_of(text: str) -> FloatArray:
    """Return the direction (3,) [1] of a signed axis such as "-z"; else raise `InputError`."""
    name = text.strip().removeprefix("+")
    if name.removeprefix("-") not in tuple("xyz"):
        raise InputError(
            f"anterior axis of a file: expected x, y or z with an optional sign, found {text!r}"
        )
    direction: FloatArray = np.eye(3)["xyz".index(name[-1])]
    return -direction if name.startswith("-") else direction
