"""The example that prints the keys of `[space.motion]` of a walk."""

import runpy
import sys
import tomllib

import numpy as np
import pytest
from jam_walks import JAM_WALK
from studies import ROOT

TIMES = ("comak.start_s=1.30", "comak.stop_s=1.34")


@pytest.mark.slow
def test_keys_are_poses_of_each_contact(opensim, jam_folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["space_motion.py", str(JAM_WALK), *TIMES])
    runpy.run_path(str(ROOT / "examples" / "space_motion.py"))
    parts = capsys.readouterr().out.split("# ")[1:]
    assert [part.split("\n")[0] for part in parts] == ["tf_contact", "pf_contact"]
    keys = tomllib.loads(parts[0].split("\n", 1)[1])["space"]["motion"]
    assert {len(values) for values in keys.values()} == {2}  # the first and the last of five
    assert np.all(np.abs(keys["flexion_deg"]) < 30.0)  # stance
    assert np.all(np.abs(keys["anterior_mm"] + keys["lateral_mm"]) < 20.0)
