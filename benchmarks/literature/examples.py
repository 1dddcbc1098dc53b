"""Examples of `examples/mechanics`, which have the data of the documents."""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).resolve().parents[2] / "examples" / "mechanics"


@cache
def mechanics_example(name: str) -> dict[str, Any]:
    """Return what an example of `examples/mechanics` defines."""
    return runpy.run_path(str(_FOLDER / f"{name}.py"))
