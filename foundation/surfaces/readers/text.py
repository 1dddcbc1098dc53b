"""Text of surface files: encodings and ends of lines."""

from __future__ import annotations

import codecs

from foundation.base.errors import InputError

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
    r"""Return a text in UTF-8 without byte-order mark and padding, its lines ended by \n.

    Raises
    ------
    InputError
        If a text in UTF-16 or UTF-32 is cut off or damaged.
    """
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
