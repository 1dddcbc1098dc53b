"""Frames proposed for the meshes of a configuration, compared with the configured frames."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from foundation.anatomy.evidence import AnatomicalFrame
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.surfaces.mesh import load_mesh, rotation_of
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh
from pipeline.advice import command_line
from pipeline.config.reading import load_config
from pipeline.config.schema import Config, MeshConfig
from pipeline.files import write_text
from pipeline.originals.mesh_loading import BearingPart, load_body, mesh_of_files, own_part
from pipeline.preparation.alignment import (
    Alignment,
    check_before_alignment,
    distance_between,
    frame_keys,
    frame_words,
    placed_parts,
    propose_alignment,
)
from pipeline.preparation.alignment_picture import draw_alignment, shown_question
from pipeline.preparation.mesh_guess import side_in_names
from pipeline.preparation.open_question import OpenQuestion
from pipeline.preparation.starter import SLOPES_DEG
from pipeline.preparation.written_keys import with_values

BODIES = ("femur", "tibia")
#: Young's modulus below which the layer is cartilage [MPa].
_SOFT = 100.0


def align_study(
    file: Path,
    overrides: tuple[str, ...] = (),
    anterior: dict[str, FloatArray] | None = None,
    side: str | None = None,
    slope_deg: float | None = None,
    bone: tuple[Path, ...] = (),
    *,
    write: bool = False,
) -> tuple[str, dict[str, Any]]:
    """Propose frames for the meshes of a configuration; return text and content of the answer.

    A picture in the folder of the configuration shows the meshes as configured and as proposed;
    with `write`, the configuration gets the proposed frames. `overrides` are as in `load_config`;
    `anterior` has stated directions (3,) in the files that point roughly anterior [1], by body. By
    default, the side is that of shape and file names, the fall of the tibial plateau towards
    posterior that of cartilage or of an implant. `bone` are files of the bone of the femur, in the
    frame and unit of its mesh. Raises `InputError` if the configuration has no meshes, a mesh is
    not that of a knee, or the shape leaves a question.
    """
    config = load_config(file, overrides)
    meshes = {body: _in_metres(config, body) for body in BODIES}
    check_before_alignment(meshes)
    named_side = side_in_names(Path(mesh.name) for mesh in meshes.values())
    try:
        alignment = propose_alignment(
            meshes,
            anterior,
            side or named_side,
            side_stated=side is not None,
            slope=np.radians(_slope_deg(config) if slope_deg is None else slope_deg),
            bone=_bone(config, bone),
        )
    except OpenQuestion as error:
        asked = file.with_name(f"{file.stem}_question.png")
        raise shown_question(error, meshes, asked) from error
    found = alignment.side or config.knee.side
    picture = file.with_name(f"{file.stem}_frames.png")
    draw_alignment(picture, _placed(config, meshes, alignment, found))
    keys = {
        body: frame_keys(frame) | _surface_key(config, body, alignment.surfaces[body])
        for body, frame in alignment.frames.items()
    }
    away = {
        body: distance_between(_configured(getattr(config.knee, body)), frame)
        for body, frame in alignment.frames.items()
    }
    lines = [
        *_findings(alignment, away),
        f"side: {found}: {alignment.evidence.reason}",
        f"written: {picture}",
    ]
    if write:
        _write(file, found, keys)
        lines += [
            f"written: {file} (side, and frames of femur and tibia)",
            f"next: {command_line('check', file)}",
        ]
    else:
        lines += _as_toml(found, keys)
    return "\n".join(lines), {
        "knee": {"side": found, **keys},
        "away": _distances(away),
        "evidence": {
            body: {what: found._asdict() for what, found in frame.evidence.items()}
            for body, frame in alignment.frames.items()
        },
        "picture": str(picture),
    }


def _surface_key(config: Config, body: str, surface: str) -> dict[str, str]:
    """Return the key of the surface of a body, if the configuration has another one."""
    return {} if getattr(config.knee, body).surface == surface else {"surface": surface}


def _distances(away: dict[str, tuple[float, float]]) -> dict[str, dict[str, float]]:
    return {
        body: {"origin_mm": 1e3 * metres, "rotation_deg": float(np.degrees(angle))}
        for body, (metres, angle) in away.items()
    }


def _findings(alignment: Alignment, away: dict[str, tuple[float, float]]) -> Iterator[str]:
    """Yield the proposed frames, and how far the configured frames are away [m, rad], in words."""
    for body, frame in alignment.frames.items():
        yield from (f"{body}: {line}" for line in frame_words(frame))
        metres, angle = away[body]
        distance = f"{1e3 * metres:.1f} mm and {np.degrees(angle):.1f} deg"
        yield f"{body}: the configured frame is {distance} away"


def _write(file: Path, side: str, keys: dict[str, dict[str, Any]]) -> None:
    """Replace side and frames in a configuration."""
    sections = {"knee": {"side": side}, **{f"knee.{body}": own for body, own in keys.items()}}
    write_text(file, with_values(file.read_text(encoding="utf-8"), sections))


def _as_toml(side: str, keys: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield the lines to copy into the configuration."""
    yield from ("", "[knee]", f'side = "{side}"')
    for body, own in keys.items():
        yield from ("", f"[knee.{body}]")
        # Text, numbers and lists look the same in JSON and TOML.
        yield from (f"{key} = {json.dumps(value)}" for key, value in own.items())


def _bone(config: Config, files: tuple[Path, ...]) -> TriangleMesh | None:
    """Return the bone (V, 3) [m] of the femur in files, if any."""
    if not files or config.knee.femur is None:
        return None
    return load_mesh(files, unit=config.knee.femur.unit, check=False)


def _in_metres(config: Config, body: str) -> TriangleMesh:
    stated: MeshConfig | None = getattr(config.knee, body)
    if stated is None:
        raise InputError(
            f"[knee.{body}] is missing: expected the meshes of femur and tibia; the built-in "
            "implant needs no alignment"
        )
    tolerance = config.knee.repair_tolerance_mm
    mesh = mesh_of_files(stated.files, stated.unit, body, tolerance, stated.decimate_um).mesh
    return own_part(mesh, body, 1e-3 * np.array(stated.origin_mm), tolerance).mesh


def _slope_deg(config: Config) -> float:
    soft = config.contact.youngs_modulus_MPa < _SOFT
    return SLOPES_DEG["cartilage" if soft else "polyethylene"]


def _configured(mesh: MeshConfig) -> AnatomicalFrame:
    rotation = rotation_of(mesh.axes, np.radians(mesh.rotation_deg))
    return AnatomicalFrame(1e-3 * np.array(mesh.origin_mm), rotation, {})


def _placed(
    config: Config, meshes: dict[str, TriangleMesh], alignment: Alignment, side: str
) -> dict[str, dict[str, BearingPart]]:
    """Return the surfaces as configured, if these can be used, and as proposed, by row."""
    rows = {"as proposed": placed_parts(meshes, alignment, side)}
    try:
        configured = {body: load_body(config.knee, body).bearing for body in BODIES}
    except MeshError:  # reported by `check`
        return rows
    return {"as configured": configured, **rows}
