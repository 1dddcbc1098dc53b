"""What a reader of surface files returns, and words about what a reader leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.base.wording import counted

#: Metres per unit of a file.
UNITS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "inch": 0.0254}


class UnsupportedContent(InputError):
    """A file is valid, but has no surface that a reader takes; the message says what to do."""


class SurfaceFile(NamedTuple):
    """Triangles of a file.

    Parameters
    ----------
    points : (V, 3) float64
        Positions in the unit of the file [any unit], along the axes of the file.
    faces : (F, 3) int64
        Triangles in the order of the file; larger polygons are split into triangles.
    unit : str or None
        Unit that the file states, one of `UNITS`; None for a format without units.
    unit_is_sure : bool
        Whether the unit belongs to the geometry, as in a CAD file, so that no other unit applies.
    remarks : tuple of str
        Clauses on what the file contains besides triangles.
    """

    points: FloatArray
    faces: IntArray
    unit: str | None = None
    unit_is_sure: bool = False
    remarks: tuple[str, ...] = ()


def left_out(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the remark on elements that are no polygons, by name in the singular; () without."""
    found = [
        counted(number, name, "vertices" if name == "vertex" else f"{name}s")
        for name, number in counts.items()
        if number
    ]
    verb = "is" if sum(counts.values()) == 1 else "are"
    return (f"{' and '.join(found)} {verb} left out: only polygons are read",) if found else ()


def trailing(size: int) -> tuple[str, ...]:
    """Return the remark on bytes after the data; () without."""
    if size == 0:
        return ()
    verb = "is" if size == 1 else "are"
    return (f"{counted(size, 'byte')} after the data {verb} ignored",)
