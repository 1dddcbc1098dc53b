"""The stored tables seen from outside: `samples summary` and `samples export`."""

import json

import numpy as np
import pandas as pd
import pytest

from pipeline.cli.main import main
from pipeline.originals.pose_load_table import read_pose_loads
from pipeline.store.sample_schema import described, unit_of
from pipeline.store.sample_tables import export_tables, in_people_units, summary
from pipeline.store.samples import LOAD_COLUMNS, POSE_COLUMNS, StoreError, read_table


@pytest.mark.parametrize(
    ("column", "unit", "words"),
    [
        ("flexion_rad", "rad", "flexion"),
        ("lateral_m", "m", "lateral position"),
        ("lateral_force_y_N", "N", "lateral compartment: axial"),
        ("moment_x_Nm", "N m", "moment on the femur"),
        ("predicted_area_m2", "m^2", "by the surrogate: contact area"),
        ("error_cop_z_m", "m", "predicted standard error: centre"),
        ("total_wear_mm3_per_million_cycles", "mm^3 per million cycles", ""),
        ("compartment", "", "medial or lateral"),
        ("stiffness_N_per_m", "", ""),
        ("unheard_of", "", ""),
    ],
)
def test_names_tell_units_and_meaning(column, unit, words):
    found = described(column)
    assert found[0] == unit
    assert found[1].startswith(words)


def test_every_column_of_a_run_is_described(tiny_run):
    for file in [*tiny_run.glob("samples/*.parquet"), *tiny_run.glob("*.parquet")]:
        for column in read_table(file).columns:
            assert described(column)[1], column


def test_units_of_people_and_back():
    assert unit_of("anterior_mm") == ("anterior", "m", 1e-3)
    assert unit_of("force_x_N") == ("force_x", "N", 1.0)
    assert unit_of("status") is None
    assert unit_of("wear_per_Pa") is None
    table = pd.DataFrame({"flexion_rad": [np.pi], "area_m2": [2e-4], "load_N": [3.0], "n": [1]})
    shown = in_people_units(table)
    assert list(shown) == ["flexion_deg", "area_mm2", "load_N", "n"]
    np.testing.assert_allclose(shown.iloc[0].astype(float), [180.0, 200.0, 3.0, 1], rtol=1e-15)


def test_summary_of_a_run(tiny_run):
    rows = {row.table: row for row in summary(tiny_run)}
    first, table = rows["first"], read_table(tiny_run / "samples" / "first.parquet")
    assert first.rows == len(table) == first.ok + first.failed
    assert first.checksum == "matches"
    ranges = {column.column: column for column in first.columns}
    assert ranges["force_y_N"].unit == "N"
    assert ranges["force_y_N"].greatest == table["force_y_N"].max()
    assert "simulation" in rows
    assert rows["simulation"].ok is None


def test_summary_on_the_command_line(run_copy, capsys):
    damaged = run_copy / "samples" / "kept.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-9])
    assert main(["samples", "summary", str(run_copy)]) == 2
    text = capsys.readouterr().out
    assert "first: 120 rows, 120 ok, 0 failed; checksum: matches" in text
    assert "kept: damaged: " in text
    assert main(["samples", "summary", str(run_copy / "samples" / "first.parquet"), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["table"], row["rows"], row["reasons"]) == ("first", 120, {})


def test_exported_csv_is_a_table_of_poses_and_loads(tiny_run, tmp_path, capsys):
    out = tmp_path / "first.csv"
    command = ["samples", "export", str(tiny_run), "--format", "csv", "--table", "first"]
    assert main([*command, "--units", "people", "--out", str(out)]) == 0
    first, verdict, *_ = capsys.readouterr().out.splitlines()
    assert first == str(out)
    about = "surrogate against contact model: loads and motion:"
    assert verdict.startswith(f"verdict of {tiny_run}: {about}")
    table = read_table(tiny_run / "samples" / "first.parquet")
    found = read_pose_loads(out)
    columns = [*POSE_COLUMNS, *LOAD_COLUMNS]
    np.testing.assert_allclose(found.rows[columns], table[columns], rtol=1e-13, atol=1e-18)
    assert found.ignored == ()


def test_all_tables_go_into_a_folder(tiny_run, tmp_path):
    files = export_tables(tiny_run, "parquet", tmp_path / "all", people=True)
    names = {file.stem for file in files}
    assert {"first", "heldout", "simulation", "kept-1"} <= names
    first = read_table(tiny_run / "samples" / "first.parquet")
    found = read_table(tmp_path / "all" / "first.parquet")
    np.testing.assert_allclose(found["anterior_mm"], 1e3 * first["anterior_m"], rtol=1e-14, atol=0)


def test_what_is_not_there_is_named(tiny_run, tmp_path):
    with pytest.raises(StoreError, match=r"no table 'firts', expected one of candidates, comb"):
        export_tables(tiny_run, "csv", tmp_path / "a.csv", wanted=["firts"])
    with pytest.raises(StoreError, match="expected a run directory with tables in samples/"):
        summary(tmp_path)
    (tmp_path / "a.csv").write_text("")
    for source in ("none.parquet", "a.csv"):
        with pytest.raises(StoreError, match=r"expected a run directory .* or a Parquet file"):
            summary(tmp_path / source)
    with pytest.raises(ValueError, match=r"a\.csv: expected a folder for \d+ tables, found a file"):
        export_tables(tiny_run, "csv", tmp_path / "a.csv")
