"""Wear of a run's insert over many cycles: `knee-contact wear`."""

import json
import re

import numpy as np
from numpy.testing import assert_allclose

from pipeline.cli.main import main


def test_worn_insert_of_a_run(run_copy, capsys):
    """Two blocks: the first is the cycle's own wear times its cycles, the second begins there."""
    assert main(["wear", str(run_copy), "--cycles", "2e6", "--blocks", "2", "--quiet"]) == 0
    rows = json.loads((run_copy / "worn.json").read_text(encoding="utf-8"))["blocks"]
    with np.load(run_copy / "wear.npz") as one, np.load(run_copy / "worn.npz") as all_of_them:
        first, depth = one["volume_m3"][0], all_of_them["depth_m"]
        volume, cycles = all_of_them["volume_m3"], all_of_them["cycles"]
        corners = all_of_them["vertices_m"][all_of_them["faces"]]
    assert cycles.tolist() == [0.0, 1e6, 2e6]
    assert_allclose(volume[1], 1e6 * first, rtol=1e-9)
    # A worn surface conforms better: the wear changes, but not by much.
    step = volume[2] - volume[1]
    assert (np.abs(step / volume[1] - 1.0) < 0.2).all()
    assert (step != volume[1]).all()
    sides = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = 0.5 * np.linalg.norm(sides, axis=1)
    assert_allclose(areas @ depth, volume[2].sum(), rtol=5e-3)
    last = rows[-1]
    assert_allclose(last["total_mm3"], 1e9 * volume[2].sum(), rtol=1e-12)
    assert_allclose(last["mass_mg"], 0.94 * last["total_mm3"], rtol=1e-12)
    assert_allclose(last["largest_depth_mm"], 1e3 * depth.max(), rtol=1e-12)
    assert f"| {2e6:.4g} |" in capsys.readouterr().out


def test_wear_beyond_the_insert_is_refused(run_copy, capsys):
    assert main(["wear", str(run_copy), "--quiet", "--cycles", "1e12", "--blocks", "1"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert re.search("block 1 of 1, .*take more blocks or fewer cycles", error)
