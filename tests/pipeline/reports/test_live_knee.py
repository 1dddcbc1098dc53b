"""The surrogate and the simulator that a page computes, in Node, against those of Python."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from rounding import rounding
from studies import ROOT

import pipeline
import surrogates
from dynamics import surrogate_wear
from dynamics.simulator.variation import VariedContact
from foundation.base.pose import Pose
from foundation.core import building
from pipeline.config.reading import load_config
from pipeline.design_space.errors import ERRORS, errors_for_page, expected_errors
from pipeline.reports.live_knee import _VARIABLES, live_section
from pipeline.simulation import GaitSimulation

#: Kinds of flags of the box by the words of the page.
VARIABLES = dict(
    zip(
        ("flexion", "adduction", "rotation", "anterior", "lateral", "load"),
        _VARIABLES,
        strict=False,
    )
) | {"superior": _VARIABLES[5]}
SCRIPT = """
const data = JSON.parse(require("fs").readFileSync(0));
const source = require("fs").readFileSync(data.source, "utf8");
(async () => {
  const knee = await new Function(`${source}; return liveKnee;`)()(data.knee);
  if (data.design) knee.design(data.design);
  const answers = data.poses.map((pose) => {
    const found = knee.loads(pose);
    return {
      loads: found.loads.flatMap((own) => Array.from(own)), total: Array.from(found.total),
      flags: data.knee.compartments.flatMap((_, k) => knee.flags(found, k)),
    };
  });
  const cycles = data.cycles.map((change) => {
    const { poses, loads, sliding, ended } = knee.cycle(change);
    return ended ? { ended } : { poses: Array.from(poses), loads: Array.from(loads), sliding };
  });
  const carrying = data.loads.map((load) => Array.from(knee.carrying(data.knee.begin, load)));
  console.log(JSON.stringify({ answers, cycles, carrying, errors: knee.errors() }));
})();
"""


@pytest.fixture(scope="module")
def run(tiny_run):
    return pipeline.open_run(tiny_run)


@pytest.fixture(scope="module")
def section(run):
    return live_section(run.surrogate, lambda _: run.gait)


def in_node(section, poses=(), cycles=(), loads=(), design=None):
    """Return what a page with a section computes."""
    if shutil.which("node") is None:
        pytest.skip("needs the system program node")
    source = ROOT / "pipeline/reports/templates/live_core.js"
    given = {
        "knee": section["data"], "source": str(source), "cycles": cycles,
        "poses": np.asarray(poses).tolist(), "loads": loads, "design": design,
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


def moved(knee):
    """Return poses (1000, 6) [rad, m] about those that a knee was trained at, a fifth far off."""
    rng = np.random.default_rng(4)
    poses, _ = knee.spaces[0].draw(rng.random((1000, 6)))
    poses[:, 4] += rng.uniform(-0.4e-3, 0.3e-3, len(poses))
    poses[::5, rng.integers(0, 4)] += rng.choice([-0.3, 0.3], 200)
    return poses


def assert_answers(found, expected, close):
    """Compare loads, derivatives and flags with those of Python, over the largest."""
    assert sum(bool(flags) for flags in expected.flags) >= 200
    for rows, values in (("loads", expected.values), ("total", expected.total_jacobian)):
        ours = numbers([answer[rows] for answer in found], values.shape)
        scale = np.nanmax(np.abs(values), axis=0)
        np.testing.assert_allclose(ours / scale, values / scale, rtol=0, atol=close, equal_nan=True)
    for answer, flags in zip(found, expected.flags, strict=True):
        kinds = [flag.kind.removeprefix("outside_") for flag in flags]
        assert answer["flags"] == [VARIABLES.get(kind, _VARIABLES[-1]) for kind in kinds]


def test_loads_derivatives_and_flags_are_those_of_python(run, section):
    poses = moved(run.surrogate)
    found = in_node(section, poses)["answers"]
    # Page and library sum in one order, but the library fuses products with sums.
    close = max(1e-12, rounding(*run.surrogate.parts))
    assert_answers(found, run.surrogate.loads(poses, order=1), close)


def test_a_design_is_that_of_python(tiny_designs):
    """Loads, expected errors and the gait cycle of a design that the page is moved to."""
    knee, config = (
        surrogates.load(tiny_designs / "knee.npz"),
        load_config(tiny_designs / "config.toml"),
    )
    design = dict(zip(knee.parameters.names, [66.0, 610.0], strict=True))
    single, values = knee.at(design), list(design.values())
    section = live_section(
        knee, lambda own: GaitSimulation.of(config.simulation, own.spaces[0].path),
        expected=errors_for_page(knee),
    )  # fmt: skip
    poses = moved(single)
    # The last one begins far from its equilibrium.
    cycles = [{"parameters": own} for own in (values, [60.5, 790.0])]
    found = in_node(section, poses, design=values, cycles=cycles)
    assert "ended" not in found["cycles"][1]
    assert_answers(found["answers"], single.loads(poses, order=1), 1e-12)
    names = {kind.words: name for name, kind in ERRORS.items()}
    told = {names[row["words"]]: row["value"] for row in found["errors"]}
    assert told == pytest.approx(expected_errors(knee, design), rel=1e-9)
    result = GaitSimulation.of(config.simulation, knee.path_of(design))(single)
    size = np.ptp(result.poses, axis=0)
    cycle = numbers(found["cycles"][0]["poses"], result.poses.shape)
    np.testing.assert_allclose(cycle / size, result.poses / size, rtol=0, atol=1e-3)


def test_cycles_are_those_of_the_simulator(run, section):
    """The nominal cycle, and one with other loads, restraints and placement."""
    offset, gait = np.array([0.0, 0.0, 0.03, 1e-3, 0.0, 0.0]), run.gait
    factors, restraints = {"axial": 1.2, "ap": 0.5}, {"2": 2.0}
    change = {"factors": factors, "alignment": offset.tolist(), "restraints": restraints}
    nominal, changed = in_node(section, cycles=[{}, change])["cycles"]
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
    # The field of a compartment slides as its centre, but for rotation; 21 instants are few.
    at = replace(results[1], poses=results[1].poses + offset)
    before, after = (surrogate_wear(own, gait.wear_law).volume for own in (results[0], at))
    worn = np.array(changed["sliding"]) / nominal["sliding"]
    np.testing.assert_allclose(worn, after / before, rtol=0.03)


def test_height_follows_the_load_and_no_load_is_refused_in_vain(run, section):
    found = in_node(section, loads=[10.0, 800.0, 2500.0])["carrying"]
    for pose, load in zip(found, (10.0, 800.0, 2500.0), strict=True):
        assert run.surrogate.loads(np.array(pose)).force[1] == pytest.approx(load, rel=1e-7)


def test_a_cycle_that_ends_early_says_why(run, section):
    (found,) = in_node(section, cycles=[{"factors": {"ap": 200.0}, "restraints": {"3": 1e-3}}])[
        "cycles"
    ]
    assert found["ended"].startswith(("the knee dislocated", "no equilibrium", "the integrator"))


def test_a_pair_without_two_compartments_has_no_such_section(run):
    one = replace(run.surrogate, by_name={"patella": run.surrogate.parts[0]})
    assert live_section(one, lambda _: run.gait) is None
