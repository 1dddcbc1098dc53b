"""The frame of the benchmarks: cells in units, tables, and where pictures are drawn."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import runpy
import sys
from pathlib import Path

import pytest

import benchmarks
from benchmarks.frame import DOCS, Rows, Table, add_target, alike, measured, shown

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("cell", "name", "form", "text"),
    [
        (2e-3, "edge [mm]", "g", "2"),
        (0.0123, "error [%]", "+.1f", "+1.2"),
        (0.5, "RMS [% of the largest]", ".0f", "50"),
        ((1e-6, 2e-6), "departure [µm]", "{:.0f} / {:.1f}", "1 / 2.0"),
        (0.5236, "rotation [deg]", ".0f", "30"),
        (9636, "triangles", "d", "9636"),
        ("no flag", "force [%]", ".1f", "no flag"),
        (None, "force [%]", ".1f", ""),
    ],
)
def test_a_cell_shows_si_values_in_the_unit_of_its_column(cell, name, form, text):
    assert shown(cell, name, form) == text


def test_an_unknown_unit_is_an_error():
    with pytest.raises(KeyError, match="furlong"):
        shown(1.0, "edge [furlong]", "g")


@measured("Edges", {"knee": "", **alike(("edge [mm]", "gap [mm]"), ".1f")})
def edges(*knees: str) -> Rows:
    for name in knees:
        yield name, 1e-3, None


def test_rows_become_a_table():
    table = edges("left", "right")
    assert table.rows == [("left", 1e-3, None), ("right", 1e-3, None)]
    assert str(table).splitlines() == [
        "### Edges",
        "",
        "| knee | edge [mm] | gap [mm] |",
        "|---|---|---|",
        "| left | 1.0 |  |",
        "| right | 1.0 |  |",
    ]


def test_a_row_has_a_cell_for_each_column():
    with pytest.raises(ValueError, match="zip"):
        str(Table("Edges", {"edge [mm]": "g"}, [(1e-3, 2e-3)]))


def target(arguments: list[str]) -> Path:
    parser = argparse.ArgumentParser()
    add_target(parser, "a.png")
    return parser.parse_args(arguments).out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], Path("runs/benchmarks/a.png")),
        (["--out", "here/b.png"], Path("here/b.png")),
        (["--docs"], DOCS / "a.png"),
    ],
)
def test_target(arguments, expected):
    assert target(arguments) == expected


def test_docs_and_out_exclude_each_other(capsys):
    with pytest.raises(SystemExit):
        target(["--docs", "--out", "b.png"])
    assert "not allowed with" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["integrators", "planar_knee", "restitution", "peers", "two_fidelities"]
)
def test_documentation_has_each_picture(name):
    assert (DOCS / f"{name}.png").is_file()


@pytest.mark.slow
def test_restitution_draws_into_the_given_file_alone(tmp_path, monkeypatch, capsys):
    """Carried out as a program; the picture of the documentation stays as it was."""
    before = (DOCS / "restitution.png").read_bytes()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["restitution"])
    monkeypatch.delitem(sys.modules, "benchmarks.restitution", raising=False)
    runpy.run_module("benchmarks.restitution", run_name="__main__")
    assert (DOCS / "restitution.png").read_bytes() == before
    drawn = tmp_path / "runs" / "benchmarks" / "restitution.png"
    assert drawn.read_bytes().startswith(b"\x89PNG")
    assert "written: runs/benchmarks/restitution.png" in capsys.readouterr().out


def test_every_benchmark_can_be_imported():
    """Types of benchmarks are not checked; programs and other engines are left out."""
    left_out = ("__main__", "entries", "hydroelastic", "simbody")
    for module in pkgutil.walk_packages(benchmarks.__path__, "benchmarks."):
        if not module.name.endswith(left_out):
            importlib.import_module(module.name)


def test_no_benchmark_names_the_folder_of_the_documentation():
    """The one way to it is `--docs`."""
    for path in (ROOT / "benchmarks").rglob("*.py"):
        if path.name != "frame.py":
            assert '"docs"' not in path.read_text(encoding="utf-8"), path
