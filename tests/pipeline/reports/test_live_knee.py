"""The surrogate and the simulator that a page computes, in Node, against those of Python."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from studies import ROOT

import pipeline
from dynamics.simulator.variation import VariedContact
from foundation.base.pose import Pose
from foundation.core import building
from pipeline.reports.live_knee import live_data

#: Of the loads of a Kriging surrogate, whose exponentials are those of another C library.
CLOSE = 1e-10
SCRIPT = """
const data = JSON.parse(require("fs").readFileSync(0));
const source = require("fs").readFileSync(data.source, "utf8");
(async () => {
  const knee = await new Function(`${source}; return liveKnee;`)()(data.knee);
  const answers = data.poses.map((pose) => {
    const found = knee.loads(pose);
    return {
      loads: found.loads.flatMap((own) => Array.from(own)), total: Array.from(found.total),
      flags: data.knee.compartments.flatMap((_, k) => knee.flags(found, k).map(({ kind }) => kind)),
    };
  });
  const cycles = data.cycles.map((change) => {
    const { poses, loads, ended } = knee.cycle(change);
    return ended ? { ended } : { poses: Array.from(poses), loads: Array.from(loads) };
  });
  const carrying = data.loads.map((load) => Array.from(knee.carrying(data.knee.begin, load)));
  console.log(JSON.stringify({ answers, cycles, carrying }));
})();
"""


@pytest.fixture(scope="module")
def run(tiny_run):
    return pipeline.open_run(tiny_run)


def in_node(run, poses=(), cycles=(), loads=()):
    """Return what the page computes."""
    if shutil.which("node") is None:
        pytest.skip("needs the system program node")
    source = ROOT / "pipeline/reports/templates/live_core.js"
    given = {
        "knee": live_data(run.surrogate, run.gait), "source": str(source), "cycles": cycles,
        "poses": np.asarray(poses).tolist(), "loads": loads,
    }  # fmt: skip
    done = subprocess.run(
        ["node", "-e", SCRIPT], input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def numbers(rows, shape):
    """Return numbers of JSON, where null is NaN."""
    return np.array(rows, dtype=np.float64).reshape(shape)


def test_library_is_built_from_the_sources():
    content = gzip.decompress(building.PAGE_LIBRARY.read_bytes())
    assert content.endswith(b"sources" + building.page_digest()), "run `make wasm`"


def test_loads_derivatives_and_flags_are_those_of_python(run):
    knee, space = run.surrogate, run.surrogate.spaces[0]
    rng = np.random.default_rng(4)
    poses, _ = space.draw(rng.random((1000, 6)))
    poses[:, 4] += rng.uniform(-0.4e-3, 0.3e-3, len(poses))
    poses[::5, rng.integers(0, 4)] += rng.choice([-0.3, 0.3], 200)
    found = in_node(run, poses)["answers"]
    expected = knee.loads(poses, order=1)
    assert sum(bool(flags) for flags in expected.flags) >= 200
    for rows, values in (("loads", expected.values), ("total", expected.total_jacobian)):
        ours = numbers([answer[rows] for answer in found], values.shape)
        scale = np.nanmax(np.abs(values), axis=0)
        np.testing.assert_allclose(ours / scale, values / scale, rtol=0, atol=CLOSE, equal_nan=True)
    for answer, flags in zip(found, expected.flags, strict=True):
        box = [flag.kind.value for flag in flags]
        learnt = [kind for kind in box if kind in _KNOWN]
        assert [kind for kind in answer["flags"] if kind in _KNOWN] == learnt
        assert len(answer["flags"]) == len(box)


_KNOWN = {f"outside_{name}" for name in ("flexion", "adduction", "rotation", "anterior")}
_KNOWN |= {f"outside_{name}" for name in ("superior", "lateral", "load")}


def test_cycles_are_those_of_the_simulator(run):
    """The nominal cycle, and one with other loads, restraints and placement."""
    offset, gait = np.array([0.0, 0.0, 0.03, 1e-3, 0.0, 0.0]), run.gait
    factors, restraints = {"axial": 1.2, "ap": 0.5}, {"2": 2.0}
    change = {"factors": factors, "alignment": offset.tolist(), "restraints": restraints}
    nominal, changed = in_node(run, cycles=[{}, change])["cycles"]
    stiffer = replace(gait.simulator, rotation_stiffness=2.0 * gait.simulator.rotation_stiffness)
    other = replace(
        gait, simulator=stiffer, cycle=gait.cycle.scaled(axial=1.2, ap=0.5),
        start=Pose.from_array(gait.start.array - offset),
    )  # fmt: skip
    results = gait(run.surrogate), other(VariedContact(run.surrogate, offset, 1.0))
    for found, expected in zip((nominal, changed), results, strict=True):
        poses = numbers(found["poses"], expected.poses.shape)
        # The steps are chosen by errors of the size of the tolerance, 1e-2 in this run.
        size = np.ptp(expected.poses, axis=0)
        np.testing.assert_allclose(poses / size, expected.poses / size, rtol=0, atol=1e-5)
        loads = numbers(found["loads"], (len(poses), 2, 12))
        parts = np.moveaxis(expected.compartment_loads, 0, 1)
        scale = np.nanmax(np.abs(parts), axis=(0, 1))
        np.testing.assert_allclose(loads / scale, parts / scale, rtol=0, atol=1e-4, equal_nan=True)


def test_height_follows_the_load_and_no_load_is_refused_in_vain(run):
    found = in_node(run, loads=[10.0, 800.0, 2500.0])["carrying"]
    for pose, load in zip(found, (10.0, 800.0, 2500.0), strict=True):
        assert run.surrogate.loads(np.array(pose)).force[1] == pytest.approx(load, rel=1e-7)


def test_a_cycle_that_ends_early_says_why(run):
    (found,) = in_node(run, cycles=[{"factors": {"ap": 200.0}, "restraints": {"3": 1e-3}}])[
        "cycles"
    ]
    assert found["ended"].startswith(("the knee dislocated", "no equilibrium", "the integrator"))


def test_a_pair_without_two_compartments_has_no_such_section(run):
    one = replace(run.surrogate, by_name={"patella": run.surrogate.parts[0]})
    assert live_data(one, run.gait) is None
