"""Rounds of stages c to f: how many samples, which ones, when they end; bounds from gait."""

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS, ContactLoads
from pipeline.config.reading import load_config
from pipeline.config.schema import (
    Config,
    DesignConfig,
    FeasibilityConfig,
    KrigingConfig,
    PolynomialConfig,
    SurrogateConfig,
)
from pipeline.execution import IN_THIS_PROCESS
from pipeline.originals.candidates import choose_samples
from pipeline.progress import StageCounter
from pipeline.simulation import gait_cycle
from pipeline.stages import adaptive_sampling, fitting
from pipeline.stages.adaptive_sampling import (
    candidates_along_gait,
    learning_point,
    round_sizes,
    sample_knee,
)
from pipeline.stages.fitting import fit_surrogates, with_gait_bounds
from pipeline.store.sample_store import Evaluation
from pipeline.store.samples import POSE_COLUMNS, poses_of
from surrogates.files.persistence import load

FIRST, CANDIDATES = 40, 160
STIFFNESS = 2.0e5  # N per square of a depth in mm
SETTINGS = SurrogateConfig(
    kriging=KrigingConfig(correlation="squared_exponential", trend="linear"),
    polynomial=PolynomialConfig(basis="total_degree", degree=(1, 2), ridge=(1e-8,)),
)
WIDE = {"ap_ratio": 10.0, "ml_ratio": 10.0, "peak_pressure_MPa": 1e3}


def touch(table):
    """Height of first contact [m]: a dish, and a step where the femur is far ahead."""
    ahead = table["anterior_m"] / 4e-3
    step = 1.5e-5 * np.tanh(12.0 * (ahead - 0.7))
    return 0.03 + 1e-3 * table["adduction_rad"] + 2e-5 * ahead**2 + step


def with_loads(table, axial):
    """Add the loads of a condyle that carries `axial`; at no load there is no answer."""
    root = np.sqrt(np.maximum(axial, 0.0))
    forces = {"force_x_N": 0.05 * axial * (1.0 + table["flexion_rad"]), "force_y_N": axial}
    forces["force_z_N"] = 0.02 * axial * (1.0 + table["adduction_rad"])
    moments = {
        "moment_x_Nm": 0.02 * axial,
        "moment_y_Nm": 1e-3 * axial,
        "moment_z_Nm": -0.01 * axial,
    }
    areas = {"area_m2": 1e-5 * root, "peak_pressure_Pa": 6e5 * root, "mean_pressure_Pa": 3e5 * root}
    centres = dict.fromkeys(LOAD_COLUMNS[9:], 0.01)
    contact = axial > 0.0
    found = table.assign(**forces, **moments, **areas, **centres)
    found.loc[~contact, list(LOAD_COLUMNS)] = np.nan
    status = np.where(contact, "ok", "failed")
    reason = np.where(contact, "", "no contact at this height")
    return found.assign(status=status, reason=reason, evaluations=1)


def at_load(table):
    """Return the samples at the height that carries their load."""
    axial = table["load_N"]
    height = touch(table) - 1e-3 * np.sqrt(axial / STIFFNESS)
    return with_loads(table.assign(superior_m=height), axial)


def at_pose(table):
    """Return the samples with the load that their height carries."""
    depth = 1e3 * np.maximum(touch(table) - table["superior_m"], 0.0)
    return with_loads(table, STIFFNESS * depth**2)


class Desk:
    """A run without files: tables are kept in memory, and evaluations are told."""

    execution = IN_THIS_PROCESS
    stages = StageCounter([], 1)
    fits = None

    def __init__(self, design, **feasibility):
        bounds = FeasibilityConfig(**{**WIDE, **feasibility})
        self.config = Config(design=design, feasibility=bounds, surrogate=SETTINGS)
        self.tables = {}
        self.asked = {}

    @contextmanager
    def timed(self, stage, detail=""):
        yield

    def table(self, name, make, **_):
        if name not in self.tables:
            self.making = name
            self.tables[name] = make()
        return self.tables[name]

    def evaluate(self, table, evaluation):
        self.asked[self.making] = table
        return evaluation.function(table)


class Springs:
    """An original model: condyles on springs."""

    not_given = ()

    def candidates(self, space, config):
        return choose_samples(space, config.design, config.run.seed)

    def evaluation(self, follow="load"):
        return Evaluation(at_load if follow == "load" else at_pose)


def design(**changes):
    settings = {"candidates": CANDIDATES, "first": FIRST, "budget": 70, "rounds": 3}
    plain = {"infill": "sequence", "family": "polynomial"}
    return DesignConfig(**{**settings, **plain, **changes})


def carry_out(space, *, feasibility=None, **changes):
    desk = Desk(design(**changes), **(feasibility or {}))
    return desk, sample_knee(desk, Springs(), space)


@pytest.mark.parametrize(("budget", "rounds"), [(70, 3), (71, 3), (41, 1), (100, 7), (45, 4)])
def test_shares_of_the_budget_add_up(budget, rounds):
    settings = design(budget=budget, rounds=rounds)
    shares = round_sizes(settings)
    assert len(shares) == rounds
    assert sum(shares) == budget - FIRST
    assert max(shares) - min(shares) <= 1


def test_without_a_budget_the_samples_grow_by_equal_ratios():
    # 40 times the cube root of 4 is 63, and again 101; the last round takes all that are left.
    assert round_sizes(design(budget=0, rounds=3)) == [23, 37, CANDIDATES]


def test_no_candidate_is_evaluated_twice(space):
    desk, sampled = carry_out(space)
    parts = [desk.tables[name] for name in ("first", "kept-1", "kept-2", "kept-3")]
    every = pd.concat(parts)
    assert not every.duplicated(["compartment", "index"]).any()
    assert len(desk.tables["kept"]) == 60
    np.testing.assert_array_equal(sampled.training["index"], every["index"])


def test_infill_goes_where_the_error_is_large(space):
    """Which is near the step in the height and at the borders of the box."""
    early = None
    chosen = {}
    for infill in ("sequence", "error"):
        desk, sampled = carry_out(space, infill=infill, family="kriging", rounds=1, budget=60)
        chosen[infill] = desk.tables["kept-1"]
        early = sampled.early
    rest = desk.tables["screened-1"]

    def errors(rows):
        found = []
        for name in COMPARTMENTS:
            own = rows[rows["compartment"] == name]
            truth = at_load(own)
            poses, _ = early.knee.compartment(name).at_load(poses_of(own), own["load_N"].to_numpy())
            found.append(np.abs(poses[:, 4] - truth["superior_m"]))
        return float(np.concatenate(found).mean())

    assert errors(chosen["error"]) > 1.25 * errors(rest)
    assert errors(chosen["error"]) > 1.1 * errors(chosen["sequence"])


def test_wanted_error_stops_the_rounds(space):
    desk, all_of_them = carry_out(space)
    errors = [100.0 * point.load_error_share for point in all_of_them.curve]
    assert len(errors) == 3
    desk, sampled = carry_out(space, wanted_error_percent=1.01 * max(errors))
    # The first round is always gone through.
    assert set(desk.tables) >= {"kept-1", "screened-1"}
    assert "kept-2" not in desk.tables
    assert len(sampled.curve) == 2
    assert sampled.counts["medial"].evaluated == 10
    assert sampled.counts["medial"].left == 110
    _, sampled = carry_out(space, wanted_error_percent=0.01 * min(errors))
    assert len(sampled.curve) == 3


def test_learning_curve_counts_what_was_fitted(space):
    _, sampled = carry_out(space)
    assert [point.samples for point in sampled.curve] == [80, 100, 120]
    assert all(point.load_error_share > 0.0 for point in sampled.curve)
    (final,) = fit_surrogates(sampled.training, space, SETTINGS, [("inverted", "polynomial")], 1)
    last = learning_point(final, sampled.training)
    assert last.samples == 140
    residuals = [check["height"].residuals for check in final.checks.values()]
    worse = max(np.sqrt((r**2).mean()) for r in residuals)
    assert last.height_m == pytest.approx(worse, rel=1e-12)


def test_last_word_on_every_candidate(space):
    desk, sampled = carry_out(space, feasibility={"peak_pressure_MPa": 25.0, "margin": 0.0})
    last = desk.tables["screened"]
    keys = ["compartment", "index"]
    first = sampled.candidates["first"]
    assert sorted(map(tuple, last[keys].values)) == sorted(
        map(tuple, sampled.candidates.loc[~first, keys].values)
    )
    state, total = last["screening"].value_counts().to_dict(), sampled.counts["total"]
    assert state == {
        "dropped": total.dropped,
        "evaluated": total.evaluated,
        "kept": total.left,
    }
    assert (last["drop_reason"] != "").sum() == state["dropped"] > 0
    for row in sampled.counts.values():
        assert row.predicted == row.dropped + row.left + row.evaluated


def test_followed_pose_takes_the_load_found_there(space):
    desk, _ = carry_out(space, follow="pose")
    kept = desk.tables["kept"]
    asked = pd.concat([desk.asked[f"kept-{k}"] for k in (1, 2, 3)], ignore_index=True)
    predicted = pd.concat([desk.tables[f"screened-{k}"] for k in (1, 2, 3)])
    merged = kept.merge(predicted, on=["compartment", "index"], suffixes=("", "_predicted"))
    assert len(merged) >= len(kept) == 60
    # The height is the predicted one, of one of the rounds, and the load is not the drawn one.
    np.testing.assert_array_equal(kept[list(POSE_COLUMNS)], asked[list(POSE_COLUMNS)])
    answered = kept[kept["status"] == "ok"]
    share = (answered["force_y_N"] / answered["load_N"] - 1.0).abs()
    assert 0.0 < share.median() < 0.5


#: Loads of two compartments at two instants; at the second the lateral one is out of contact.
LOADS = np.zeros((2, 2, 12))
LOADS[0, 0, :3] = [30.0, 300.0, -6.0]
LOADS[0, 1, :3] = [-50.0, 250.0, 1.0]
LOADS[1, 0, :3] = [10.0, 1000.0, 30.0]
LOADS[1, 1, :3] = [5.0, 0.0, 9.0]
LOADS[:, :, 7] = [[4e6, 20e6], [8e6, 0.0]]


class Contact:
    """A contact model that knows the loads of two poses."""

    def loads(self, poses):
        assert len(poses) == 2
        return ContactLoads(LOADS)


@pytest.fixture
def cycle(monkeypatch):
    def simulated(model):
        if model is None:
            raise EquilibriumError("the knee does not settle")
        return SimpleNamespace(poses=np.zeros((2, 6)))

    monkeypatch.setattr(
        fitting, "GaitSimulation", SimpleNamespace(of=lambda config, path: simulated)
    )


@pytest.mark.parametrize("factor", [1.0, 2.5])
def test_the_bounds_are_the_largest_values_of_loaded_compartments(cycle, factor):
    before = Config.model_validate(
        {"feasibility": {"bounds": "gait", "gait_factor": factor, "margin": 0.3}}
    )
    after = with_gait_bounds(before, Contact(), None)
    found = after.feasibility
    assert_allclose([found.ap_ratio, found.ml_ratio], [0.2 * factor, 0.03 * factor], rtol=1e-12)
    assert_allclose(found.peak_pressure_MPa, 20.0 * factor, rtol=1e-12)
    # Nothing else changes, and the configuration that was given stays.
    assert found.margin == 0.3
    assert after.model_copy(update={"feasibility": before.feasibility}) == before
    assert before.feasibility.ap_ratio == 0.3


@pytest.fixture(scope="module")
def walking(tiny_run):
    surrogate = load(tiny_run / "knee.npz")
    space = surrogate.compartment("medial").space
    return load_config(tiny_run / "config.toml").simulation, space, surrogate


def drawn(walking, seed=1):
    return candidates_along_gait(*walking, 12, 100, np.random.default_rng(seed))


def test_candidates_are_near_gait(walking):
    table = drawn(walking)
    assert table["index"].tolist() == [*range(100, 112)] * 2
    simulation, space, _ = walking
    poses, gait = poses_of(table), gait_cycle(simulation).flexion
    assert gait.min() < poses[:, 0].min()
    assert poses[:, 0].max() < 1.13 * gait.max()
    assert np.ptp(poses[:, 0]) > 0.5 * np.ptp(gait)
    assert table["load_N"].between(*space.load).all()
    assert drawn(walking).equals(table)
    assert not drawn(walking, 2).equals(table)


def test_candidates_are_moved_a_little_from_a_pose_of_gait(walking, monkeypatch):
    simulation, space, surrogate = walking
    state = np.append(space.path.poses([0.3])[0], [800.0, 600.0])
    monkeypatch.setattr(adaptive_sampling, "_states", lambda *_: state[None])
    table = candidates_along_gait(simulation, space, surrogate, 50, 0, np.random.default_rng(1))
    moves = np.abs(poses_of(table) - state[:6])[:, [1, 2, 3, 5]] / space.centre_and_half[1][1:5]
    assert_allclose(moves.max(axis=0), [0.15, 0.1, 0.1, 0.3], rtol=0.1)
    factor = table["load_N"] / np.repeat(state[6:], 50)
    assert_allclose([factor.min(), factor.max()], [1.0 / 1.6, 1.6], rtol=0.1)
