"""OpenSim's Python package, imported where it is needed."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from foundation.errors import InputError


@cache
def opensim() -> Any:
    """Return the module `opensim`, which writes no log file.

    Raises
    ------
    InputError
        If the package is not installed.
    """
    try:
        module = importlib.import_module("opensim")
    except ImportError as error:
        raise InputError(
            "OpenSim is not installed, which models in .osim files need: install it with "
            'pip install "knee-contact[opensim]", or replay a recorded plant'
        ) from error
    module.Logger.removeFileSink()
    module.Logger.setLevelString("Error")
    return module
