"""The verdict of a run goes with what is made of the run."""

import json
import re
import shutil
from dataclasses import replace

import pytest
import tomli_w

from pipeline.cli.main import main, parse
from pipeline.files import json_text
from pipeline.reports.judgement import joint, judgement, judgement_lines
from pipeline.reports.verdict import JUDGED, Evidence, verdict
from pipeline.simulation import OUTPUTS, model_errors
from pipeline.stages.elastic_layer import Resolution

PRESSURES = ("medial_peak_pressure_Pa", "lateral_peak_pressure_Pa")
SMOOTH = Resolution(across=12.0, roughness_percent=0.02)
GOOD = Evidence(
    differences=dict.fromkeys((*JUDGED, *PRESSURES), 0.1),
    peak_difference_percent=0.2,
    held_out_percent=0.5,
    resolution={"medial": SMOOTH, "lateral": SMOOTH},
    least_across=6.0,
)
#: Ridges of the mesh by 14 %, and a surrogate that is far off the contact model.
CARE = replace(GOOD, resolution={"medial": Resolution(12.0, 14.0)})
WRONG = replace(GOOD, differences={**GOOD.differences, "anterior_m": 40.0})
FMU = ("--fmu", "3.0", "--sources-only")
WARNING = "[space.path], [simulation]: the spring is slack at -11.50 mm"


def marked(run, evidence, *warnings):
    """Put a verdict and warnings in the place of those of a run; return its folder."""
    file = run / "report.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    found = verdict(evidence, "knee-contact run RUN_FOLDER/config.toml")
    errors = content["verdict"]["errors"]
    for row in errors:
        if "peak_pressure" in row["column"]:
            row["error_percent"] = found.parts[1].figure_percent
    content["verdict"] = found.content() | {"errors": errors}
    content["remarks"] = [
        dict(zip(("level", "about", "text"), ("warning", *text.split(": ", 1)), strict=True))
        for text in warnings
    ]
    file.write_text(json.dumps(content), encoding="utf-8")
    return run


def study_of(run, folder, **changes):
    """Return the command of a study of four cycles."""
    factor = {"name": "axial_scale", "distribution": "uniform", "low": 0.99, "high": 1.01}
    keys = {"name": "few", "run": str(run), "runs": 4, "workers": 1, "factor": [factor]}
    (folder / "study.toml").write_text(tomli_w.dumps({"study": keys | changes}))
    return ["run", str(folder / "study.toml"), "--out", str(folder / "study")]


def answer(words):
    """Return what a command tells people and programs."""
    request = parse(words)
    assert request is not None
    return request.command(*request.arguments.args, **request.arguments.kwargs)


def commands(run, folder):
    return {
        "motion": ["motion", str(run), "--out", str(folder / "cycle.mot")],
        "loads": ["loads", str(run), str(folder / "cycle.mot"), "--out", str(folder / "loads.csv")],
        "loads of the file": [
            *("loads", str(run / "knee.npz"), str(folder / "cycle.mot")),
            *("--out", str(folder / "loads.csv")),
        ],
        "export": ["export", str(run), "--out", str(folder / "c")],
        "FMU": ["export", str(run), "--out", str(folder / "c"), *FMU],
        "study": study_of(run, folder),
    }


@pytest.fixture(scope="module")
def wrong(tiny_run, tmp_path_factory):
    """Return a copy of the tiny run that is not to be used; not to be written to."""
    run = shutil.copytree(tiny_run, tmp_path_factory.mktemp("wrong") / "run")
    return marked(run, WRONG, WARNING)


def test_the_verdict_is_that_of_the_report(tiny_run):
    report = json.loads((tiny_run / "report.json").read_text())
    found = judgement(tiny_run)
    assert found is not None
    for key in ("level", "line", "errors"):
        assert found.content()[key] == report["verdict"][key]
    warned = [r for r in report["remarks"] if r["level"] == "warning"]
    assert found.warnings == [f"{r['about']}: {r['text']}" for r in warned]
    assert str(tiny_run) in found.next.command
    by_column = {row.column: row for row in found.errors}
    rows = {row["column"]: row for row in report["gait"]["differences"]}
    assert by_column["anterior_m"].in_value(5.0) == rows["anterior_m"]["rms_difference_mm"]
    figure = report["verdict"]["parts"][1]["figure_percent"]
    assert {by_column[name].error_percent for name in PRESSURES} == {figure}


def test_every_use_of_a_run_that_is_wrong_says_so(wrong, tmp_path):
    for name, words in commands(wrong, tmp_path).items():
        shown, content, status = answer(words)
        assert status == 0, name
        assert re.search(r"verdict of .*: loads and motion: do not use, 40 %: off the", shown), name
        assert f"do not use these results: {wrong}" in shown, name
        assert WARNING in shown, name
        told = json.loads(json_text(content))["verdict"]
        assert (told["level"], told["warnings"]) == ("do not use", [WARNING]), name


def test_quantities_of_a_study_have_the_error_of_the_surrogate(run_copy, tmp_path, capsys):
    marked(run_copy, CARE)
    assert main(study_of(run_copy, tmp_path)) == 0
    shown = capsys.readouterr().out
    summary = json.loads((tmp_path / "study" / "summary.json").read_text())
    page = (tmp_path / "study" / "study.html").read_text()
    outputs = summary["outputs"]
    pressure = outputs["medial_peak_pressure_MPa"]
    assert pressure["model_error"] == pytest.approx(0.14 * pressure["q50"], rel=1e-12)
    # The interval of the inputs is narrower than the error of the surrogate.
    assert pressure["q97.5"] - pressure["q2.5"] < pressure["model_error"]
    errors = {row["column"]: row for row in summary["verdict"]["errors"]}
    assert outputs["anterior_range_mm"]["model_error"] == errors["anterior_m"]["error_mm"]
    assert outputs["area_max_mm2"]["model_error"] == errors["total_area_m2"]["error_mm2"]
    wear = outputs["total_wear_mm3_per_million_cycles"]
    share = errors["total_wear"]["error_percent"]
    assert wear["model_error"] == pytest.approx(0.01 * share * wear["q50"], rel=1e-12)
    assert all(row["model_error"] > 0.0 for row in outputs.values())
    error = re.escape(f"+-{pressure['model_error']:.2g}")
    assert re.search(rf"medial peak pressure: median .*; error of the surrogate {error}", shown)
    assert "peak pressure: care, +-14 %: ridges of the mesh" in shown
    assert page.count('class="verdict"') == 1
    assert f"error of the surrogate ±{pressure['model_error']:.2g}" in page


def test_the_original_is_judged_by_its_mesh(run_copy, tmp_path):
    marked(run_copy, replace(CARE, differences=WRONG.differences))
    motion, out = tmp_path / "cycle.mot", tmp_path / "loads.csv"
    answer(["motion", str(run_copy), "--out", str(motion)])
    shown, content, _ = answer(
        ["loads", str(run_copy), str(motion), "--out", str(out), "--original"]
    )
    assert f"verdict of {run_copy}, original model: peak pressure: care, +-14 %" in shown
    assert "do not use" not in shown
    assert content["verdict"].level == "care"
    assert [part.what for part in content["verdict"].parts] == ["peak pressure"]
    values = {"medial_peak_pressure_MPa": 20.0, "anterior_range_mm": 5.0}
    errors = model_errors(OUTPUTS, values, content["verdict"])
    assert errors == {"medial_peak_pressure_MPa": pytest.approx(2.8), "anterior_range_mm": None}
    trusted = judgement(marked(run_copy, WRONG), "original")
    assert trusted is not None
    assert trusted.line == "peak pressure: trust, ±0.020 %"


@pytest.mark.parametrize("place", ["elsewhere", "beside another run"])
def test_a_surrogate_without_its_report_is_not_judged(run_copy, tmp_path, place):
    file, report = run_copy / "knee.npz", run_copy / "report.json"
    content = json.loads(report.read_text())
    if place == "elsewhere":
        file = file.rename(tmp_path / "mine.npz")
    else:
        content["provenance"]["sha256"]["samples"] = "0" * 64
    report.write_text(json.dumps(content))
    assert judgement(file) is None
    told = answer(["export", str(file), "--out", str(tmp_path / "c")]).text
    assert f"verdict of {file}: unknown" in told


def test_contacts_are_judged_together(wrong, tiny_run):
    """A walk with two surrogates is as good as the worse one, and tells which one that is."""
    found = joint({"hip": judgement(tiny_run), "knee": judgement(wrong), "ankle": None})
    assert found is not None
    assert (found.level, found.warnings[-1]) == ("do not use", WARNING)
    lines = "\n".join(judgement_lines(found))
    assert "knee: loads and motion: do not use, 40 %" in lines
    assert "hip: loads and motion: care" in lines
    columns = {row.column for row in found.errors}
    assert {"hip_medial_peak_pressure_Pa", "knee_total_peak_pressure_Pa"} <= columns
    assert joint({"hip": None}) is None
    assert judgement_lines(None) == []
