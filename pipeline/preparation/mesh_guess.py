"""Unit, axes and side of the meshes of a knee, guessed from their geometry and file names.

`knee-contact init` writes the guesses into a first configuration; `knee-contact check`
compares a configuration with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.surfaces.mesh import UNITS, RawMesh
from foundation.surfaces.mesh_checks import FACING, SIZE_RANGE, TYPICAL_SIZE
from foundation.surfaces.triangle_mesh import TriangleMesh

#: Half-width of the middle strip, which contains the trochlea, over the width of a femur.
_STRIP = 0.1
#: Least distance of the trochlea from mid-length, over the length (measured: 0.27 on cartilage,
#: 0.33 on a component).
_TROCHLEA = 0.1
#: Ratio of plateau lengths beyond which the longer one is medial (measured in natural knees: 1.2).
_LONGER = 1.1
T = TypeVar("T")


class Guess(NamedTuple, Generic[T]):
    """A guess: value (such as the signed axes of a file), whether certain, and the reason."""

    value: T
    certain: bool
    reason: str


#: Signed file axes: anterior, superior, right.
Axes = tuple[str, str, str]


def guess_unit(mesh: TriangleMesh) -> Guess[str]:
    """Return the unit in which a mesh, in the unit of its file, has the size of a knee."""
    diagonal = float(np.linalg.norm(np.ptp(mesh.vertices, axis=0)))
    best = min(UNITS, key=lambda unit: abs(np.log(UNITS[unit] * diagonal / TYPICAL_SIZE)))
    reason, certain = _size_in(mesh, best)
    # The other units differ by more than the sizes of knees do.
    other = {"cm": "inch", "inch": "cm"}.get(best)
    if other is not None and _size_in(mesh, other)[1]:
        reason += f"; in {other}, {_size_in(mesh, other)[0]}"
    return Guess(best, certain, reason)


def stated_unit(raw: RawMesh) -> Guess[str] | None:
    """Return the unit that a file states, certain if the mesh then has the size of a knee."""
    if raw.unit is None:
        return None
    reason, certain = _size_in(raw.mesh, raw.unit)
    return Guess(raw.unit, certain, f"stated by the file: {reason}")


def check_stated_unit(body: str, raw: RawMesh, unit: str, guess: Guess[str]) -> None:
    """Refuse a unit of an option in which the mesh of a body is no knee, but is one in another.

    Raises `InputError` with the option that states the unit of the guess.
    """
    size, fits = _size_in(raw.mesh, unit)
    if guess.certain and not fits:
        raise InputError(
            f"{raw.mesh.name}: in {unit}, {size}, which is not the size of a knee; in "
            f"{guess.value}, {guess.reason}: use --{body}-unit {guess.value}"
        )


def _size_in(mesh: TriangleMesh, unit: str) -> tuple[str, bool]:
    """Return the size of a mesh in a unit in words, and whether the size is that of a knee."""
    size = UNITS[unit] * float(np.linalg.norm(np.ptp(mesh.vertices, axis=0)))
    text = f"{1e3 * size:.0f}" if size >= 1e-3 else f"{1e3 * size:.2g}"
    return f"bounding box diagonal {text} mm", SIZE_RANGE[0] <= size <= SIZE_RANGE[1]


def guess_axes(femur: TriangleMesh, tibia: TriangleMesh) -> tuple[Guess[Axes], Guess[Axes]]:
    """Return the axes of femur and tibia, both in the axes of their files.

    The tibia faces superiorly, the femur inferiorly. The trochlea of the femur is anterior. The
    longer horizontal side of the tibia is mediolateral. The shape of the tibia does not distinguish
    anterior from posterior: the tibia takes the direction of the femur.
    """
    facing = (_facing(femur, -1.0), _facing(tibia, 1.0))
    fallback = next((axis for axis in facing if axis is not None), np.eye(3)[1])
    femur_up, tibia_up = (fallback if axis is None else axis for axis in facing)
    both_open = all(axis is not None for axis in facing)
    basis = "orientation of both surfaces"
    if not both_open:
        basis = "orientation of the open surface; the other surface is closed"
    forward, offset = _trochlea(femur, femur_up)
    has_trochlea = abs(offset) > _TROCHLEA
    certain = both_open and has_trochlea
    reason = "trochlea anterior" if has_trochlea else "no trochlea found"
    first = Guess(_names(forward, femur_up), certain, f"{basis}; {reason}")
    flat = np.flatnonzero(tibia_up == 0.0)
    across = flat[np.argmax(np.ptp(tibia.vertices, axis=0)[flat])]
    along = int(flat[flat != across][0])
    alike = bool(np.array_equal(femur_up, tibia_up) and forward[along] != 0.0)
    ahead = forward if alike else np.eye(3)[along]
    reason = "anterior as in the femur file" if alike else "anterior direction unknown"
    second = Guess(_names(ahead, tibia_up), certain and alike, f"{basis}; {reason}")
    return first, second


def lateral_is_longer(tibia: TriangleMesh, labels: NDArray[np.int8]) -> bool:
    """Return whether the lateral plateau (label 1 of (F,)) is clearly the longer one."""
    lengths = [float(np.ptp(tibia.centroids[labels == part, 0])) for part in (0, 1)]
    return lengths[1] > _LONGER * lengths[0]


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


def _facing(mesh: TriangleMesh, sign: float) -> FloatArray | None:
    """Return the signed file axis that an open surface faces, times the sign; None if closed."""
    mean = sign * mesh.area_vectors.sum(axis=0) / mesh.areas.sum()
    axis = int(np.argmax(np.abs(mean)))
    return None if abs(mean[axis]) < FACING else np.sign(mean[axis]) * np.eye(3)[axis]


def _trochlea(femur: TriangleMesh, up: FloatArray) -> tuple[FloatArray, float]:
    """Return the anterior axis of a femur (3,) and the relative position of the trochlea on it."""
    flat = [int(axis) for axis in np.flatnonzero(up == 0.0)]
    offsets = {along: _strip_offset(femur, along, sum(flat) - along) for along in flat}
    along = max(offsets, key=lambda axis: abs(offsets[axis]))
    return (-1.0 if offsets[along] < 0.0 else 1.0) * np.eye(3)[along], offsets[along]


def _strip_offset(mesh: TriangleMesh, along: int, across: int) -> float:
    """Return the position of the middle strip along an axis, from mid-length, over the length."""
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    middle, size = 0.5 * (low + high), high - low
    strip = np.abs(mesh.centroids[:, across] - middle[across]) < _STRIP * size[across]
    if not strip.any() or size[along] == 0.0:
        return 0.0
    centre = np.average(mesh.centroids[strip, along], weights=mesh.areas[strip])
    return float((centre - middle[along]) / size[along])


def _names(forward: FloatArray, up: FloatArray) -> Axes:
    """Return the signed names of the axes forward, up and right (right-handed)."""
    axes = (forward, up, np.cross(forward, up))
    first, second, third = (
        ("-" if axis.sum() < 0.0 else "") + "xyz"[int(np.argmax(np.abs(axis)))] for axis in axes
    )
    return first, second, third
