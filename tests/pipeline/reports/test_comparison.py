"""Two runs of the built-in implant on one page: dishes of 45 and of 80 mm."""

import json
import shutil
from html import escape

import pytest
from numpy.testing import assert_allclose
from studies import TINY, run_command

from pipeline.cli.main import main
from pipeline.reports.comparison import PAGE

#: Sagittal radii of the plateaus [mm]; the first one is that of the tiny run.
DISHES = (45, 80)


@pytest.fixture(scope="module")
def runs(tiny_run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dishes")
    changes = (
        *('run.name="flat"', f"knee.implant.dish_sagittal_radius_mm={DISHES[1]}.0"),
        "simulation.combinations=false",
    )
    assert main(run_command(folder / "flat", *TINY, *changes)) == 0
    return [shutil.copytree(tiny_run, folder / "dished"), folder / "flat"]


@pytest.fixture(scope="module")
def out(runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared") / "new"
    assert main(["compare-runs", *map(str, runs), "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def content(out):
    return json.loads((out / "compared_runs.json").read_text(encoding="utf-8"))


def figures(content):
    return {row["key"]: row for row in content["figures"]}


def test_flatter_dish_has_less_area_and_more_travel(content):
    """A larger radius conforms less: the contact shrinks, the pressure and the travel grow."""
    shown = figures(content)
    assert shown["largest_area_mm2"]["difference"] < 0.0
    assert shown["mean_area_mm2"]["difference"] < 0.0
    assert shown["medial_peak_pressure_MPa"]["difference"] > 0.0
    assert shown["anterior_range_mm"]["difference"] > 0.0


def test_figures_are_those_of_both_reports(content, runs):
    stored = [json.loads((run / "report.json").read_text(encoding="utf-8")) for run in runs]
    for key, row in figures(content).items():
        one, other = (report["knee"][key] for report in stored)
        assert (row["A"], row["B"]) == (one, other)
        assert_allclose(row["difference"], other - one, rtol=1e-12, atol=1e-15)
        if row["unit"] != "%":
            assert_allclose(row["difference_percent"], 100.0 * (other - one) / one, rtol=1e-12)
    for letter, report in zip("AB", stored, strict=True):
        assert content["runs"][letter]["verdict"] == report["verdict"]


@pytest.mark.parametrize("labels", [(), ("45 mm", "80 mm & more")])
def test_runs_of_one_name_are_told_apart(tiny_run, tmp_path, capsys, labels):
    folders = [shutil.copytree(tiny_run, tmp_path / name / "run") for name in ("old", "new")]
    options = [word for label in labels for word in ("--label", label)]
    assert main(["compare-runs", *map(str, folders), "--out", str(tmp_path), *options]) == 0
    a, b = labels or ("old/run", "new/run")
    told = capsys.readouterr().out
    assert f"peak pressure, medial [MPa]: {a} " in told
    assert f"verdict of {b}: " in told
    page = (tmp_path / PAGE).read_text(encoding="utf-8")
    assert f"<span>{escape(a)}</span>" in page
    assert f"<span>{escape(b)}</span>" in page
