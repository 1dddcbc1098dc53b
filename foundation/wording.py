"""Words of messages that depend on a number."""

from __future__ import annotations


def counted(count: int, thing: str, things: str | None = None) -> str:
    """Return a count with the word that it counts, in the singular for 1: "1 hole", "2 holes".

    Parameters
    ----------
    count : int
        How many.
    thing : str
        The word for one.
    things : str, optional
        The word for several; by default the first with an s.
    """
    return f"{count} {thing if count == 1 else things or thing + 's'}"
