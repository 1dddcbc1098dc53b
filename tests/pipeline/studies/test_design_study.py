"""Studies of runs over designs: parameters of the design vary beside those of the gait cycle."""

import json

import numpy as np
import pytest
import tomli_w
from numpy.testing import assert_allclose

from foundation.base.errors import InputError
from pipeline.cli.main import main
from pipeline.design_space.design_gait import gait_of_design, original_cycle
from pipeline.design_space.trained_designs import TrainedDesigns
from pipeline.flagged_instants import kinds_of
from pipeline.stages.cycle_outputs import OUTPUTS
from pipeline.store.samples import read_table
from pipeline.studies.design_runs import DesignTask
from pipeline.studies.runs import run_once
from pipeline.studies.study import load_study, simulate_study

DISH, MODULUS = "design_dish_sagittal_radius_mm", "design_youngs_modulus_MPa"
FACTORS = [
    {"name": DISH, "distribution": "uniform", "low": 60.0, "high": 86.0},
    {"name": "axial_scale", "distribution": "uniform", "low": 0.9, "high": 1.1},
]
PEAK = "medial_peak_pressure_MPa"


def command(run, folder, *options, factors=FACTORS, **changes):
    study = {"name": "tiny", "run": str(run), "runs": 4, "kind": "sobol", "workers": 1}
    path = folder.with_name(f"{folder.name}.toml")
    path.write_text(tomli_w.dumps({"study": study | changes | {"factor": factors}}))
    return ["study", str(path), "--out", str(folder), "--quiet", *options]


@pytest.fixture(scope="module")
def opened(tiny_designs):
    return TrainedDesigns.open(tiny_designs)


@pytest.fixture(scope="module")
def done(tiny_designs, tmp_path_factory):
    """Return the folder of a Sobol study of a parameter of the design and one of gait."""
    folder = tmp_path_factory.mktemp("study") / "done"
    assert main(command(tiny_designs, folder)) == 0
    return folder


def task_of(folder, model="surrogate", outside="flag"):
    return DesignTask.of(folder, model, {}, outside=outside)


def outputs_of(row):
    return np.array([row[name] for name in OUTPUTS])


def test_sobol_indices_are_of_design_and_gait(done):
    summary = json.loads((done / "summary.json").read_text())
    assert (summary["runs"], summary["failed"]) == (16, 0)
    for name in (PEAK, "medial_force_peak_N"):
        indices = summary["sensitivity"]["outputs"][name]
        assert indices.keys() == {DISH, "axial_scale"}
        assert all(np.isfinite(each["total"]) for each in indices.values())
    # the force of a condyle is that of the simulator, the pressure depends on the dish
    force = summary["sensitivity"]["outputs"]["medial_force_peak_N"]
    assert force["axial_scale"]["total"] > 10.0 * force[DISH]["total"]
    assert summary["sensitivity"]["outputs"][PEAK][DISH]["total"] > 0.1


def test_error_of_the_surrogate_is_that_of_gait_cycles_of_held_out_designs(done, opened):
    outputs = json.loads((done / "summary.json").read_text())["outputs"]
    errors = opened.knee.header["errors"]
    for name, error in ((PEAK, "peak_percent"), ("anterior_range_mm", "ap_travel_percent")):
        wanted = 0.01 * errors[error]["rms"] * outputs[name]["q50"]
        assert outputs[name]["model_error"] == pytest.approx(wanted, rel=1e-9)
    assert outputs["rotation_range_deg"]["model_error"] is None
    page = (done / "study.html").read_text()
    assert f"error of the surrogate ±{outputs[PEAK]['model_error']:.2g}" in page
    assert "gait cycles of the held-out designs" in page


def test_other_parameters_are_fixed_and_told(done, tiny_designs, tmp_path, capsys):
    table = read_table(done / "runs.parquet")
    assert (table[MODULUS] == 650.0).all()
    told = f"{MODULUS} is fixed at 650 MPa (middle of the range, the base configuration has 463)"
    summary = json.loads((done / "summary.json").read_text())
    assert summary["notes"][0] == told
    assert told in (done / "study.html").read_text()
    fixed = [row for row in summary["factors"] if row["name"] == MODULUS]
    assert fixed == [{"name": MODULUS, "distribution": "fixed", "value": 650.0}]
    modulus = [{"name": MODULUS, "distribution": "uniform", "low": 500.0, "high": 800.0}]
    assert main(command(tiny_designs, tmp_path / "other", factors=modulus, kind="montecarlo")) == 0
    shown = capsys.readouterr().out
    assert f"{DISH} is fixed at 70 mm (base configuration)" in shown
    assert (read_table(tmp_path / "other" / "runs.parquet")[DISH] == 70.0).all()


def test_row_is_the_simulation_of_its_design(done, opened):
    row = read_table(done / "runs.parquet").iloc[5]
    design = {"dish_sagittal_radius_mm": row[DISH], "youngs_modulus_MPa": row[MODULUS]}
    gait = gait_of_design(opened.config, opened.knee, design)
    result = gait(opened.knee.at(design), gait.cycle.scaled(axial=row["axial_scale"]))
    columns = result.columns()
    assert row[PEAK] == 1e-6 * columns["medial_peak_pressure_Pa"].max()
    assert row["anterior_range_mm"] == pytest.approx(1e3 * np.ptp(columns["anterior_m"]), 1e-12)


def test_original_model_is_that_of_the_design(tiny_designs, opened):
    task = task_of(tiny_designs, "original")
    row = run_once(task, {DISH: 75.0, MODULUS: 660.0})
    design = {"dish_sagittal_radius_mm": 75.0, "youngs_modulus_MPa": 660.0}
    wanted = original_cycle(opened.config, opened.knee, design)[0].outputs
    assert (outputs_of(row) == outputs_of(wanted)).all()
    assert "design" not in row["flags"]
    # Springs are linear in the modulus, whether the design or the factor changes it; the restraints
    # are slack on the path of the design, which moves by micrometres.
    scaled = run_once(task, {DISH: 75.0, MODULUS: 600.0, "modulus_scale": 1.1})
    assert_allclose(outputs_of(scaled), outputs_of(row), rtol=2e-4)


def test_designs_with_large_expected_errors_are_flagged(tiny_designs):
    values = {DISH: 75.0, MODULUS: 660.0}
    row = run_once(task_of(tiny_designs), values)
    assert row["status"] == "ok"
    assert row["flagged_instants"] == 21
    assert row["flags"].startswith("design: outside the trained domain, errors expected")
    assert "outside_design" in kinds_of([row["flag_kinds"]])
    failed = run_once(task_of(tiny_designs, outside="fail"), values)
    assert (failed["status"], np.isnan(failed[PEAK])) == ("failed", True)
    assert failed["reason"].startswith("design: outside the trained domain")


@pytest.mark.parametrize("model", ["surrogate", "original"])
@pytest.mark.parametrize(
    ("dish", "reason"),
    [
        (89.0, "infeasible: not dish_sagittal_radius_mm < 88"),
        (59.0, "dish_sagittal_radius_mm: expected 60 to 90, found 59"),
    ],
)
def test_designs_that_cannot_be_have_failed(tiny_designs, model, dish, reason):
    row = run_once(task_of(tiny_designs, model), {DISH: dish, MODULUS: 600.0})
    assert row["status"] == "failed"
    assert reason in row["reason"]
    assert np.isnan(outputs_of(row)).all()
    assert np.isnan(row["wave_anterior_mm"]).all()
    assert len(row["wave_anterior_mm"]) == 21


RANGE = r"expected values within 60 to 90 mm, the trained range of the parameter, found "


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        ({"name": DISH, "distribution": "uniform", "low": 50.0, "high": 95.0},
         RANGE + "low = 50, high = 95"),
        ({"name": DISH, "mean": 65.0, "sd": 5.0},
         RANGE + '16 % of a normal distribution outside; choose distribution = "truncated_normal"'),
        ({"name": "design_radius_mm", "distribution": "fixed", "value": 1.0},
         "expected one of design_dish_sagittal_radius_mm, design_youngs_modulus_MPa, found "
         r"design_radius_mm \(did you mean design_dish_sagittal_radius_mm\?\)"),
    ],
)  # fmt: skip
def test_factors_outside_the_designs_are_refused(tiny_designs, tmp_path, factor, message):
    file = command(tiny_designs, tmp_path / "study", factors=[factor, FACTORS[1]])[1]
    with pytest.raises(InputError, match=message):
        simulate_study(load_study(file), tmp_path / "study")
    assert not (tmp_path / "study").exists()
