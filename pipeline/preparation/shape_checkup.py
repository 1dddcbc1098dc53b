"""Checks of [knee.shape]: what each mode moves, and whether meshes and weights are usable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from foundation.anatomy.shape_modes import ShapeModes, rigid_share
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.findings import Finding
from foundation.base.wording import counted
from foundation.surfaces.mesh_checks import BODIES
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.knee_schema import KneeConfig, ShapeConfig
from pipeline.config.reading import tuples_of
from pipeline.originals.knee_surfaces import shape_modes, shaped_surfaces
from pipeline.preparation.findings import Findings

_SECTION = "[knee.shape]"
#: Share of a motion as a rigid body in a mode beyond which the meshes are not aligned.
_RIGID = 0.9


def check_shape(
    knee: Mapping[str, Any], base: Path, findings: Findings
) -> dict[str, TriangleMesh] | None:
    """Check [knee.shape] and return femur and tibia of the study [m]; None if these have errors.

    `knee` is section [knee] of the file, possibly with errors, and `base` the folder of the file;
    `findings` takes what was found.
    """
    try:
        config = KneeConfig.model_validate(tuples_of(dict(knee)), context={"folder": base})
    except ValidationError:  # reported by the check of the configuration
        return None
    assert config.shape is not None
    try:
        modes = shape_modes(config)
        findings.add(_of_modes(config.shape, modes))
        femur, tibia, _ = shaped_surfaces(config)
    except (InputError, OSError) as error:
        findings.error(_SECTION, str(error).removeprefix(f"{_SECTION} "))
        return None
    return dict(zip(BODIES, (femur, tibia), strict=True))


def _of_modes(shape: ShapeConfig, modes: ShapeModes) -> Iterator[Finding]:
    """Yield notes on each mode, and warnings."""
    yield Finding("note", _SECTION, _of_all(shape, modes))
    for number in range(1, len(modes.modes) + 1):
        yield Finding("note", _SECTION, _mode_words(modes, number))
    if modes.shares is not None:
        yield from _rigid_motions(modes)
    yield from _folds(modes)


def _of_all(shape: ShapeConfig, modes: ShapeModes) -> str:
    if modes.shares is None:
        return f"{counted(shape.count, 'given displacement')} of the meshes"
    variance = float(modes.deviations[0] ** 2 / modes.shares[0])
    left = np.sqrt(max(0.0, 1.0 - float(modes.shares.sum())) * variance / modes.modes.shape[1])
    return (
        f"{counted(shape.count, 'knee')}: {counted(len(modes.modes), 'mode')} with "
        f"{modes.shares.sum():.1%} of the variance; what the other modes move is "
        f"{1e3 * left:.2g} mm RMS"
    )


def _mode_words(modes: ShapeModes, number: int) -> str:
    """Return in words what a mode (1, 2, ...) moves."""
    share = "" if modes.shares is None else f"{modes.shares[number - 1]:.1%} of the variance; "
    weight = "a weight of 1" if modes.shares is None else "a standard deviation"
    moved = []
    for body, displacement in _by_body(modes, number).items():
        distances = 1e3 * np.linalg.norm(displacement, axis=1)
        moved.append(f"the {body} by {distances.mean():.2g} mm (at most {distances.max():.2g} mm)")
    return f"mode {number}: {share}{weight} moves {' and '.join(moved)}"


def _by_body(modes: ShapeModes, number: int) -> dict[str, FloatArray]:
    """Return the displacements (V, 3) [m] of femur and tibia by a mode (1, 2, ...)."""
    split = np.split(modes.displacements[number - 1], [len(modes.femur.vertices)])
    return dict(zip(BODIES, split, strict=True))


def _rigid_motions(modes: ShapeModes) -> Iterator[Finding]:
    for number in range(1, len(modes.modes) + 1):
        for (body, moved), mesh in zip(
            _by_body(modes, number).items(), (modes.femur, modes.tibia), strict=True
        ):
            share = rigid_share(mesh.vertices, moved)
            if share > _RIGID and _is_large(modes, number, moved):
                text = (
                    f"mode {number} turns and moves the {body} as a whole ({share:.0%} of its "
                    "squared displacements): the meshes seem to lie in different frames; set "
                    'align = "rigid", unless the positions in the frame of the bone are meant'
                )
                yield Finding("warning", _SECTION, text)


def _is_large(modes: ShapeModes, number: int, moved: FloatArray) -> bool:
    """Return whether a displacement (V, 3) [m] is most of what a mode moves."""
    return bool((moved**2).sum() > 0.5 * modes.deviations[number - 1] ** 2)


def _folds(modes: ShapeModes) -> Iterator[Finding]:
    size = 1.0 if modes.shares is None else 2.0
    for number in range(len(modes.modes)):
        for sign in (-size, size):
            try:
                modes.meshes(sign * np.eye(len(modes.modes))[number])
            except InputError as error:
                yield Finding("warning", _SECTION, str(error))
