"""What a reader of surface files returns, and words about what a reader leaves out."""

from __future__ import annotations

import codecs
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
    """Triangles of a file."""

    #: Positions in the unit of the file [any unit], along the axes of the file (V, 3).
    points: FloatArray
    #: Triangles in the order of the file (F, 3); larger polygons are split into triangles.
    faces: IntArray
    #: Unit that the file states, one of `UNITS`; None for a format without units.
    unit: str | None = None
    #: Whether the unit belongs to the geometry, as in a CAD file, so that no other unit applies.
    unit_is_sure: bool = False
    #: Clauses on what the file contains besides triangles.
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


#: Byte-order marks and their encodings; that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
#: Number of bytes by which UTF-16 without a mark is recognized.
_START = 40


def plain_text(content: bytes) -> bytes:
    r"""Return a text in UTF-8 without byte-order mark and padding, its lines ended by \n."""
    mark, encoding = next(
        (m for m in _MARKS if content.startswith(m[0])), (b"", _unmarked(content))
    )
    content = content[len(mark) :]
    if encoding != "utf-8":
        try:
            content = content.decode(encoding).encode()
        except UnicodeDecodeError as error:
            raise InputError(f"the text in {encoding.upper()} is cut off or damaged") from error
    # DOS ended texts by Ctrl-Z; zeros are padding.
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").rstrip(b"\x1a\0")


def _unmarked(content: bytes) -> str:
    """Return the encoding of a text without byte-order mark: each Latin letter has a zero byte."""
    first, second = content[0:_START:2], content[1:_START:2]
    if not second:
        return "utf-8"
    if not any(second) and all(first):
        return "utf-16-le"
    return "utf-16-be" if not any(first) and all(second) else "utf-8"
