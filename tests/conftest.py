"""Fixtures and settings of the whole suite."""

import gc
import os
import runpy
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
DATA_FIXTURES = {"knee_data", "jam_folder"}

# An example may take long on a busy machine; and a submission must not fail by the luck of the
# draw, so there the examples are the same every time.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_configure(config):
    """Compile the library of the surrogates if a source is newer."""
    if not hasattr(config, "workerinput"):
        runpy.run_path(str(ROOT / "foundation" / "core" / "building.py"))["build_if_stale"]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish():
    """Leave modules out of collections."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def data_folder():
    """Return the folder of the third-party meshes and references, which may be missing.

    `$KNEE_DATA` names that folder while the tests run: configurations and programs that a test
    starts read the same files, whatever their working directory is.
    """
    folder = Path(os.environ.get("KNEE_DATA") or ROOT.parent / "shared" / "data").resolve()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KNEE_DATA", str(folder))
        yield folder


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark every test that takes a folder of the data as `data`."""
    for item in items:
        if DATA_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("data")


@pytest.fixture(scope="session")
def knee_data(data_folder):
    """Return the folder of the third-party meshes and references; skip where there is none."""
    if not data_folder.is_dir():
        pytest.skip(f"no data folder {data_folder}: set KNEE_DATA to where the knee meshes are")
    return data_folder


@pytest.fixture(scope="session")
def jam_folder(knee_data):
    """Return the folder of OpenSim-JAM's walking example; skip where there is none."""
    folder = knee_data / "jam_comak_walking"
    if not folder.is_dir():
        pytest.skip(f"no folder {folder}: the tests need OpenSim-JAM's walking example")
    return folder


@pytest.fixture(scope="session")
def opensim():
    """Return the module `opensim`; skip where it is not installed, or beside CasADi."""
    if "casadi" in sys.modules:
        pytest.skip("CasADi is loaded in this process, and OpenSim has one of its own: make test")
    return pytest.importorskip("opensim", reason="OpenSim is not installed: pip install opensim")
