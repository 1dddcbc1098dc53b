"""Former paths of modules and former names in modules, with a deprecation warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _MovedModules(MetaPathFinder, Loader):
    """Finds a module by its former path."""

    def __init__(self) -> None:
        self.paths: dict[str, str] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of a moved module, or None for any other module."""
        del path, target
        # As an empty package: the finder is asked for modules below the path too.
        return ModuleSpec(fullname, self, is_package=True) if fullname in self.paths else None

    def exec_module(self, module: ModuleType) -> None:
        """Fill the module with the names of the module at the new path."""
        present = self.paths[module.__name__]
        warnings.warn(
            f"{module.__name__} has moved to {present}; change the import. The former path will "
            "be removed in the next minor version.",
            DeprecationWarning,
            stacklevel=2,
        )
        content = vars(import_module(present))
        # `__getattr__` answers to former names of the module.
        kept = {k: v for k, v in content.items() if k == "__getattr__" or not k.startswith("__")}
        vars(module).update(kept)


_FINDER = _MovedModules()


def redirect(paths: Mapping[str, str]) -> None:
    """Make modules importable by their former paths: former path of each module -> new path."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)
    _FINDER.paths.update(paths)


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module that answers to former names: former -> present name."""

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warnings.warn(
            f"{module}.{name} is now {module}.{names[name]}; the former name will be removed in "
            "the next minor version",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(sys.modules[module], names[name])

    return get
