"""The process that compiles kernels beside a run."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from foundation.base.pose import Pose
from pipeline.config.simulation_schema import SimulationConfig
from pipeline.execution import compilation
from pipeline.simulation import gait_simulator, simulate_gait
from pipeline.stages import kernels

SLEEPING = [sys.executable, "-c", "import time; time.sleep(100)"]


@pytest.fixture
def started(monkeypatch):
    """The processes that are started."""
    found = []

    class Recorded(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            found.append(self)

    monkeypatch.setattr(compilation.subprocess, "Popen", Recorded)
    monkeypatch.setattr(compilation, "is_compiled", lambda: False)
    monkeypatch.setattr(compilation, "COMMAND", SLEEPING)
    return found


def test_it_ends_with_the_run(started):
    with compilation.compiling_beside(2):
        (process,) = started
        assert process.poll() is None
    assert process.poll() is not None


def test_one_may_wait_for_it(started, monkeypatch):
    monkeypatch.setattr(
        compilation, "COMMAND", [sys.executable, "-c", "import time; time.sleep(1)"]
    )
    with compilation.compiling_beside(2) as wait:
        wait()
        assert started[0].poll() == 0
        wait()


@pytest.mark.parametrize(("workers", "compiled"), [(1, False), (2, True)])
def test_none_is_started_where_it_does_not_help(started, monkeypatch, workers, compiled):
    monkeypatch.setattr(compilation, "is_compiled", lambda: compiled)
    with compilation.compiling_beside(workers) as wait:
        wait()
    assert started == []


def test_the_cache_tells_whether_allis_compiled(monkeypatch, tmp_path):
    told = compilation.rates_of_all.stats._replace(cache_path=str(tmp_path))
    monkeypatch.setattr(compilation, "rates_of_all", _Kernel(told))
    assert not compilation.is_compiled()
    (tmp_path / "knee.rates_of_all-130.py311.nbi").touch()
    assert compilation.is_compiled()


class _Kernel:
    __name__ = "rates_of_all"

    def __init__(self, stats):
        self.stats = stats


@pytest.mark.slow
def test_the_made_up_knee_bears_and_walks():
    knee, path = kernels.small_knee()
    start = Pose.from_array(path.poses(np.zeros(1))[0])
    lower = Pose.from_array(start.array - 2e-4 * np.eye(6)[4])
    assert knee.loads(lower).medial.array[1] == pytest.approx(2e10 * 4e-8, rel=0.05)
    config = SimulationConfig()
    result = simulate_gait(knee, gait_simulator(config, path), config, start)
    axial = result.loads[:, 1]
    assert 2000.0 < axial.max() < 3500.0
    assert np.isfinite(result.poses).all()
