"""Fixtures and settings of the whole suite."""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
#: Number of tests from which on most kernels are needed.
MANY = 1000

# The first example of a property may compile a kernel, which no deadline could allow for; and a
# submission must not fail by the luck of the draw, so there the examples are the same every time.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_collection_finish() -> None:
    """Keep the garbage collector from passing through all modules and tests again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Share the compilation of kernels between the processes of a run of many tests."""
    process = os.environ.get("PYTEST_XDIST_WORKER", "")
    if len(session.items) > MANY and process:
        from warm_kernels import warm

        warm(process, os.environ["PYTEST_XDIST_TESTRUNUID"])


@pytest.fixture(scope="session", autouse=True)
def data_folder() -> Iterator[Path]:
    """Return the folder of the third-party meshes and references, which may be missing.

    `$KNEE_DATA` names that folder while the tests run: configurations and programs that a test
    starts read the same files, whatever their working directory is.
    """
    folder = Path(os.environ.get("KNEE_DATA") or ROOT.parent / "shared" / "data").resolve()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KNEE_DATA", str(folder))
        yield folder


@pytest.fixture(scope="session")
def knee_data(data_folder: Path) -> Path:
    """Return the folder of the third-party meshes and references; skip where there is none."""
    if not data_folder.is_dir():
        pytest.skip(f"no data folder {data_folder}: set KNEE_DATA to where the knee meshes are")
    return data_folder


@pytest.fixture(scope="session")
def jam_folder(knee_data: Path) -> Path:
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
