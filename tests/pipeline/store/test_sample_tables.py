"""Stored samples seen from outside, and versions of the JSON documents."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from pipeline.cli.main import main
from pipeline.files import DOCUMENT_VERSION, check_version, write_document
from pipeline.originals.pose_load_table import read_pose_loads
from pipeline.reports.inputs import ReportError
from pipeline.reports.report import write_report
from pipeline.store.sample_schema import described, unit_of
from pipeline.store.sample_tables import export_tables, in_people_units, summary
from pipeline.store.samples import LOAD_COLUMNS, POSE_COLUMNS, read_table


@pytest.mark.parametrize(
    ("column", "unit", "words"),
    [
        ("flexion_rad", "rad", "flexion"),
        ("lateral_force_y_N", "N", "lateral compartment: axial"),
        ("moment_x_Nm", "N m", "moment on the femur"),
        ("error_cop_z_m", "m", "predicted standard error: centre"),
        ("total_wear_mm3_per_million_cycles", "mm^3 per million cycles", ""),
        ("compartment", "", "medial or lateral"),
        ("stiffness_N_per_m", "", ""),
    ],
)
def test_names_tell_units_and_meaning(column, unit, words):
    found = described(column)
    assert found[0] == unit
    assert found[1].startswith(words)


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


def test_document_is_headed_by_format_and_version(tmp_path):
    path = tmp_path / "walk.json"
    write_document(path, {"seconds": 1.5, "version": 7, "format": "of before"})
    content = json.loads(path.read_text(encoding="utf-8"))
    assert list(content) == ["format", "version", "seconds"]
    assert (content["format"], content["version"]) == ("knee-contact walk", DOCUMENT_VERSION)


@pytest.mark.parametrize("version", [0, DOCUMENT_VERSION + 1, "1", None, 1.5])
def test_other_versions_are_refused(version):
    with pytest.raises(ValueError, match=rf"expected version 1, found {version!r}; read"):
        check_version({"version": version})


def test_report_of_a_run_of_a_later_version_is_refused(run_copy):
    file = run_copy / "validation.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(content | {"version": DOCUMENT_VERSION + 1}), encoding="utf-8")
    with pytest.raises(ReportError, match=r"validation\.json: expected version 1, found"):
        write_report(run_copy)
