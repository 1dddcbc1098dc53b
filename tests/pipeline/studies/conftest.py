"""OpenSim-JAM's example of a walk, simulated once; a process without OpenSim."""

import sys

import pytest
from jam_walks import AS_JAM, JAM_WALK

from dynamics.musculoskeletal.opensim_system import opensim as wheel
from pipeline.cli.main import main


@pytest.fixture(scope="session")
def jam_walk(jam_folder, opensim, tmp_path_factory):
    """Return the folder of the first frames of the example; not to be written to."""
    folder = tmp_path_factory.mktemp("walk") / "out"
    changes = [f"--set={key}" for key in (*AS_JAM, "comak.stop_s=1.24")]
    assert main(["run", str(JAM_WALK), *changes, "--out", str(folder), "--quiet"]) == 0
    return folder


@pytest.fixture
def no_opensim(monkeypatch):
    """Let the import of OpenSim fail."""
    monkeypatch.setitem(sys.modules, "opensim", None)
    wheel.cache_clear()
    yield
    wheel.cache_clear()
