"""Messages from inside in the words of what the user wrote: keys, columns, millimetres."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from foundation.base.errors import InputError

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
#: A length in metres, and the number found at the end of a message about lengths.
_METRES = re.compile(rf"(?:({_NUMBER}) to )?({_NUMBER}) m(?![\w²³/·])")
_FOUND = re.compile(rf"(found )({_NUMBER})(?=$|;)")


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a text in which whole names are replaced, by the mapping of old to new names."""
    if not names:
        return text
    # The longest first: one name may begin another.
    known = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(rf"(?<![\w.])(?:{known})(?!\w)", lambda match: names[match[0]], text)


def in_millimetres(text: str) -> str:
    """Return a message with its lengths in mm in place of m."""

    def scaled(number: str) -> str:
        return f"{1e3 * float(number):.6g}"

    if not _METRES.search(text):
        return text
    text = _METRES.sub(
        lambda match: f"{f'{scaled(match[1])} to ' if match[1] else ''}{scaled(match[2])} mm", text
    )
    return _FOUND.sub(lambda match: f"{match[1]}{scaled(match[2])} mm", text)


@contextmanager
def in_words_of(names: Mapping[str, str]) -> Iterator[None]:
    """Name keys of the configuration in what is wrong with the values that they gave.

    `names` maps a name inside to the dotted key of the configuration.

    Raises
    ------
    InputError
        In place of a ValueError that is raised within and contains such a name.
    """
    try:
        yield
    except ValueError as error:
        told = renamed(str(error), names)
        if told == str(error):
            raise
        raise InputError(in_millimetres(told)) from error
