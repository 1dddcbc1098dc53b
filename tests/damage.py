"""Damaged files for the readers: what copying, editing and exporting do to a valid file."""

from datetime import timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

#: Cells and words that a table or a text format may meet in place of another.
ODD_WORDS = (
    "", " ", "nan", "inf", "-1", "0", "1e999", "1e-320", "0x10", "1_0", "١٢", "−3", "1,5", "yes",
    "#", "\t", ",", ";", '"', "[", "=", "\x00", "\x85", "\u2028", "time", "end", "9" * 400,
)  # fmt: skip

#: The folder of a test is one for all its examples, which overwrite the same file; a reader that
#: takes longer than this for a small file is as good as hanging.
reading = settings(
    max_examples=60,
    deadline=timedelta(seconds=20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@st.composite
def damaged(draw, content):
    """Draw a valid file with one to three parts overwritten, cut out, repeated or put in."""
    for _ in range(draw(st.integers(1, 3))):
        size = len(content)
        start = draw(st.integers(0, size))
        stop = min(size, start + draw(st.sampled_from([0, 1, 4, 40, size])))
        middle = draw(
            st.one_of(
                st.binary(max_size=8),
                st.sampled_from(ODD_WORDS).map(str.encode),
                st.just(2 * content[start:stop]),
            )
        )
        content = content[:start] + middle + content[stop:]
    return content


@st.composite
def edited(draw, content, separators):
    """Draw a valid text file with one to three of its cells replaced by odd ones."""
    lines = content.decode().split("\n")
    for _ in range(draw(st.integers(1, 3))):
        number = draw(st.integers(0, len(lines) - 1))
        found = [mark for mark in separators if mark in lines[number]]
        cells = lines[number].split(found[0]) if found else [lines[number]]
        cells[draw(st.integers(0, len(cells) - 1))] = draw(st.sampled_from(ODD_WORDS))
        lines[number] = (found[0] if found else "").join(cells)
    return "\n".join(lines).encode()


def files(content, separators=""):
    """Return arbitrary and damaged files, of a text format edited ones as well."""
    text = [edited(content, separators)] * 2 if separators else []
    return st.one_of(st.binary(max_size=200), damaged(content), *text)


def read_or_refuse(read, path, content, *documented):
    """Return what a reader makes of a file, or None if it refuses it as documented.

    A refusal is one sentence or a few, and names the file.
    """
    path.write_bytes(content)
    try:
        return read(path)
    except documented as error:
        message = str(error)
    assert str(path) in message
    return None
