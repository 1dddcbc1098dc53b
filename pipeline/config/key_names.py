"""Errors about arguments, told as errors about the keys of a configuration that give them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from foundation.base.errors import InputError


@contextmanager
def naming_keys(keys: Mapping[str, str]) -> Iterator[None]:
    """Name keys of the configuration in errors about the arguments that the keys give.

    `keys` maps the name of an argument to the dotted key; the bounds of a key in mm are in mm.
    Raises `InputError` in place of the error about such an argument.
    """
    try:
        yield
    except InputError as error:
        if error.name not in keys:
            raise
        raise error.under(keys[error.name]) from error
