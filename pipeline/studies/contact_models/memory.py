"""Memory of the arrays that a contact model holds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import MethodType
from typing import Any

import numpy as np


def held_bytes(model: object) -> int:
    """Return the bytes of all arrays that a model holds, each array counted once.

    Memory maps count like other arrays: after use, they are in memory. The arrays are found through
    attributes, containers, bound methods and partial functions.
    """
    sizes: dict[int, int] = {}
    seen: set[int] = set()
    waiting: list[object] = [model]
    kept: list[object] = []  # an id may be used again after its object is gone
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        kept.append(found)
        if isinstance(found, np.ndarray):
            owner = _owner(found)
            sizes[id(owner)] = owner.nbytes
        else:
            waiting.extend(_parts(found))
    return sum(sizes.values())


def _owner(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array whose memory an array is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _parts(found: object) -> Iterator[object]:
    """Yield what an object holds."""
    if isinstance(found, dict):
        yield from found.values()
    elif isinstance(found, list | tuple | set | frozenset):
        yield from found
    elif isinstance(found, partial):
        yield from (found.func, *found.args, *found.keywords.values())
    elif isinstance(found, MethodType):
        yield found.__self__
    elif not isinstance(found, type):
        yield from getattr(found, "__dict__", {}).values()
