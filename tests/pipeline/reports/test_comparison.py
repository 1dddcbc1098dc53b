"""Two runs of the built-in implant on one page: dishes of 45 and of 80 mm."""

from __future__ import annotations

import json
import re
import shutil
from html import escape
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from studies import TINY, run_command

from pipeline.cli.main import main
from pipeline.reports import comparison
from pipeline.reports.comparison import PAGE, comparison_of
from pipeline.reports.inputs import read_run
from pipeline.reports.overview_picture import bounds_of, peak_pressure

#: Sagittal radii of the plateaus [mm]; the first one is that of the tiny run.
DISHES = (45, 80)


@pytest.fixture(scope="module")
def runs(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("dishes")
    changes = (
        *('run.name="flat"', f"knee.implant.dish_sagittal_radius_mm={DISHES[1]}.0"),
        *("simulation.combinations=false", "surrogate.compare=[]"),
    )
    assert main(run_command(folder / "flat", *TINY, *changes)) == 0
    return [shutil.copytree(tiny_run, folder / "dished"), folder / "flat"]


@pytest.fixture(scope="module")
def out(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared") / "new"
    assert main(["compare-runs", *map(str, runs), "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def content(out: Path) -> dict[str, Any]:
    return json.loads((out / "compared_runs.json").read_text(encoding="utf-8"))


def figures(content: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["key"]: row for row in content["figures"]}


def test_flatter_dish_has_less_area_and_more_travel(content: dict[str, Any]) -> None:
    """A larger radius conforms less: the contact shrinks, the pressure and the travel grow."""
    shown = figures(content)
    assert shown["largest_area_mm2"]["difference"] < 0.0
    assert shown["mean_area_mm2"]["difference"] < 0.0
    assert shown["medial_peak_pressure_MPa"]["difference"] > 0.0
    assert shown["anterior_range_mm"]["difference"] > 0.0


def test_figures_are_those_of_both_reports(content: dict[str, Any], runs: list[Path]) -> None:
    stored = [json.loads((run / "report.json").read_text(encoding="utf-8")) for run in runs]
    for key, row in figures(content).items():
        one, other = (report["knee"][key] for report in stored)
        assert (row["A"], row["B"]) == (one, other)
        assert_allclose(row["difference"], other - one, rtol=1e-12, atol=1e-15)
        if row["unit"] != "%":
            assert_allclose(row["difference_percent"], 100.0 * (other - one) / one, rtol=1e-12)
    for letter, report in zip("AB", stored, strict=True):
        assert content["runs"][letter]["verdict"] == report["verdict"]


def test_keys_that_differ_are_told(content: dict[str, Any]) -> None:
    assert content["keys"] == [
        {"key": "knee.implant.dish_sagittal_radius_mm", "A": "45.0", "B": "80.0"},
        {"key": "simulation.combinations", "A": "true", "B": "false"},
        {"key": "surrogate.compare", "A": '[["inverted", "polynomial"]]', "B": "[]"},
    ]


def test_pictures_have_one_scale_and_one_extent(runs: list[Path]) -> None:
    found = [peak_pressure(read_run(run)) for run in runs]
    known = [each for each in found if each is not None]
    assert len(known) == 2
    limit, corners = bounds_of(known)
    assert limit == max(each.pressure.max() for each in known)
    for each in known:
        used = each.tibia[0][np.unique(each.tibia[1])]
        assert (used >= corners[0]).all()
        assert (used <= corners[1]).all()


def test_page_has_tiles_curves_and_both_verdicts(out: Path, content: dict[str, Any]) -> None:
    page = (out / PAGE).read_text(encoding="utf-8")
    # Two maps, and position, rotation, two pressures, area and share over the cycle.
    assert page.count("<img ") == 2
    assert page.count('<figure class="chart"') == 6
    assert page.count('class="verdict"') == 2
    assert len(re.findall(r'class="tile[ "]', page)) == len(content["figures"]) == 8
    assert "knee.implant.dish_sagittal_radius_mm" in page
    assert not re.search(r"https?://", re.sub(r"data:[^\"]+", "", page))


@pytest.mark.parametrize("labels", [(), ("45 mm", "80 mm & more")])
def test_runs_of_one_name_are_told_apart_everywhere(
    tiny_run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    labels: tuple[str, ...],
) -> None:
    folders = [shutil.copytree(tiny_run, tmp_path / name / "run") for name in ("old", "new")]
    legends = []
    chart = comparison.cycle_chart

    def listed(name: str, text: str, lines: dict[str, Any], label: str) -> Any:
        legends.append([*lines])
        return chart(name, text, lines, label)

    monkeypatch.setattr(comparison, "cycle_chart", listed)
    options = [word for label in labels for word in ("--label", label)]
    words = ["compare-runs", *map(str, folders), "--out", str(tmp_path), *options]
    assert main(words) == 0
    a, b = labels or ("old/run", "new/run")
    told = capsys.readouterr().out
    assert f"peak pressure, medial [MPa]: {a} " in told
    assert f"verdict of {b}: " in told
    assert legends
    assert legends == [[a, b]] * len(legends)
    page = (tmp_path / PAGE).read_text(encoding="utf-8")
    a, b = escape(a), escape(b)
    for words in (f"<span>{a}</span>", f"<span>{b}</span>", f'class="ask">{b}<', f"Solid: {a};"):
        assert words in page
    assert not re.search(r"\b[AB]: |\(A\)|RUN_FOLDER", re.sub(r"data:[^\"]+", "", page))
    for folder in folders:
        assert f"<span>{folder}/config.toml</span>" in page


@pytest.mark.slow
def test_written_again_it_is_the_same(runs: list[Path], out: Path) -> None:
    before = (out / PAGE).read_bytes(), dict(matplotlib.rcParams)
    assert main(["compare-runs", *map(str, runs), "--out", str(out)]) == 0
    assert ((out / PAGE).read_bytes(), dict(matplotlib.rcParams)) == before


@pytest.mark.slow
def test_json_on_the_terminal(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare-runs", *map(str, runs), "--out", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(figures(told)) >= {"medial_peak_pressure_MPa", "wear_mm3_per_million_cycles"}


@pytest.mark.slow
def test_wear_of_one_material_only_has_no_difference(runs: list[Path], tmp_path: Path) -> None:
    soft = shutil.copytree(runs[1], tmp_path / "soft")
    (soft / "made_with.json").unlink()
    path = soft / "config.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("_MPa = 463.0", "_MPa = 10.0"), encoding="utf-8")
    files = {"A": read_run(runs[0]), "B": read_run(soft)}
    found = comparison_of(files, {"A": "hard", "B": "soft"}).content()
    wear = figures(found)["wear_mm3_per_million_cycles"]
    assert wear["A"] > 0.0
    assert wear["B"] is wear["difference"] is wear["difference_percent"] is None


def test_refusals(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    for words, told in (
        ([runs[0], runs[0]], "found the same folder"),
        ([*runs, "--out", tmp_path / "file"], "expected a folder, found a file"),
        ([runs[0], tmp_path / "none"], "no such run directory"),
        ([*runs, "--label", "one"], "--label: expected none or two different names"),
        ([*runs, "--label", "one", "--label", "one"], "found 'one', 'one'"),
    ):
        assert main(["compare-runs", *map(str, words)]) == 2
        assert told in capsys.readouterr().err
