"""What the meshes of a knee tell about themselves: unit, axes, and which knee it is.

These are guesses for a first configuration (`python -m pipeline init`) and doubts about one that
exists (`python -m pipeline check`); the configuration has the last word.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.checks import FloatArray
from foundation.surfaces.mesh import UNITS, load_mesh
from foundation.surfaces.mesh_checks import FACING, SIZE_RANGE
from foundation.surfaces.triangle_mesh import MeshWarning, TriangleMesh

#: Diagonal of the box of a typical bearing surface [m], between cartilage (75) and implants (115).
_TYPICAL = 90e-3
#: The middle of the width, which holds the trochlea of a femur but not its condyles.
_STRIP = 0.1
#: The trochlea lies that far from the middle of the length, over the length, or it is not told.
#: Measured: 0.27 on cartilage, 0.33 on a component.
_TROCHLEA = 0.1
#: The plateau of a natural knee that is longer by this factor is the medial one (measured: 1.2).
_LONGER = 1.1


class Guess(NamedTuple):
    """A guess: the value, whether the mesh settles it, and what it was told by."""

    value: str
    certain: bool
    reason: str


class AxesGuess(NamedTuple):
    """Signed file axes of anterior, superior and the body's right; which of them are certain."""

    axes: tuple[str, str, str]
    certain: bool
    reason: str


def read_raw(path: Path) -> TriangleMesh:
    """Return a mesh as it stands in its file, unchecked; a MeshError tells if it is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        return load_mesh(path, check=False)


def box_diagonal(mesh: TriangleMesh) -> float:
    """Return the diagonal of the box around a mesh, in the unit of its vertices."""
    return float(np.linalg.norm(np.ptp(mesh.vertices, axis=0)))


def guess_unit(mesh: TriangleMesh) -> Guess:
    """Return the unit in which a mesh, read as metres, has the size of a knee."""
    diagonal = box_diagonal(mesh)
    best = min(UNITS, key=lambda unit: abs(np.log(UNITS[unit] * diagonal / _TYPICAL)))
    size = UNITS[best] * diagonal
    certain = SIZE_RANGE[0] <= size <= SIZE_RANGE[1]
    return Guess(best, certain, f"its box has a diagonal of {1e3 * size:.0f} mm then")


def guess_axes(femur: TriangleMesh, tibia: TriangleMesh) -> tuple[AxesGuess, AxesGuess]:
    """Return the axes of femur and tibia, both in their files' axes.

    Superior is where the tibia faces, away from where the femur does; across is the tibia's longer
    side; the trochlea of the femur is anterior. The tibia's own shape does not tell anterior from
    posterior: it takes the femur's direction.
    """
    up = {"femur": _superior(femur, -1.0), "tibia": _superior(tibia, 1.0)}
    known = up["femur"] is not None and up["tibia"] is not None
    fallback = next((v for v in up.values() if v is not None), np.array([0.0, 1.0, 0.0]))
    ups = {body: fallback if axis is None else axis for body, axis in up.items()}
    facing = "how the surfaces face" if known else "how an open surface faces; the other is closed"
    forward, offset = _trochlea(femur, ups["femur"])
    told = abs(offset) > _TROCHLEA
    how = "the trochlea is anterior" if told else "no trochlea tells anterior from posterior"
    first = AxesGuess(_names(forward, ups["femur"]), known and told, f"{facing}; {how}")
    flat = np.flatnonzero(ups["tibia"] == 0.0)
    across = flat[np.argmax(np.ptp(tibia.vertices, axis=0)[flat])]
    along = int(flat[flat != across][0])
    ahead = np.zeros(3)
    ahead[along] = 1.0
    alike = bool(np.array_equal(ups["femur"], ups["tibia"]) and forward[along] != 0.0)
    if alike:
        ahead = forward
    how = "anterior as in the femur's file" if alike else "its shape does not tell anterior"
    second = AxesGuess(_names(ahead, ups["tibia"]), known and told and alike, f"{facing}; {how}")
    return first, second


def trochlea_offset(femur: TriangleMesh) -> float:
    """Return how far anterior the middle of a femur lies (in our axes), over its length."""
    return _strip_offset(femur, 0, 2)


def faces_backwards(femur: TriangleMesh) -> bool:
    """Return whether the trochlea of a femur (in our axes) is behind its condyles."""
    return trochlea_offset(femur) < -_TROCHLEA


def lateral_is_longer(tibia: TriangleMesh, labels: NDArray[np.int8]) -> bool:
    """Return whether the lateral plateau (label 1) is clearly the longer one, as in no knee."""
    lengths = [float(np.ptp(tibia.centroids[labels == part, 0])) for part in (0, 1)]
    return lengths[1] > _LONGER * lengths[0]


def side_in_name(path: Path) -> str | None:
    """Return the side that a file's name tells ("knee-R.stl", "left_femur.stl"), or None."""
    words = {word.lower() for word in re.split(r"[^A-Za-z]+", path.stem)}
    sides = {"right" for _ in words & {"r", "right", "re"}} | {
        "left" for _ in words & {"l", "left", "li"}
    }
    return sides.pop() if len(sides) == 1 else None


def _superior(mesh: TriangleMesh, sign: float) -> FloatArray | None:
    """Return the signed file axis that an open surface faces, times the sign; None if closed."""
    mean = sign * mesh.area_vectors.sum(axis=0) / mesh.areas.sum()
    axis = int(np.argmax(np.abs(mean)))
    if abs(mean[axis]) < FACING:
        return None
    found = np.zeros(3)
    found[axis] = np.sign(mean[axis])
    return found


def _trochlea(femur: TriangleMesh, up: FloatArray) -> tuple[FloatArray, float]:
    """Return the anterior axis of a femur (3,) and how far its trochlea lies along it."""
    flat = [int(axis) for axis in np.flatnonzero(up == 0.0)]
    offsets = {along: _strip_offset(femur, along, sum(flat) - along) for along in flat}
    along = max(offsets, key=lambda axis: abs(offsets[axis]))
    forward = np.zeros(3)
    forward[along] = -1.0 if offsets[along] < 0.0 else 1.0
    return forward, offsets[along]


def _strip_offset(mesh: TriangleMesh, along: int, across: int) -> float:
    """Return where the surface of the middle strip lies along an axis, from the middle, over it."""
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    middle, size = 0.5 * (low + high), high - low
    strip = np.abs(mesh.centroids[:, across] - middle[across]) < _STRIP * size[across]
    if not strip.any() or size[along] == 0.0:
        return 0.0
    centre = np.average(mesh.centroids[strip, along], weights=mesh.areas[strip])
    return float((centre - middle[along]) / size[along])


def _names(forward: FloatArray, up: FloatArray) -> tuple[str, str, str]:
    """Return the names of the axes forward, up, and to the right, which makes them right-handed."""
    found = []
    for axis in (forward, up, np.cross(forward, up)):
        k = int(np.argmax(np.abs(axis)))
        found.append(("-" if axis[k] < 0.0 else "") + "xyz"[k])
    return found[0], found[1], found[2]
