"""Tables of poses and loads from elsewhere: forms, units, mistakes; runs of such tables."""

import json

import numpy as np
import pandas as pd
import pytest
from studies import SMOKE

import surrogates
from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS, QUANTITY_COLUMNS, WRENCH_COLUMNS
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.config.schema import Config
from pipeline.originals.candidates import sample_space
from pipeline.originals.contact_original import build_knee
from pipeline.originals.pose_load_table import TableError, read_pose_loads
from pipeline.originals.reference_path import tabulated_path
from pipeline.originals.table_original import build_original, completed
from pipeline.stages.assessment import feasible
from pipeline.store.figures import AT_POSE, Figures
from pipeline.store.samples import (
    OK,
    POSE_COLUMNS,
    in_people_units,
    line_of_action,
    loads_of,
    poses_of,
    read_table,
    usable,
    write_table,
)
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


@pytest.fixture(scope="module")
def run(noisy, tmp_path_factory):
    """A finished run of a table with errors, of forces and moments alone."""
    folder = tmp_path_factory.mktemp("table")
    study = write_study(folder, noisy, quantities=False, **QUICK)
    assert main(["run", str(study), "--out", str(folder / "run"), "--quiet"]) == 0
    return folder / "run"


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
    assert original["not_given"] == list(QUANTITY_COLUMNS)
    gait = report["gait"]
    assert gait["models"] == ["surrogate"]
    assert gait["differences"] == []
    for key in ("speed", "wear", "combinations"):
        assert gait[key] is None, key
    assert report["summary"][0].startswith("original: table poses_and_loads.csv, ")
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
    errors = Figures.model_validate(content(run, "validation")["figures"])
    assert 0.85 <= errors.value(AT_POSE, "medial", "force_y_N", "coverage") <= 1.0


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


def test_table_without_areas_and_pressures_shows_none(run):
    lacking = list(QUANTITY_COLUMNS)
    assert content(run, "run")["original"]["not_given"] == lacking
    assert surrogates.load(run / "knee.npz").header["not_given"] == lacking
    cycle = read_table(run / "simulation.parquet")
    for name in lacking:
        assert cycle[[f"medial_{name}", f"total_{name}"]].isna().all(axis=None), name
    for table in ("first", "heldout", "screened-1"):
        stored = read_table(run / "samples" / f"{table}.parquet")
        assert stored[lacking].isna().all(axis=None), table
    validation = content(run, "report")["validation"]
    told = json.dumps(validation)
    assert "contact area" not in told
    assert "centre of pressure" not in told
    assert "AP force" in told
    notes = [note["text"] for note in content(run, "report")["overview"]["notes"]]
    assert any(text.startswith("not given: contact area") for text in notes)


LONG = ["compartment", *POSE_COLUMNS, *LOAD_COLUMNS]


def table(count=60):
    """Both compartments at the same poses, with loads that hang together as a condyle's do."""
    rng = np.random.default_rng(3)
    poses = rng.uniform(-1.0, 1.0, (count, 6)) * [0.5, 0.017, 0.14, 5e-3, 1e-3, 1e-3]
    parts = []
    for name, side in zip(COMPARTMENTS, (-22e-3, 22e-3), strict=True):
        axial = rng.uniform(50.0, 2800.0, count)
        force = np.column_stack([0.1 * axial, axial, 0.05 * axial])
        centre = np.column_stack([poses[:, 3], 0.01 + 0 * axial, side + poses[:, 5]])
        area = 4e-6 * np.sqrt(axial)
        quantities = np.column_stack([area, 1.6 * axial / area, axial / area, centre])
        loads = np.column_stack([force, np.cross(centre, force), quantities])
        values = np.column_stack([poses + np.array([0.5, 0, 0, 4e-3, 0.03, 0]), loads])
        parts.append(pd.DataFrame(values, columns=LONG[1:]).assign(compartment=name))
    return pd.concat(parts, ignore_index=True)[LONG]


def wide(rows):
    parts = [rows[rows["compartment"] == name].reset_index(drop=True) for name in COMPARTMENTS]
    loads = [
        part[list(LOAD_COLUMNS)].add_prefix(f"{name}_")
        for name, part in zip(COMPARTMENTS, parts, strict=True)
    ]
    return pd.concat([parts[0][list(POSE_COLUMNS)], *loads], axis=1)


def write(folder, rows, name="t.csv"):
    rows.to_csv(folder / name, index=False)
    return folder / name


def refused(folder, rows, side="right"):
    path = write(folder, rows)
    with pytest.raises(TableError) as caught:
        read_pose_loads(path, side)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path}: ")


def assert_same(found, rows):
    columns = [*POSE_COLUMNS, *LOAD_COLUMNS]
    assert found.rows["compartment"].tolist() == rows["compartment"].tolist()
    np.testing.assert_allclose(found.rows[columns], rows[columns], rtol=1e-14, atol=0)


def test_long_table_in_si_units(tmp_path):
    found = read_pose_loads(write(tmp_path, table()))
    assert_same(found, table())
    assert (found.count, found.out_of_contact, found.no_answer) == (120, 0, 0)
    assert (found.not_given, found.ignored, found.name) == ((), (), "t.csv")
    assert found.rows["index"].tolist() == list(range(120))
    assert set(found.rows["status"]) == {"ok"}
    np.testing.assert_array_equal(found.rows["load_N"], found.rows["force_y_N"])


def test_units_for_people_are_told_by_the_names(tmp_path):
    shown = in_people_units(table())
    assert {"flexion_deg", "anterior_mm", "moment_x_Nmm", "area_mm2", "cop_x_mm"} <= set(shown)
    assert_same(read_pose_loads(write(tmp_path, shown)), table())
    shown["force_x_kN"] = 1e-3 * shown.pop("force_x_N")
    shown["anterior_inch"] = shown.pop("anterior_mm") / 25.4
    assert_same(read_pose_loads(write(tmp_path, shown)), table())


def test_wide_table_is_the_long_one(tmp_path):
    found = read_pose_loads(write(tmp_path, wide(table())))
    assert_same(found, table())
    assert found.count == 60
    assert found.rows["index"].tolist() == 2 * list(range(60))
    assert_same(read_pose_loads(write(tmp_path, in_people_units(wide(table())))), table())


def test_parquet_of_this_project_and_of_others(tmp_path):
    write_table(table(), tmp_path / "own.parquet")
    table().to_parquet(tmp_path / "other.parquet")
    for name in ("own", "other"):
        assert_same(read_pose_loads(tmp_path / f"{name}.parquet"), table())


def test_rows_without_contact_and_failed_ones_are_counted(tmp_path):
    rows = table().assign(status="ok")
    rows.loc[[2, 7, 80], list(LOAD_COLUMNS)] = 0.0
    rows.loc[[2, 7], list(QUANTITY_COLUMNS[3:])] = np.nan
    rows.loc[11, "status"] = "failed"
    rows.loc[11, list(LOAD_COLUMNS)] = np.nan
    found = read_pose_loads(write(tmp_path, rows))
    assert (found.out_of_contact, found.no_answer) == (3, 1)
    assert_same(found, rows.drop(index=[2, 7, 11, 80]))
    assert not {2, 7, 11, 80} & set(found.rows["index"])


def test_quantities_may_be_left_out(tmp_path):
    rows = table().drop(columns=list(QUANTITY_COLUMNS))
    found = read_pose_loads(write(tmp_path, rows))
    assert found.not_given == QUANTITY_COLUMNS
    assert found.rows[list(QUANTITY_COLUMNS)].isna().all(axis=None)
    loads = loads_of(found.rows)
    assert (loads[:, 6:9] == 0.0).all()
    np.testing.assert_array_equal(loads[:, 9:], line_of_action(loads))
    only_area = read_pose_loads(write(tmp_path, rows.assign(area_mm2=100.0)))
    assert only_area.not_given == QUANTITY_COLUMNS[1:]


def test_line_of_action_carries_the_moment():
    rng = np.random.default_rng(0)
    force = rng.uniform(-1, 1, (5, 3)) * [100, 100, 100] + [0, 1000, 0]
    point = rng.uniform(-0.03, 0.03, (5, 3)) * [1, 0, 1]
    free = 3e-3 * force
    wrench = np.column_stack([force, np.cross(point, force) + free])
    np.testing.assert_allclose(line_of_action(wrench), point, rtol=0, atol=1e-15)


def test_left_knee_is_mirrored(tmp_path):
    signs = {"adduction_rad": -1, "rotation_rad": -1, "lateral_m": -1}
    signs |= {"force_z_N": -1, "moment_x_Nm": -1, "moment_y_Nm": -1, "cop_z_m": -1}
    rows = table()
    seen = rows.assign(**{name: sign * rows[name] for name, sign in signs.items()})
    assert_same(read_pose_loads(write(tmp_path, seen), "left"), rows)
    told = refused(tmp_path, seen)
    assert told.startswith("expected the medial loads to act medially of the lateral loads")
    assert 'original.side = "left"' in told
    assert 'original.side = "right"' in refused(tmp_path, rows, "left")


def changed(column, row, value):
    def change(rows):
        rows.loc[row, column] = value
        return rows

    return change


MISTAKES = {
    "missing": (lambda r: r.drop(columns=["lateral_m", "moment_y_Nm"]), "lacks lateral_m, moment"),
    "no unit": (lambda r: r.rename(columns={"force_y_N": "force_y"}), "column 'force_y':"),
    "totals": (lambda r: r.drop(columns="compartment"), "expected the loads of each compartment"),
    "text": (lambda r: r.assign(force_y_N=["x", *r["force_y_N"][1:]]), "row 1, force_y_N: expect"),
    "NaN": (changed("force_x_N", 3, np.nan), "row 4, medial: expected a finite force_x_N"),
    "duplicate": (lambda r: pd.concat([r, r.iloc[[5]]]), "rows 6 and 121 are the same pose"),
    "mm as m": (lambda r: r.assign(anterior_m=1e3 * r["anterior_m"]), "anterior_m: expected a"),
    "Nmm as Nm": (
        lambda r: r.assign(**{c: 1e3 * r[c] for c in WRENCH_COLUMNS[3:]}), "moments over forces"),
    "MPa as Pa": (lambda r: r.assign(peak_pressure_Pa=1e-6 * r["peak_pressure_Pa"]), "peak_press"),
    "on the tibia": (
        lambda r: r.assign(**{c: -r[c] for c in WRENCH_COLUMNS}),
        "force_y_N: expected forces on the femur"),
    "pulls": (changed("force_y_N", 9, -200.0), "row 10, medial: expected an axial force >= 0"),
    "few": (lambda r: r.iloc[:80], "expected at least 50 poses of the lateral compartment"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_is_named_in_a_sentence(tmp_path, name):
    change, told = MISTAKES[name]
    assert told in refused(tmp_path, change(table()))
