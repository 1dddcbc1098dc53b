"""Data of OpenSim-JAM's walking example, and the stock OpenSim package."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def jam_folder(knee_data: Path) -> Path:
    """Return the folder of OpenSim-JAM's walking example; skip where there is none."""
    folder = knee_data / "jam_comak_walking"
    if not folder.is_dir():
        pytest.skip(f"no folder {folder}: the tests need OpenSim-JAM's walking example")
    return folder


@pytest.fixture(scope="session")
def opensim():
    """Return the module `opensim`; skip where it is not installed."""
    return pytest.importorskip("opensim", reason="OpenSim is not installed: pip install opensim")
