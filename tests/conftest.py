"""Fixtures and settings of the whole suite."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

# The first example of a property may compile a kernel, which no deadline could allow for; and a
# submission must not fail by the luck of the draw, so there the examples are the same every time.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def knee_data() -> Path:
    """Return the folder of the third-party meshes and references; skip where there is none."""
    folder = Path(os.environ.get("KNEE_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no data folder {folder}: set KNEE_DATA to where the knee meshes are")
    return folder
