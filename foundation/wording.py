"""Words that depend on a number."""

from __future__ import annotations


def counted(count: int, thing: str, things: str | None = None) -> str:
    """Return a count with its noun: "1 hole", "2 holes".

    Parameters
    ----------
    count : int
        Number of things.
    thing : str
        Noun in the singular.
    things : str, optional
        Noun in the plural; by default the singular with an s.
    """
    return f"{count} {thing if count == 1 else things or thing + 's'}"
