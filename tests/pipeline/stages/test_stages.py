"""Stages a to g without files or the original model; domains learnt from the whole box."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from studies import SMOKE

from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS
from pipeline.config.reading import load_config
from pipeline.config.schema import (
    DesignConfig,
    FeasibilityConfig,
    NetworkConfig,
    PolynomialConfig,
    SurrogateConfig,
    ValidationConfig,
)
from pipeline.errors import StageError
from pipeline.execution import Execution
from pipeline.originals.candidates import (
    choose_samples,
    domain_candidates,
    evaluate_first,
    held_out_samples,
    sample_space,
)
from pipeline.originals.contact_original import build_knee
from pipeline.originals.knee import evaluate_rows
from pipeline.originals.table_original import TableOriginal
from pipeline.stages.adaptive_sampling import (
    ERROR_COLUMNS,
    Sampled,
    bookkeeping,
    choose_kept,
    predict_candidates,
    screen_candidates,
    training_samples,
)
from pipeline.stages.assessment import learn_domains, limits_of
from pipeline.stages.fitting import fit_surrogates, fitted_rows, infeasibility
from pipeline.stages.run_folder import Run, stored_path
from pipeline.store.samples import (
    CANDIDATE_COLUMNS,
    POSE_COLUMNS,
    digest,
    loads_of,
    poses_of,
    read_table,
    usable,
)

SETTINGS = SurrogateConfig(
    polynomial=PolynomialConfig(basis="total_degree", degree=(2,), ridge=(0.0,)),
    network=NetworkConfig(hidden=4, steps=100),
)
PAIR = ("inverted", "polynomial")
BOUNDS = FeasibilityConfig(
    ap_ratio=0.3, ml_ratio=0.2, peak_pressure_MPa=50.0, load_N=(10.0, 2000.0), margin=0.1
)


def answer(table):
    """Answer like a linear spring whose height falls with the root of the load."""
    axial = table["load_N"]
    height = 0.03 - 1e-6 * np.sqrt(axial) + 1e-3 * table["adduction_rad"]
    loads = {
        "force_x_N": 0.05 * axial * (1.0 + table["flexion_rad"]),
        "force_y_N": axial,
        "force_z_N": 0.02 * axial,
        "moment_x_Nm": 0.02 * axial,
        "moment_y_Nm": 1e-3 * axial,
        "moment_z_Nm": -0.01 * axial,
        "area_m2": 1e-5 * np.sqrt(axial),
        "peak_pressure_Pa": 6e5 * np.sqrt(axial),
        "mean_pressure_Pa": 3e5 * np.sqrt(axial),
    }
    centre = dict.fromkeys(LOAD_COLUMNS[9:], 0.01)
    done = table.assign(superior_m=height, status="ok", reason="", evaluations=3)
    return done.assign(**loads, **centre)


def design(**changes):
    settings = {"candidates": 64, "first": 40, "budget": 0}
    plain = {"infill": "sequence", "family": "polynomial"}
    return DesignConfig(**{**settings, **plain, **changes})


def fit(samples, space, pair=PAIR, settings=SETTINGS):
    return fit_surrogates(samples, space, settings, [pair], 1)[0]


@dataclass
class Stages:
    candidates: pd.DataFrame
    first: pd.DataFrame
    screened: pd.DataFrame
    kept: pd.DataFrame
    training: pd.DataFrame

    def counts(self):
        return bookkeeping(self.candidates, self.first, self.screened, self.kept, self.training)


@pytest.fixture
def carried_out(space):
    candidates = choose_samples(space, design(), 1)
    first = evaluate_first(candidates, answer)
    early = fit(first, space)
    bounds = FeasibilityConfig(peak_pressure_MPa=25.0, margin=0.0)
    remaining = candidates[~candidates["first"]].drop(columns="first")
    screened = screen_candidates(predict_candidates(remaining, early.knee), bounds)
    chosen = choose_kept(screened, early, design(), 64)
    kept = answer(chosen[list(CANDIDATE_COLUMNS)])
    done = screened.assign(screening=screened["screening"].replace("kept", "evaluated"))
    training = training_samples([first, kept], bounds)
    return Stages(candidates, first, done, kept, training)


@pytest.mark.parametrize("kind", ["sobol", "lhs", "halton", "hammersley"])
def test_stage_a_is_deterministic_and_marks_n_of_m(space, kind):
    one = choose_samples(space, design(kind=kind), 1)
    assert digest(one) == digest(choose_samples(space, design(kind=kind), 1))
    assert digest(one) != digest(choose_samples(space, design(kind=kind), 2))
    assert tuple(one.columns) == (*CANDIDATE_COLUMNS, "first")
    for name in ("medial", "lateral"):
        rows = one[one["compartment"] == name]
        assert rows["index"].tolist() == list(range(64))
        assert rows["first"].sum() == 40
        assert rows["load_N"].between(4.0, 2500.0).all()
        assert rows["flexion_rad"].between(0.0, 1.0).all()


@pytest.mark.parametrize("spread", [1.0, 2.0, 4.0])
def test_load_spread_fills_the_root_of_that_degree_evenly(space, spread):
    table = choose_samples(space, design(candidates=512, load_spread=spread), 1)
    root = np.sort(table["load_N"].to_numpy() ** (1.0 / spread))
    low, high = np.array([4.0, 2500.0]) ** (1.0 / spread)
    even = np.linspace(low, high, len(root))
    assert np.abs(root - even).max() < 0.02 * (high - low)
    held = held_out_samples(space, ValidationConfig(points=400, load_spread=spread), table)
    middle = (0.5 * (low + high)) ** spread
    assert abs((held["load_N"] < middle).mean() - 0.5) < 0.01


def test_held_out_samples_depend_on_their_own_seed_alone(space):
    validation = ValidationConfig(points=50)
    few, many = (
        choose_samples(space, design(candidates=m), seed) for m, seed in ((64, 1), (256, 9))
    )
    held = held_out_samples(space, validation, few)
    assert held.groupby("compartment").size().tolist() == [50, 50]
    assert digest(held) == digest(held_out_samples(space, validation, many))
    other = held_out_samples(space, ValidationConfig(points=50, seed=3), few)
    assert digest(held) != digest(other)


@pytest.mark.parametrize("kind", ["sobol", "lhs"])
def test_held_out_samples_share_no_point_with_the_training_set(space, kind):
    """Not even with the same design and seed."""
    table = choose_samples(space, design(kind=kind), 1)
    held = held_out_samples(space, ValidationConfig(points=50, kind=kind, seed=1), table)
    assert not np.isin(held["flexion_rad"], table["flexion_rad"]).any()
    assert not np.isin(held["load_N"], table["load_N"]).any()


def test_held_out_samples_that_are_all_candidates_are_refused(space):
    table, validation = choose_samples(space, design(), 1), ValidationConfig(points=64)
    known = pd.concat([table, held_out_samples(space, validation, table).assign(first=False)])
    with pytest.raises(StageError, match="64 of 64 medial points are also candidates"):
        held_out_samples(space, validation, known)


def test_held_out_points_that_are_candidates_are_left_out(space):
    validation = ValidationConfig(points=50)
    table = choose_samples(space, design(), 1)
    held = held_out_samples(space, validation, table)
    known = pd.concat([table, held[held["index"] < 5].assign(first=False)])
    rest = held_out_samples(space, validation, known)
    assert rest.groupby("compartment").size().tolist() == [45, 45]
    assert rest["index"].min() == 5


def test_failed_samples_are_not_fitted_to(carried_out, space):
    first = carried_out.first
    spoilt = first.copy()
    spoilt.loc[:1, "superior_m"] = 99.0
    spoilt.loc[:1, "status"] = "failed"
    one, other = fit(spoilt, space), fit(first.drop(index=[0, 1]), space)
    assert_same_knee(one.knee, other.knee)


def assert_same_knee(one, other):
    for name in ("medial", "lateral"):
        arrays = other.compartment(name).to_arrays()
        for key, array in one.compartment(name).to_arrays().items():
            np.testing.assert_array_equal(array, arrays[key])


def test_workers_and_company_change_no_number(carried_out, space):
    """Pairs fitted at once, in two processes, are those fitted by themselves."""
    pairs = [PAIR, ("direct", "polynomial")]
    together = fit_surrogates(carried_out.first, space, SETTINGS, pairs, 1, Execution(2))
    for pair, trained in zip(pairs, together, strict=True):
        assert_same_knee(trained.knee, fit(carried_out.first, space, pair).knee)
        assert trained.knee.header["family"] == trained.family == "polynomial"
        assert trained.knee.compartment("medial").formulation == pair[0]
        assert trained.seconds > 0.0


def weighted_samples(carried_out):
    weight = np.where(carried_out.first["index"] % 4 == 0, 0.2, 1.0)
    return carried_out.first.assign(weight=weight)


def test_rows_of_less_weight_are_for_joint_fits_alone(carried_out):
    rows = weighted_samples(carried_out)
    for family in ("network", "spline"):
        assert len(fitted_rows(rows, family)) == len(rows)
    for family in ("kriging", "polynomial", "poly_fourier"):
        fitted = fitted_rows(rows, family)
        assert fitted["index"].tolist() == rows.loc[rows["weight"] == 1.0, "index"].tolist()
        assert "weight" not in fitted.columns
    assert fitted_rows(carried_out.first, "kriging") is carried_out.first


def test_stage_d_predicts_the_remaining_at_their_load(carried_out):
    remaining = carried_out.candidates[~carried_out.candidates["first"]]
    screened = carried_out.screened
    assert len(screened) == len(remaining) == 48
    assert set(zip(screened["compartment"], screened["index"], strict=True)) == set(
        zip(remaining["compartment"], remaining["index"], strict=True)
    )
    truth = answer(screened[list(CANDIDATE_COLUMNS)])
    # Few samples tell where the condyle's point is; the heights vary by ten times as much.
    np.testing.assert_allclose(screened["superior_m"], truth["superior_m"], rtol=0.0, atol=7e-6)
    np.testing.assert_allclose(screened["force_y_N"], screened["load_N"], rtol=1e-9, atol=0.0)


def test_stage_d_predicts_standard_errors(carried_out, space):
    """Those of the surrogate at the drawn load, in the order of the loads."""
    early = fit(carried_out.first, space)
    rows = carried_out.screened[carried_out.screened["compartment"] == "lateral"]
    _, errors = early.knee.compartment("lateral").errors_at_load(
        poses_of(rows), rows["load_N"].to_numpy()
    )
    np.testing.assert_allclose(rows[list(ERROR_COLUMNS)], errors, rtol=1e-6, atol=1e-12)
    assert rows["error_force_y_N"].eq(0.0).all()


def loads_table(*rows):
    """Return predictions of (AP force, axial force, ML force, peak pressure in MPa)."""
    table = pd.DataFrame(0.0, index=range(len(rows)), columns=[*POSE_COLUMNS, *LOAD_COLUMNS])
    values = np.array(rows)
    table[["force_x_N", "force_y_N", "force_z_N"]] = values[:, :3]
    table["peak_pressure_Pa"] = 1e6 * values[:, 3]
    return table.assign(status="ok", compartment="medial", index=range(len(rows)))


HAND_MADE = [
    ((0.0, 100.0, 0.0, 10.0), ""),
    ((32.9, 100.0, 21.9, 54.9), ""),
    ((-34.0, 100.0, 0.0, 10.0), "AP force over axial load 0.34 above 0.3"),
    ((0.0, 100.0, -23.0, 10.0), "ML force over axial load 0.23 above 0.2"),
    ((0.0, 100.0, 0.0, 56.0), "peak pressure 56 MPa above 50 MPa"),
    ((0.0, 2300.0, 0.0, 10.0), "axial load 2.3e+03 N above 2000 N"),
    ((0.0, 8.0, 0.0, 10.0), "axial load 8 N below 10 N"),
    ((0.0, 9.5, 0.0, 10.0), ""),
    ((50.0, 100.0, 50.0, 90.0), "AP force over axial load 0.5 above 0.3"),
]


def test_stage_e_names_the_first_bound_that_is_broken():
    table = loads_table(*(row for row, _ in HAND_MADE))
    screened = screen_candidates(certain(table), BOUNDS)
    assert screened["drop_reason"].tolist() == [reason for _, reason in HAND_MADE]
    assert screened["screening"].tolist() == [
        "dropped" if reason else "kept" for _, reason in HAND_MADE
    ]


def certain(table, **errors):
    """Return predictions with standard errors, 0 unless told."""
    return table.assign(**dict.fromkeys(ERROR_COLUMNS, 0.0) | errors)


DOUBTFUL = [
    # Each is beyond its bound and margin by what two standard errors of 1.1 N and 1.1 MPa span.
    ("error_force_x_N", (35.0, 100.0, 0.0, 10.0), 1.1),
    ("error_force_x_N", (-35.0, 100.0, 0.0, 10.0), 1.1),
    ("error_force_z_N", (0.0, 100.0, 24.0, 10.0), 1.1),
    ("error_peak_pressure_Pa", (0.0, 100.0, 0.0, 57.0), 1.1e6),
]


@pytest.mark.parametrize(("column", "row", "error"), DOUBTFUL)
def test_stage_e_gives_the_benefit_of_two_standard_errors(column, row, error):
    table = loads_table(row)
    for size, state in ((0.0, "dropped"), (0.85 * error, "dropped"), (error, "kept")):
        screened = screen_candidates(certain(table, **{column: size}), BOUNDS)
        assert screened["screening"].tolist() == [state]


def test_stage_f_chooses_the_kept_in_the_order_of_the_design(carried_out, space):
    early = fit(carried_out.first, space)
    screened = carried_out.screened.replace({"screening": {"evaluated": "kept"}})
    kept = screened[screened["screening"] == "kept"]
    assert 0 < len(kept) < len(screened)
    for count in (3, 64):
        chosen = choose_kept(screened, early, design(), count)
        for name in ("medial", "lateral"):
            wanted = kept.loc[kept["compartment"] == name, "index"].sort_values().tolist()[:count]
            assert chosen.loc[chosen["compartment"] == name, "index"].tolist() == wanted


def test_training_samples_are_answered_and_feasible():
    table = loads_table(*(row for row, _ in HAND_MADE))
    first, kept = table.iloc[:4].copy(), table.iloc[4:].copy()
    first.loc[0, "status"] = "failed"
    training = training_samples([first, kept], BOUNDS)
    assert training["index"].tolist() == [1, 7]
    assert training.index.tolist() == [0, 1]
    assert training["weight"].tolist() == [1.0, 1.0]


def test_infeasible_samples_may_have_a_weight():
    table = loads_table(*(row for row, _ in HAND_MADE))
    table.loc[0, "status"] = "failed"
    bounds = BOUNDS.model_copy(update={"outside_weight": 0.25})
    training = training_samples([table], bounds)
    assert training["index"].tolist() == list(range(1, 9))
    feasible = [reason == "" for _, reason in HAND_MADE[1:]]
    assert training["weight"].tolist() == [1.0 if good else 0.25 for good in feasible]


def test_counts_add_up(carried_out):
    first, kept = (
        table.assign(status=np.where(table["index"] % 4, "ok", "failed"))
        for table in (carried_out.first, carried_out.kept)
    )
    training = carried_out.training.query("index % 4 > 0")
    counts = replace(carried_out, first=first, kept=kept, training=training).counts()
    assert counts["total"].first_failed == (first["status"] == "failed").sum() > 0
    assert counts["total"].evaluated_failed == (kept["status"] == "failed").sum() > 0
    for row in counts.values():
        assert row.candidates == row.first + row.predicted
        assert row.predicted == row.dropped + row.left + row.evaluated
        assert row.left == 0
        assert row.first + row.evaluated == (
            row.first_failed + row.evaluated_failed + row.infeasible + row.training
        )
    for key, total in counts["total"].content().items():
        assert total == getattr(counts["medial"], key) + getattr(counts["lateral"], key)
    assert counts["medial"].candidates == 64
    assert counts["total"].dropped > 0


#: Of the largest load: off by more is wrong, off by so much is far off.
WRONG, FAR = 0.02, 0.1
FEW = {"first": 260, "budget": 260, "domain_samples": 400, "candidates": 512}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """What the stages before need: run, knee, space, samples, and the knee trained on them."""
    config = load_config(SMOKE)
    design = config.design.model_copy(update=FEW)
    config = config.model_copy(update={"design": design})
    with Run(config, tmp_path_factory.mktemp("domains")) as run:
        run.prepare(resume=False)
        knee = build_knee(config)
        space = sample_space(config, stored_path(run, knee))
        candidates = choose_samples(space, design, config.run.seed)
        first = evaluate_first(candidates, lambda rows: evaluate_rows(knee.model, rows, "load"))
        training = training_samples([first], config.feasibility)
        pairs = [("inverted", "kriging"), ("direct", "polynomial")]
        trained = fit_surrogates(training, space, config.surrogate, pairs, 1)
        sampled = Sampled(candidates, training, first, trained[0], {}, [], [], training.head(0))
        told = learn_domains(run, knee, space, trained, sampled)
        yield run, knee, space, sampled, trained, told


@pytest.fixture(scope="module")
def fresh(study):
    """Samples over the whole box that nothing was fitted to."""
    run, knee, space, *_ = study
    drawn = domain_candidates(space, run.config.design, seed=77)
    return evaluate_rows(knee.model, drawn, "load")


def judged(surrogate, rows, feasibility):
    """Return which rows are flagged, wrong, far off, feasible."""
    loads, truth = surrogate.loads(poses_of(rows)), loads_of(rows)
    flagged = (np.abs(loads.variables) > 1.0).any(axis=1)
    error = np.abs(loads.array - truth)[:, :3] / surrogate.space.load[1]
    expected = surrogate.standard_error(poses_of(rows))[:, :3] / surrogate.space.load[1]
    wrong = ((error > WRONG) & (error > 3.0 * expected)).any(axis=1)
    feasible = infeasibility(truth, feasibility, 0.0) == ""
    return flagged, wrong, (error > FAR).any(axis=1), feasible


def test_hardly_anything_far_off_goes_without_a_flag(study, fresh):
    run, _, _, _, trained, told = study
    totals = np.zeros(4)
    for name in COMPARTMENTS:
        rows = usable(fresh, name)
        flagged, wrong, far, feasible = judged(
            told[0].knee.compartment(name), rows, run.config.feasibility
        )
        assert feasible.sum() > 100
        assert far.sum() > 5  # or the flags would have nothing to do
        totals += [
            (far & ~flagged).sum(), (wrong & ~flagged).sum(),
            (feasible & flagged).sum(), feasible.sum(),
        ]  # fmt: skip
        without = judged(trained[0].knee.compartment(name), rows, run.config.feasibility)
        assert (without[2] & ~without[0]).sum() > 3  # as the box alone would have it
    # Few samples on a coarse mesh: the surrogate errs by a tenth of the load even where gait is.
    assert totals[0] <= 0.0025 * len(fresh)
    assert totals[1] <= 0.01 * len(fresh)
    assert totals[2] <= 0.12 * totals[3]


def test_the_samples_are_those_of_no_other_stage(study, fresh):
    run, _, _, sampled, *_ = study
    table = read_table(run.folder / "samples" / "domain.parquet")
    assert len(table) == 2 * FEW["domain_samples"]
    keys = ["compartment", "flexion_rad", "adduction_rad", "load_N"]
    both = pd.concat([table[keys], fresh[keys], sampled.candidates[keys]])
    assert not both.duplicated().any()


def test_without_samples_the_bounds_alone_decide(study, tmp_path):
    run, knee, space, sampled, trained, _ = study
    design = run.config.design.model_copy(update={"domain_samples": 0})
    with Run(run.config.model_copy(update={"design": design}), tmp_path) as other:
        other.prepare(resume=False)
        (told,) = learn_domains(other, knee, space, trained[:1], sampled)
    feasibility = run.config.feasibility
    expected = (1.0 + 0.5 * feasibility.margin) * limits_of(feasibility)
    np.testing.assert_allclose(
        told.knee.compartment("medial").domain.limits, expected, rtol=1e-14, atol=0
    )
    assert told.knee.compartment("medial").domain.regressor.outputs == 0


def test_rows_of_a_table_tell_where_there_are_samples(study, tmp_path):
    """A table original has no poses beside those that were given."""
    run, _, space, sampled, trained, _ = study
    table = object.__new__(TableOriginal)
    with Run(run.config, tmp_path) as other:
        other.prepare(resume=False)
        (told,) = learn_domains(other, table, space, trained[:1], sampled)
        assert not (tmp_path / "samples" / "domain.parquet").exists()
        walked = replace(sampled, along=sampled.training)
        (along,) = learn_domains(other, table, space, trained[:1], walked)
    assert told.knee.compartment("medial").domain.regressor.outputs == 3
    assert (told.knee.compartment("medial").domain.inflation == 1.0).all()
    # Samples along gait count besides those of the box.
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (20, 6))
    without, beside = (
        t.knee.compartment("medial").domain.regressor.predict(x) for t in (told, along)
    )
    assert not np.allclose(without[:, :2], beside[:, :2], rtol=1e-3, atol=0)
