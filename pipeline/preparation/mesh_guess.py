"""Unit and side of the meshes of a knee, guessed from their geometry and file names.

`knee-contact init` writes the guesses into a first configuration; `knee-contact check`
compares a configuration with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from foundation.base.errors import InputError
from foundation.surfaces.mesh import UNITS
from foundation.surfaces.mesh_checks import SIZE_RANGE, TYPICAL_SIZE
from foundation.surfaces.triangle_mesh import TriangleMesh


class Guess(NamedTuple):
    """A guess of a unit: value, whether certain, and the reason."""

    value: str
    certain: bool
    reason: str


def guess_unit(mesh: TriangleMesh) -> Guess:
    """Return the unit in which a mesh, in the unit of its file, has the size of a knee."""
    diagonal = float(np.linalg.norm(np.ptp(mesh.vertices, axis=0)))
    best = min(UNITS, key=lambda unit: abs(np.log(UNITS[unit] * diagonal / TYPICAL_SIZE)))
    reason, certain = _size_in(mesh, best)
    # The other units differ by more than the sizes of knees do.
    other = {"cm": "inch", "inch": "cm"}.get(best)
    if other is not None and _size_in(mesh, other)[1]:
        reason += f"; in {other}, {_size_in(mesh, other)[0]}"
    return Guess(best, certain, reason)


def check_stated_unit(body: str, mesh: TriangleMesh, unit: str, guess: Guess) -> None:
    """Refuse a unit of an option in which the mesh of a body is no knee, but is one in another.

    Raises `InputError` with the option that states the unit of the guess.
    """
    size, fits = _size_in(mesh, unit)
    if guess.certain and not fits:
        raise InputError(
            f"{mesh.name}: in {unit}, {size}, which is not the size of a knee; in "
            f"{guess.value}, {guess.reason}: use --{body}-unit {guess.value}"
        )


def _size_in(mesh: TriangleMesh, unit: str) -> tuple[str, bool]:
    """Return the size of a mesh in a unit in words, and whether the size is that of a knee."""
    size = UNITS[unit] * float(np.linalg.norm(np.ptp(mesh.vertices, axis=0)))
    text = f"{1e3 * size:.0f}" if size >= 1e-3 else f"{1e3 * size:.2g}"
    return f"bounding box diagonal {text} mm", SIZE_RANGE[0] <= size <= SIZE_RANGE[1]


def side_in_names(paths: Iterable[Path]) -> str | None:
    """Return the side in the names of files, None if no name tells or two names differ."""
    sides = {side for path in paths if (side := side_in_name(path)) is not None}
    return sides.pop() if len(sides) == 1 else None


def side_in_name(path: Path) -> str | None:
    """Return the side in a file name such as knee-R.stl or left_femur.stl, or None."""
    words = {word.lower() for word in re.split(r"[^A-Za-z]+", path.stem)}
    right, left = words & {"r", "right", "re"}, words & {"l", "left", "li"}
    if bool(right) == bool(left):
        return None
    return "right" if right else "left"
