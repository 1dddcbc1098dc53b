"""The knee simulator without numba, where arrays know their ends."""

import os
import subprocess
import sys
from pathlib import Path

import manufactured
import numpy as np
import pytest
from numpy.testing import assert_allclose
from short_cycle import simulated

import surrogates
from foundation.base.compiling import COMPILED

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="compares compiled code with Python's")
def test_the_same_cycle_without_numba(tmp_path):
    """A compiled kernel that reads beyond an array depends on what the memory holds."""
    knee = manufactured.knee()
    surrogates.save(knee, tmp_path / "knee.npz")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    command = [sys.executable, "-m", "short_cycle", "knee.npz", "found.npz"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    compiled = simulated(knee)
    with np.load(tmp_path / "found.npz") as plain:
        for name in plain.files:
            wanted = getattr(compiled, name)
            assert_allclose(plain[name], wanted, rtol=1e-7, atol=1e-9 * np.nanmax(np.abs(wanted)))
