"""Two runs of the built-in implant compared: dishes of 45 and of 80 mm."""

import json
import shutil

import pytest
from numpy.testing import assert_allclose
from studies import TINY, run_command

from pipeline.cli.main import main
from pipeline.reports.comparison import compare_runs

#: Sagittal radii of the plateaus [mm]; the first one is that of the tiny run.
DISHES = (45, 80)


@pytest.fixture(scope="module")
def runs(tiny_run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dishes")
    changes = (
        *('run.name="flat"', f"knee.implant.dish_sagittal_radius_mm={DISHES[1]}.0"),
        *("simulation.combinations=false", "surrogate.compare=[]"),
    )
    assert main(run_command(folder / "flat", *TINY, *changes)) == 0
    return [shutil.copytree(tiny_run, folder / "dished"), folder / "flat"]


@pytest.fixture(scope="module")
def compared(runs):
    return compare_runs(*runs)


def test_flatter_dish_has_less_area_and_more_travel(compared):
    """A larger radius conforms less: the contact shrinks, the pressure and the travel grow."""
    figures = compared[1]["figures"]
    for key, sign in (
        ("largest_area_mm2", -1),
        *(("medial_peak_pressure_MPa", 1), ("anterior_range_mm", 1)),
    ):
        assert sign * figures[f"knee.{key}"]["difference"] > 0.0


def test_figures_and_verdicts_are_those_of_both_reports(compared, runs):
    reports = [json.loads((run / "report.json").read_text(encoding="utf-8")) for run in runs]
    found = compared[1]
    for key, row in found["figures"].items():
        if key.startswith("knee."):
            one, other = (report["knee"][key.removeprefix("knee.")] for report in reports)
            assert (row["this"], row["other"]) == (one, other)
            assert_allclose(row["difference"], other - one, rtol=1e-12, atol=1e-15)
    assert found["verdicts"] == [report["verdict"]["line"] for report in reports]
    radii = found["keys"]["knee.implant.dish_sagittal_radius_mm"]
    assert tuple(radii.values()) == DISHES


def test_lines_tell_the_runs_apart(runs, capsys):
    assert main(["compare-runs", *map(str, runs)]) == 0
    told = capsys.readouterr().out
    assert told.isascii()
    assert told.startswith(f"this: {runs[0]}; other: {runs[1]}\n")
    assert f"verdict of {runs[1]}: " in told
    assert "knee.implant.dish_sagittal_radius_mm: 45.0, 80.0" in told
