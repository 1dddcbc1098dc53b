"""Stages a to g, without files or the original model."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from foundation.loads import LOAD_COLUMNS
from pipeline import stages
from pipeline.samples import CANDIDATE_COLUMNS, POSE_COLUMNS, digest, loads_of, poses_of
from pipeline.schema import (
    DesignConfig,
    FeasibilityConfig,
    ResponseSurfaceConfig,
    SurrogateConfig,
    ValidationConfig,
)
from pipeline.stages import StageError
from surrogates.space import ReferencePath, SampleSpace

SETTINGS = SurrogateConfig(response_surface=ResponseSurfaceConfig(degree=(2,), ridge=(0.0,)))
PAIR = ("inverted", "response_surface")
BOUNDS = FeasibilityConfig(
    ap_ratio=0.3, ml_ratio=0.2, peak_pressure_MPa=50.0, load_N=(10.0, 2000.0), margin=0.1
)


@pytest.fixture(scope="module")
def space() -> SampleSpace:
    path = ReferencePath([0.0, 0.5, 1.0], np.tile([0.0, 0.0, 0.0, 0.03, 0.0], (3, 1)))
    return SampleSpace(path, [0.0, 1.0], [0.02, 0.1, 4e-3, 1e-3], [4.0, 2500.0])


def answer(table: pd.DataFrame) -> pd.DataFrame:
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


def design(**changes) -> DesignConfig:
    return DesignConfig(**{"candidates": 64, "first": 40, **changes})


@dataclass
class Stages:
    candidates: pd.DataFrame
    first: pd.DataFrame
    screened: pd.DataFrame
    kept: pd.DataFrame
    training: pd.DataFrame

    def counts(self):
        return stages.bookkeeping(
            self.candidates, self.first, self.screened, self.kept, self.training
        )


@pytest.fixture
def carried_out(space) -> Stages:
    candidates = stages.choose_samples(space, design(), 1)
    first = stages.evaluate_first(candidates, answer)
    early = stages.fit_surrogates(first, space, SETTINGS, PAIR, 1)
    bounds = FeasibilityConfig(peak_pressure_MPa=25.0, margin=0.0)
    screened = stages.screen_candidates(stages.predict_candidates(candidates, early), bounds)
    kept = stages.evaluate_kept(screened, candidates, answer)
    return Stages(candidates, first, screened, kept, stages.training_samples(first, kept, bounds))


@pytest.mark.parametrize("kind", ["sobol", "lhs", "lhs_optimised", "halton", "hammersley"])
def test_stage_a_is_deterministic_and_marks_n_of_m(space, kind):
    one = stages.choose_samples(space, design(kind=kind), 1)
    assert digest(one) == digest(stages.choose_samples(space, design(kind=kind), 1))
    assert digest(one) != digest(stages.choose_samples(space, design(kind=kind), 2))
    assert tuple(one.columns) == (*CANDIDATE_COLUMNS, "first")
    for name in ("medial", "lateral"):
        rows = one[one["compartment"] == name]
        assert rows["index"].tolist() == list(range(64))
        assert rows["first"].sum() == 40
        assert rows["load_N"].between(4.0, 2500.0).all()
        assert rows["flexion_rad"].between(0.0, 1.0).all()


def test_stage_a_draws_other_points_for_each_compartment(space):
    table = stages.choose_samples(space, design(), 1)
    medial, lateral = (poses_of(table[table["compartment"] == c]) for c in ("medial", "lateral"))
    assert not np.isin(medial[:, 0], lateral[:, 0]).any()


@pytest.mark.parametrize("kind", ["sobol", "halton"])
def test_first_samples_of_a_sequence_are_its_beginning(space, kind):
    table = stages.choose_samples(space, design(kind=kind), 1)
    assert table[table["first"]].groupby("compartment")["index"].max().tolist() == [39, 39]
    longer = stages.choose_samples(space, design(kind=kind, candidates=128), 1)
    both = longer[longer["index"] < 64].reset_index(drop=True)
    pd.testing.assert_frame_equal(both, table, check_exact=True)


def test_full_factorial_has_at_least_the_candidates_asked_for(space):
    table = stages.choose_samples(space, design(kind="full_factorial"), 1)
    assert table.groupby("compartment").size().min() >= 64
    assert table.groupby("compartment")["first"].sum().tolist() == [40, 40]


def test_held_out_samples_depend_on_their_own_seed_alone(space):
    validation = ValidationConfig(points=50)
    few, many = (
        stages.choose_samples(space, design(candidates=m), seed) for m, seed in ((64, 1), (256, 9))
    )
    held = stages.held_out_samples(space, validation, few)
    assert held.groupby("compartment").size().tolist() == [50, 50]
    assert digest(held) == digest(stages.held_out_samples(space, validation, many))
    other = stages.held_out_samples(space, ValidationConfig(points=50, seed=3), few)
    assert digest(held) != digest(other)


@pytest.mark.parametrize("kind", ["sobol", "lhs"])
def test_held_out_samples_share_no_point_with_the_training_set(space, kind):
    """Not even with the same design and seed."""
    table = stages.choose_samples(space, design(kind=kind), 1)
    held = stages.held_out_samples(space, ValidationConfig(points=50, kind=kind, seed=1), table)
    assert not np.isin(held["flexion_rad"], table["flexion_rad"]).any()
    assert not np.isin(held["load_N"], table["load_N"]).any()


def test_held_out_grid_on_the_training_grid_is_refused(space):
    table = stages.choose_samples(space, design(kind="full_factorial"), 1)
    with pytest.raises(StageError, match="64 of 64 medial points are candidates"):
        stages.held_out_samples(space, ValidationConfig(points=64, kind="full_factorial"), table)


def test_held_out_points_that_are_candidates_are_left_out(space):
    validation = ValidationConfig(points=50)
    table = stages.choose_samples(space, design(), 1)
    held = stages.held_out_samples(space, validation, table)
    known = pd.concat([table, held[held["index"] < 5].assign(first=False)])
    rest = stages.held_out_samples(space, validation, known)
    assert rest.groupby("compartment").size().tolist() == [45, 45]
    assert rest["index"].min() == 5


def test_stage_b_evaluates_the_first_in_order(space):
    table = stages.choose_samples(space, design(kind="lhs"), 1)
    seen = []
    first = stages.evaluate_first(table, lambda rows: seen.append(rows) or answer(rows))
    assert len(seen) == 1
    assert tuple(seen[0].columns) == CANDIDATE_COLUMNS
    assert seen[0].index.tolist() == list(range(80))
    assert first["index"].tolist() == table.loc[table["first"], "index"].tolist()


def test_stage_c_needs_usable_samples_in_each_compartment(carried_out, space):
    first = carried_out.first
    first.loc[first["compartment"] == "lateral", "status"] = "failed"
    with pytest.raises(StageError, match=r"lateral compartment has no usable sample; all failed"):
        stages.fit_surrogates(first, space, SETTINGS, PAIR, 1)


def test_fit_that_fails_names_stage_and_compartment(carried_out, space):
    few = carried_out.first.groupby("compartment").head(3).reset_index(drop=True)
    settings = SurrogateConfig(response_surface=ResponseSurfaceConfig(degree=(6,), ridge=(0.0,)))
    with pytest.raises(StageError, match="fitting inverted/response_surface, medial, to 3 samples"):
        stages.fit_surrogates(few, space, settings, PAIR, 1)


def test_failed_samples_are_not_fitted_to(carried_out, space):
    first = carried_out.first
    spoilt = first.copy()
    spoilt.loc[:1, "superior_m"] = 99.0
    spoilt.loc[:1, "status"] = "failed"
    without = first.drop(index=[0, 1])
    one, other = (
        stages.fit_surrogates(table, space, SETTINGS, PAIR, 1) for table in (spoilt, without)
    )
    for key, array in one.medial.to_arrays().items():
        np.testing.assert_array_equal(array, other.medial.to_arrays()[key])


def test_stage_d_predicts_the_remaining_at_their_load(carried_out):
    remaining = carried_out.candidates[~carried_out.candidates["first"]]
    screened = carried_out.screened
    assert len(screened) == len(remaining) == 48
    assert set(zip(screened["compartment"], screened["index"], strict=True)) == set(
        zip(remaining["compartment"], remaining["index"], strict=True)
    )
    truth = answer(screened[list(CANDIDATE_COLUMNS)])
    np.testing.assert_allclose(screened["superior_m"], truth["superior_m"], rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(screened["force_y_N"], screened["load_N"], rtol=1e-9, atol=0.0)


def test_stage_d_refuses_the_direct_formulation(carried_out, space):
    knee = stages.fit_surrogates(
        carried_out.first, space, SETTINGS, ("direct", "response_surface"), 1
    )
    with pytest.raises(StageError, match=r"stage d.*inverted"):
        stages.predict_candidates(carried_out.candidates, knee)


def loads_table(*rows: tuple[float, float, float, float]) -> pd.DataFrame:
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
    screened = stages.screen_candidates(table, BOUNDS)
    assert screened["drop_reason"].tolist() == [reason for _, reason in HAND_MADE]
    assert screened["screening"].tolist() == [
        "dropped" if reason else "kept" for _, reason in HAND_MADE
    ]


def test_margin_widens_every_bound():
    table = loads_table((32.9, 100.0, 0.0, 10.0), (0.0, 9.5, 0.0, 10.0), (0.0, 2100.0, 0.0, 1.0))
    assert (stages.infeasibility(loads_of(table), BOUNDS, 0.1) == "").all()
    assert (stages.infeasibility(loads_of(table), BOUNDS, 0.0) != "").all()


def test_stage_f_evaluates_the_kept_alone(carried_out):
    kept = carried_out.screened[carried_out.screened["screening"] == "kept"]
    assert 0 < len(kept) < len(carried_out.screened)
    columns = ["compartment", "index"]
    assert carried_out.kept[columns].values.tolist() == kept[columns].values.tolist()
    merged = carried_out.kept.merge(carried_out.candidates, on=columns, suffixes=("", "_drawn"))
    np.testing.assert_array_equal(merged["load_N"], merged["load_N_drawn"])
    np.testing.assert_array_equal(merged["anterior_m"], merged["anterior_m_drawn"])


def test_stage_f_with_nothing_kept(carried_out):
    none = carried_out.screened.assign(screening="dropped")
    kept = stages.evaluate_kept(none, carried_out.candidates, answer)
    assert len(kept) == 0
    training = stages.training_samples(carried_out.first, kept, FeasibilityConfig())
    assert len(training) == len(carried_out.first)


def test_training_samples_are_answered_and_feasible():
    table = loads_table(*(row for row, _ in HAND_MADE))
    first, kept = table.iloc[:4].copy(), table.iloc[4:].copy()
    first.loc[0, "status"] = "failed"
    training = stages.training_samples(first, kept, BOUNDS)
    assert training["index"].tolist() == [1, 7]
    assert training.index.tolist() == [0, 1]


def test_counts_add_up(carried_out):
    counts = carried_out.counts()
    for row in counts.values():
        assert row["candidates"] == row["first"] + row["predicted"]
        assert row["predicted"] == row["dropped"] + row["evaluated"]
        assert row["first"] + row["evaluated"] == (
            row["first_failed"] + row["evaluated_failed"] + row["infeasible"] + row["training"]
        )
    for key, total in counts["total"].items():
        assert total == counts["medial"][key] + counts["lateral"][key]
    assert counts["medial"]["candidates"] == 64
    assert counts["total"]["dropped"] > 0


def test_failed_samples_are_counted(carried_out):
    before = carried_out.counts()["medial"]
    carried_out.first.loc[0, "status"] = "failed"
    after = carried_out.counts()["medial"]
    assert after["first_failed"] == before["first_failed"] + 1
    assert after["infeasible"] == before["infeasible"] - 1


@pytest.mark.parametrize("table", ["candidates", "first", "screened", "kept"])
def test_lost_rows_are_found(carried_out, table):
    setattr(carried_out, table, getattr(carried_out, table).iloc[1:])
    with pytest.raises(StageError, match="stage counts of medial do not add up"):
        carried_out.counts()


def test_invented_training_samples_are_found(carried_out):
    carried_out.training = pd.concat([carried_out.training] * 2)
    with pytest.raises(StageError, match="do not add up"):
        carried_out.counts()
