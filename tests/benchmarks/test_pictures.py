"""Where the benchmarks draw: never over a picture of the documentation unless asked to."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from benchmarks.pictures import DOCS, target

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], Path("runs/benchmarks/a.png")),
        (["--out", "here/b.png"], Path("here/b.png")),
        (["--docs"], DOCS / "a.png"),
    ],
)
def test_target(arguments, expected):
    assert target("a.png", None, arguments) == expected
    assert expected.parent.is_dir()


def test_docs_and_out_exclude_each_other(capsys):
    with pytest.raises(SystemExit):
        target("a.png", None, ["--docs", "--out", "b.png"])
    assert "not allowed with" in capsys.readouterr().err


def test_documentation_has_each_picture():
    for name in (
        "integrators",
        "heel_strike",
        "planar_knee",
        "restitution",
        "peers",
        "two_fidelities",
    ):
        assert (DOCS / f"{name}.png").is_file()


@pytest.mark.slow
def test_restitution_draws_into_the_given_file_alone(elsewhere, monkeypatch, capsys):
    """Carried out as a program; the picture of the documentation stays as it was."""
    before = (DOCS / "restitution.png").read_bytes()
    monkeypatch.setattr(sys, "argv", ["restitution"])
    monkeypatch.delitem(sys.modules, "benchmarks.restitution", raising=False)
    runpy.run_module("benchmarks.restitution", run_name="__main__")
    assert (DOCS / "restitution.png").read_bytes() == before
    drawn = elsewhere / "runs" / "benchmarks" / "restitution.png"
    assert drawn.read_bytes().startswith(b"\x89PNG")
    assert "written: runs/benchmarks/restitution.png" in capsys.readouterr().out


def test_no_benchmark_names_the_folder_of_the_documentation():
    """The one way to it is `--docs`."""
    for path in (ROOT / "benchmarks").rglob("*.py"):
        if path.name != "pictures.py":
            assert '"docs"' not in path.read_text(encoding="utf-8"), path
