"""OpenSim's Python package, imported where it is needed."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from foundation.base.errors import InputError


@cache
def opensim() -> Any:
    """Return the module `opensim`, which writes no log file; an error tells how to install it."""
    try:
        module = importlib.import_module("opensim")
    except ImportError as error:
        if "casadi" in sys.modules:
            raise InputError(
                "opensim: expected a process without CasADi, found CasADi imported, but OpenSim "
                "has another version of CasADi; use OpenSim in a separate process, or replay a "
                "recorded plant"
            ) from error
        if not (isinstance(error, ModuleNotFoundError) and error.name == "opensim"):
            raise InputError(
                f"opensim: expected a package that Python imports, found an error: {error}; "
                'install OpenSim again with pip install --force-reinstall "knee-contact[opensim]", '
                "or replay a recorded plant"
            ) from error
        raise InputError(
            "models in .osim files need OpenSim, which is not installed: install OpenSim with pip "
            'install "knee-contact[opensim]", or replay a recorded plant'
        ) from error
    module.Logger.removeFileSink()
    module.Logger.setLevelString("Error")
    return module


@contextmanager
def without_output() -> Iterator[None]:
    """Keep what OpenSim's tools write past Python and past its log from the standard output."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
