"""Words that depend on a number."""

from __future__ import annotations


def counted(count: int, thing: str, things: str | None = None) -> str:
    """Return a count with its noun: "1 hole", "2 holes"; `things` is an irregular plural."""
    return f"{count} {thing if count == 1 else things or thing + 's'}"
