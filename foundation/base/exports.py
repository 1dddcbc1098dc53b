"""Names of a package that are imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package, which takes each name from its module."""

    def named(name: str) -> Any:
        if name not in homes:
            known = ", ".join(sorted(homes))
            raise AttributeError(f"module {package!r} has no attribute {name!r}, but has {known}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return named
