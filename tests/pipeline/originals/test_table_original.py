"""Runs of a table of poses and loads in the place of an original model."""

import json

import numpy as np
import pandas as pd
import pytest
from studies import SMOKE

import surrogates
from foundation.base.loads import COMPARTMENTS, QUANTITY_COLUMNS
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.config.schema import Config
from pipeline.originals.candidates import sample_space
from pipeline.originals.contact_original import build_knee
from pipeline.originals.pose_load_checks import TableError
from pipeline.originals.reference_path import tabulated_path
from pipeline.originals.table_original import build_original, completed
from pipeline.stages.assessment import feasible
from pipeline.store.samples import OK, loads_of, poses_of, read_table, usable
from surrogates.formulations.validation import errors_at_load
from tests.oracles.noisy_table import cycle_errors, true_table, with_errors, write_study

#: What makes the fits and the cycle take seconds.
QUICK = {
    "design": {"rounds": 1, "first": 60},
    "run": {"name": "table", "workers": 1},
    "surrogate": {
        "compare": [],
        "kriging": {"correlation": "squared_exponential"},
    },
    "simulation": {"samples": 21, "relative_tolerance": 1e-2},
}
ROWS = 300
#: The rows' errors, as a part of those of `noisy_table`: larger than what is left of
#: the fit to so few rows.
ERRORS = 4.0


@pytest.fixture(scope="module")
def model():
    """The smoke study of condyles of one radius, whose loads are smooth."""
    return load_config(SMOKE, ('knee.implant.condyles="single_radius"',))


@pytest.fixture(scope="module")
def knee(model):
    return build_knee(model)


@pytest.fixture(scope="module")
def space(model, knee):
    return sample_space(model, knee.reference_path(model))


@pytest.fixture(scope="module")
def truth(knee, space):
    return true_table(knee, space, ROWS, seed=1)


@pytest.fixture(scope="module")
def noisy(truth):
    return with_errors(truth, ERRORS, seed=3)


def finished(folder, table, *, quantities):
    """Return a finished run of a table, with areas, pressures and centres or without them."""
    study = write_study(folder, table, quantities=quantities, **QUICK)
    assert main(["run", str(study), "--out", str(folder / "run"), "--quiet"]) == 0
    return folder / "run"


@pytest.fixture(scope="module")
def run(noisy, tmp_path_factory):
    """A finished run of a table with errors."""
    return finished(tmp_path_factory.mktemp("table"), noisy, quantities=True)


@pytest.fixture(scope="module")
def bare_run(noisy, tmp_path_factory):
    """A finished run of a table with forces and moments alone."""
    return finished(tmp_path_factory.mktemp("bare"), noisy, quantities=False)


def content(run, name):
    return json.loads((run / f"{name}.json").read_text(encoding="utf-8"))


def test_run_has_what_a_run_has_but_the_original_s(run):
    for name in ("config.toml", "knee.npz", "report.html", "simulation.parquet", "path.json"):
        assert (run / name).is_file(), name
    for name in ("pressure_maps.npz", "frames.npz", "wear.npz", "combinations.json"):
        assert not (run / name).exists(), name
    report = content(run, "report")
    original = report["overview"]["original"]
    assert (original["kind"], original["file"]) == ("table", "poses_and_loads.csv")
    assert original["rows"] == len(pd.read_csv(run.parent / "poses_and_loads.csv"))
    assert original["not_given"] == []
    gait = report["gait"]
    assert gait["models"] == ["surrogate"]
    assert gait["differences"] == []
    for key in ("speed", "frames", "wear", "combinations"):
        assert gait[key] is None, key
    headline = report["overview"]["headline"]
    assert {v for k, v in headline.items() if k.startswith("gait_") or "speed" in k} == {None}
    assert report["summary"][1].startswith("original: table poses_and_loads.csv, ")
    assert set(read_table(run / "simulation.parquet")["model"]) == {"surrogate"}


def test_rows_are_split_looked_up_and_all_used(run, noisy):
    held_out = read_table(run / "samples" / "heldout.parquet")
    candidates = read_table(run / "samples" / "candidates.parquet")
    keys = [set(zip(t["compartment"], t["index"], strict=True)) for t in (candidates, held_out)]
    assert not keys[0] & keys[1]
    assert len(keys[0] | keys[1]) == len(noisy)
    for name in ("heldout", "first", "kept"):
        table = read_table(run / "samples" / f"{name}.parquet")
        assert set(table["status"]) == {OK}
        rows = noisy.iloc[table["index"].to_numpy()]
        np.testing.assert_allclose(poses_of(table), poses_of(rows), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(table["force_y_N"], rows["force_y_N"], rtol=1e-12)
    counts = content(run, "run")["counts"]["total"]
    assert counts["first"] == 120
    assert counts["left"] == 0


def test_errors_of_the_rows_are_smoothed_and_found(run, truth, noisy, knee, space):
    """Against poses without errors the surrogate is better than against rows with them."""
    surrogate, config = surrogates.load(run / "knee.npz"), load_config(run / "config.toml")
    unseen = true_table(knee, space, 120, seed=2)
    held_out = read_table(run / "samples" / "heldout.parquet")
    found = content(run, "run")["original"]["errors_found"]
    for name in COMPARTMENTS:
        part = surrogate.compartment(name)
        assert part.regressors[1].nugget > 1e-5
        errors = {}
        for key, table in (("truth", unseen), ("rows", held_out)):
            rows = feasible(usable(table, name), config.feasibility)
            figures = errors_at_load(part, poses_of(rows), loads_of(rows))
            errors[key] = figures["superior_m"].rmse
        assert errors["truth"] < 0.8 * errors["rows"]
        # ERRORS times 5 um of the height and 0.01 deg of adduction at 22 mm, 25 um, and slopes.
        assert 0.8 * 25e-6 < found[name]["height_m"] < 2.0 * 25e-6
        # 4 % of AP forces of up to 0.3 of the axial one, and of the latter.
        assert 1e-3 < found[name]["force_x_over_axial"] < 2e-2
    covered = content(run, "validation")["models"][0]["compartments"]["medial"]["coverage"]
    assert 0.85 <= covered["force_y_N"] <= 1.0


def test_cycle_is_that_of_the_original(run, knee, space):
    config = load_config(run / "config.toml")
    found = cycle_errors(config, run, knee)
    assert found["medial_force_y_N"] < 1.0
    assert found["anterior_m"] < 1.0
    assert found["rotation_rad"] < 2.0


def test_open_keys_follow_from_the_table(run, noisy):
    """The stored configuration holds what was derived, and is read back as it is."""
    config = load_config(run / "config.toml")
    assert completed(config) == config
    path = tabulated_path(config.space.path)
    rows = build_original(config).inside(sample_space(config, path))
    assert len(rows) == len(noisy)
    assert config.design.budget == 0
    assert config.validation.points == round(0.2 * ROWS)
    assert config.surrogate.kriging.nugget == (1e-4, 1.0)
    # The box is no larger than the rows ask for.
    assert config.space.rotation_deg < 8.8
    assert config.space.load_N[1] < 3200


@pytest.mark.parametrize(
    ("given", "candidates", "budget", "rounds"),
    [
        ({}, 20480, 12000, 1),
        ({"budget": 1000}, 4096, 1000, 3),
        ({"budget": 14000}, 20480, 14000, 1),
        ({"budget": 0, "rounds": 2}, 20480, 0, 2),
        ({"candidates": 8192}, 8192, 8192, 1),
    ],
)
def test_springs_take_many_samples(given, candidates, budget, rounds):
    config = Config.model_validate({"design": given})
    design = completed(config).design
    assert (design.candidates, design.budget, design.rounds) == (candidates, budget, rounds)
    assert completed(completed(config)) == completed(config)
    few = Config.model_validate({"design": given, "surrogate": {"family": "kriging"}})
    assert completed(few) == few
    solid = Config.model_validate({"design": given, "contact": {"model": "finite_element"}})
    assert completed(solid) == solid


def test_given_keys_are_kept_and_a_smaller_space_leaves_rows_out(noisy, tmp_path):
    given = {"space": {"flexion_deg": [5.0, 40.0], "rotation_deg": 4.0}}
    study = write_study(tmp_path, noisy, quantities=True, validation={"points": 33}, **given)
    config = completed(load_config(study))
    assert config.space.flexion_deg == (5.0, 40.0)
    assert config.space.rotation_deg == 4.0
    assert config.validation.points == 33
    original = build_original(config)
    space = sample_space(config, tabulated_path(config.space.path))
    inside = original.inside(space)
    flexion = np.degrees(inside["flexion_rad"])
    assert (flexion.min() >= 5.0, flexion.max() <= 40.0) == (True, True)
    assert len(original.rows) - len(original.inside(space)) == len(noisy) - len(inside) > 0
    many = load_config(study, ("validation.points=200", "design.first=90"))
    with pytest.raises(TableError, match=r"needs more than 290 medial rows in the sample"):
        original.candidates(space, completed(many))


@pytest.mark.parametrize("degrees", [[0.0], [0.0, 30.0]])
def test_space_holds_rows_of_few_flexions(noisy, tmp_path, degrees):
    """As a finite-element sweep has them, the first one at full extension."""
    levels = np.radians(np.resize(degrees, len(noisy)))
    rows = noisy.assign(flexion_rad=levels, adduction_rad=0.0, lateral_m=0.0)
    config = completed(load_config(write_study(tmp_path, rows, quantities=True)))
    space = sample_space(config, tabulated_path(config.space.path))
    assert config.space.flexion_deg[0] == 0.0
    assert len(build_original(config).inside(space)) == len(rows)


def test_table_without_areas_and_pressures_shows_none(bare_run):
    lacking = list(QUANTITY_COLUMNS)
    assert content(bare_run, "run")["original"]["not_given"] == lacking
    assert surrogates.load(bare_run / "knee.npz").header["not_given"] == lacking
    cycle = read_table(bare_run / "simulation.parquet")
    for name in lacking:
        assert cycle[[f"medial_{name}", f"total_{name}"]].isna().all(axis=None), name
    for table in ("first", "heldout", "screened-1"):
        stored = read_table(bare_run / "samples" / f"{table}.parquet")
        assert stored[lacking].isna().all(axis=None), table
    validation = content(bare_run, "report")["validation"]
    told = json.dumps(validation)
    assert "contact area" not in told
    assert "centre of pressure" not in told
    assert "AP force" in told
    notes = [note["text"] for note in content(bare_run, "report")["overview"]["notes"]]
    assert any(text.startswith("not given: contact area") for text in notes)
