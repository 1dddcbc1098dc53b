"""Studies by design of experiments: distributions, indices, inputs; of designs beside gait."""

import json
import re

import numpy as np
import pytest
import tomli_w
from numpy.testing import assert_allclose
from scipy import stats

from dynamics.simulator.knee_simulator import KneeSimulator
from dynamics.simulator.waveform_tables import LEVEL_WALKING, load_gait_cycle
from dynamics.simulator.waveforms import GaitCycle
from foundation.base.pose import COORDINATES, Pose
from pipeline.cli.main import main
from pipeline.config.reading import ConfigError
from pipeline.design_space.designs import TrainedDesigns
from pipeline.flagged_instants import kinds_of
from pipeline.simulation import OUTPUTS, GaitSimulation
from pipeline.store.samples import read_table
from pipeline.studies.experiment import (
    base_runs,
    quantile,
    rank_correlations,
    study_table,
)
from pipeline.studies.factors import (
    FACTORS,
    Inputs,
    check_applicable,
    varied,
)
from pipeline.studies.schema import FactorConfig, StudyConfig
from pipeline.studies.study import DesignTask, run_once
from surrogates.sampling.sensitivity import sobol_indices, unit_design

SHARES = np.array([0.025, 0.16, 0.5, 0.84, 0.975])


def config(kind="montecarlo", runs=16, factors=None, **changes):
    if factors is None:
        factors = (
            FactorConfig(name="axial_scale", distribution="uniform", low=0.8, high=1.2),
            FactorConfig(name="period_s", distribution="fixed", value=1.1),
            FactorConfig(name="ap_offset_N", mean=3.0, sd=10.0),
        )
    return StudyConfig(kind=kind, runs=runs, factor=tuple(factors), **changes)


def test_monte_carlo_row_depends_on_seed_and_number_alone():
    few, many = unit_design("montecarlo", 5, 3, 7), unit_design("montecarlo", 50, 3, 7)
    assert np.array_equal(few, many[:5])
    assert not np.array_equal(few, unit_design("montecarlo", 5, 3, 8))
    assert len(np.unique(many)) == many.size


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"distribution": "uniform", "low": 2.0, "high": 6.0}, stats.uniform(2.0, 4.0)),
        ({"distribution": "normal", "mean": 2.0, "sd": 0.5}, stats.norm(2.0, 0.5)),
        (
            {"distribution": "truncated_normal", "mean": 2.0, "sd": 0.5, "low": 1.5, "high": 4.0},
            stats.truncnorm(-1.0, 4.0, 2.0, 0.5),
        ),
    ],
)
def test_quantiles_are_those_of_the_distribution(settings, expected):
    values = quantile(FactorConfig(name="ap_scale", **settings), SHARES)
    assert_allclose(values, expected.ppf(SHARES), rtol=1e-12)


def test_lognormal_has_the_stated_mean_and_deviation():
    factor = FactorConfig(name="ap_scale", distribution="lognormal", mean=30.0, sd=9.0)
    # Midpoint rule over the shares: the moments of the distribution itself.
    values = quantile(factor, (np.arange(200_000) + 0.5) / 200_000)
    assert_allclose(values.mean(), 30.0, rtol=1e-4)
    assert_allclose(values.std(), 9.0, rtol=2e-3)
    assert values.min() > 0.0


def test_table_holds_values_in_their_units_and_fixed_ones():
    table = study_table(config(runs=40))
    assert list(table.columns) == ["run", "axial_scale", "period_s", "ap_offset_N"]
    unit = unit_design("montecarlo", 40, 2, 1)
    assert_allclose(table["axial_scale"], 0.8 + 0.4 * unit[:, 0], rtol=1e-12)
    assert_allclose(table["ap_offset_N"], stats.norm.ppf(unit[:, 1], 3.0, 10.0), rtol=1e-9)
    assert (table["period_s"] == 1.1).all()


def test_sobol_table_and_its_base_matrices():
    study = config("sobol", 8)
    table = study_table(study)
    assert len(table) == 8 * 4
    chosen = base_runs(study, len(table))
    assert chosen.sum() == 16
    assert len(np.unique(table["axial_scale"][chosen])) == 16


@pytest.mark.parametrize(
    ("name", "mean", "words"),
    [
        ("ap_stiffness_N_per_mm", 1.0, "expected values >= 0"),
        ("superior_mass_kg", 1.0, "expected values > 0"),
        ("modulus_scale", 0.1, "lognormal"),
    ],
)
def test_value_that_is_not_allowed_is_named(name, mean, words):
    study = config(factors=[FactorConfig(name=name, mean=mean, sd=5.0)])
    with pytest.raises(ConfigError, match=words) as caught:
        study_table(study)
    assert f"study.factor: {name}: " in str(caught.value)


def ishigami(unit):
    x = np.pi * (2.0 * unit - 1.0)
    return np.sin(x[:, 0]) + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])


def ishigami_indices():
    """Return first-order and total indices; Ishigami & Homma 1990, a = 7, b = 0.1."""
    a, b = 7.0, 0.1
    first = 0.5 * (1.0 + b * np.pi**4 / 5.0) ** 2
    second = a**2 / 8.0
    both = 8.0 * b**2 * np.pi**8 / 225.0
    total = first + second + both
    return np.array([first, second, 0.0]) / total, np.array([first + both, second, both]) / total


def test_sobol_indices_of_the_ishigami_function():
    names = ["a", "b", "c"]
    found = sobol_indices(names, ishigami(unit_design("sobol", 2048, 3, 1)), seed=1)
    first, total = ishigami_indices()
    assert_allclose([found[n]["first"] for n in names], first, rtol=0, atol=0.02)
    assert_allclose([found[n]["total"] for n in names], total, rtol=0, atol=0.02)
    assert all(0.0 < found[n]["total_half_width"] < 0.1 for n in names)


def test_sobol_indices_leave_out_blocks_with_a_failed_run():
    values = ishigami(unit_design("sobol", 1024, 3, 1))
    values[[3, 507, 2222]] = np.nan
    found = sobol_indices(["a", "b", "c"], values, seed=1)
    _, total = ishigami_indices()
    assert_allclose([found[n]["total"] for n in "abc"], total, rtol=0, atol=0.04)


def test_rank_correlations_are_those_of_scipy():
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(60, 3))
    outputs = np.column_stack([inputs[:, 0] ** 3, inputs @ [1.0, -2.0, 0.1], np.ones(60)])
    found = rank_correlations(inputs, outputs)
    assert_allclose(found[0, 0], 1.0, rtol=1e-12)
    for k in range(3):
        expected = stats.spearmanr(inputs[:, k], outputs[:, 1]).statistic
        assert_allclose(found[k, 1], expected, rtol=1e-12)
    assert np.isnan(found[:, 2]).all()


DEGREE = np.pi / 180.0
NOMINAL = Inputs(load_gait_cycle(LEVEL_WALKING, 1.0), KneeSimulator(neutral=Pose(anterior=2e-3)))
PERCENT = NOMINAL.cycle.percent
SIGNALS = {"flexion": DEGREE, "axial_force": 1.0, "ap_force": 1.0, "internal_torque": 1.0}


def contents(inputs):
    """Return all that an input holds, flat."""
    cycle = {name: getattr(inputs.cycle, name) for name in (*SIGNALS, "percent", "period")}
    simulator = {
        name: value.array if isinstance(value, Pose) else value
        for name, value in vars(inputs.simulator).items()
        if not name.startswith("_")
    }
    own = {name: getattr(inputs, name) for name in ("offset", "stiffness", "wear_factor")}
    return cycle | simulator | own


def changed(name, value, nominal=NOMINAL):
    """Return what a factor changes: name -> (before, after)."""
    before, after = contents(nominal), contents(varied(nominal, {name: value}))
    fields = (key for key in after if key in before)
    return {k: (before[k], after[k]) for k in fields if not np.array_equal(before[k], after[k])}


def only(name, value, field):
    """Return a field before and after, which alone has changed."""
    found = changed(name, value)
    assert set(found) == {field}, name
    return found[field]


@pytest.mark.parametrize(
    ("short", "signal"),
    [
        ("flexion", "flexion"),
        ("axial", "axial_force"),
        ("ap", "ap_force"),
        ("torque", "internal_torque"),
    ],
)
def test_scale_and_offset(short, signal):
    before, after = only(f"{short}_scale", 1.1, signal)
    assert_allclose(after, 1.1 * before, rtol=1e-14)
    (offset,) = (name for name in FACTORS if name.startswith(f"{short}_offset_"))
    before, after = only(offset, 2.0, signal)
    assert_allclose(after, before + 2.0 * SIGNALS[signal], rtol=1e-14)


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize(("wave", "function"), [("cos", np.cos), ("sin", np.sin)])
@pytest.mark.parametrize("number", [1, 3, 9])
def test_harmonics(signal, wave, function, number):
    unit = {"flexion": "deg", "internal_torque": "Nm"}.get(signal, "N")
    before, after = only(f"{signal}_{wave}{number}_{unit}", 0.3, signal)
    expected = 0.3 * SIGNALS[signal] * function(2 * np.pi * number * PERCENT / 100.0)
    assert_allclose(after - before, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("short", "signal"), [("axial", "axial_force"), ("ap", "ap_force"), ("torque", None)]
)
def test_positive_shift_is_a_delay(short, signal):
    before, after = only(f"{short}_shift_percent", 10.0, signal or "internal_torque")
    # A whole number of rows: the delayed signal is the table's own, rolled.
    step = PERCENT[1] - PERCENT[0]
    assert_allclose(np.diff(PERCENT), step, rtol=1e-9)
    rows = round(10.0 / step)
    assert_allclose(rows * step, 10.0, rtol=1e-9)
    assert_allclose(after[:-1], np.roll(before[:-1], rows), rtol=0, atol=1e-9 * np.ptp(before))


@pytest.mark.parametrize("coordinate", COORDINATES[1:])
def test_alignment_is_an_offset_of_one_coordinate(coordinate):
    turned = coordinate in ("adduction", "rotation")
    unit, si = ("deg", DEGREE) if turned else ("mm", 1e-3)
    _, offset = only(f"alignment_{coordinate}_{unit}", 0.5, "offset")
    expected = np.zeros(6)
    expected[COORDINATES.index(coordinate)] = 0.5 * si
    assert_allclose(offset, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "field", "si"),
    [
        ("anterior_offset_mm", "anterior_offset", 1e-3),
        ("rotation_stiffness_Nm_per_deg", "rotation_stiffness", 180.0 / np.pi),
        ("adduction_stiffness_Nm_per_deg", "adduction_stiffness", 180.0 / np.pi),
        ("ap_gap_mm", "anterior_gap", 1e-3),
        ("rotation_gap_deg", "rotation_gap", DEGREE),
        ("superior_mass_kg", "superior_mass", 1.0),
        ("anterior_damping_Ns_per_m", "anterior_damping", 1.0),
        ("modulus_scale", "stiffness", 1.0),
        ("wear_factor_mm3_per_Nm", "wear_factor", 1e-9),
        ("period_s", "period", 1.0),
    ],
)
def test_numbers_are_set_in_si(name, field, si):
    _, after = only(name, 1.7, field)
    assert_allclose(after, 1.7 * si, rtol=1e-14)


def test_prescribed_motion_is_varied_where_there_is_one():
    flexion, axial = NOMINAL.cycle.flexion, NOMINAL.cycle.axial_force
    motion = 1e-3 * np.sin(2.0 * np.pi * PERCENT / 100.0)
    cycle = GaitCycle(PERCENT, flexion, axial, anterior=motion)
    driven = Inputs(cycle, NOMINAL.simulator)
    scaled = varied(driven, {"anterior_motion_scale": 1.5}).cycle
    assert_allclose(scaled.anterior, 1.5 * cycle.anterior, rtol=1e-14)
    moved = varied(driven, {"anterior_motion_offset_mm": 2.0}).cycle
    assert_allclose(moved.anterior, cycle.anterior + 2e-3, rtol=1e-14)
    with pytest.raises(ValueError, match=r"study\.factor: ap_scale: ap_force: expected a signal"):
        check_applicable(driven, ["anterior_motion_scale", "ap_scale"])
    lacking = re.compile("_motion_|ligament_draw")
    check_applicable(NOMINAL, [name for name in FACTORS if not lacking.search(name)])


DISH, MODULUS = "design_dish_sagittal_radius_mm", "design_youngs_modulus_MPa"
OF_DESIGNS = [
    {"name": DISH, "distribution": "uniform", "low": 60.0, "high": 86.0},
    {"name": "axial_scale", "distribution": "uniform", "low": 0.9, "high": 1.1},
]
PEAK = "medial_peak_pressure_MPa"


def command(run, folder, *options, factors=OF_DESIGNS, **changes):
    study = {"name": "tiny", "run": str(run), "runs": 4, "kind": "sobol", "workers": 1}
    path = folder.with_name(f"{folder.name}.toml")
    path.write_text(tomli_w.dumps({"study": study | changes | {"factor": factors}}))
    return ["run", str(path), "--out", str(folder), "--quiet", *options]


@pytest.fixture(scope="module")
def opened(tiny_designs):
    return TrainedDesigns.open(tiny_designs)


@pytest.fixture(scope="module")
def done(tiny_designs, tmp_path_factory):
    """Return the folder of a Sobol study of a parameter of the design and one of gait."""
    folder = tmp_path_factory.mktemp("study") / "done"
    assert main(command(tiny_designs, folder)) == 0
    return folder


def task_of(folder, model="surrogate"):
    return DesignTask.of(folder, model, {})


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
    # The page has a table of each measure, the weightiest input first.
    page = (done / "study.html").read_text()
    for words in ("Total Sobol index", "± of its 95 % interval", "First-order Sobol index"):
        table = page.partition(f"<h3>{words}</h3>")[2]
        assert re.findall('<th scope="row">(.*?)</th>', table)[:2] == ["axial_scale", DISH]


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


def test_row_is_the_simulation_of_its_design(done, opened):
    row = read_table(done / "runs.parquet").iloc[5]
    design = {"dish_sagittal_radius_mm": row[DISH], "youngs_modulus_MPa": row[MODULUS]}
    gait = GaitSimulation.of(opened.config.simulation, opened.knee.path_of(design))
    result = gait(opened.knee.at(design), gait.cycle.scaled(axial=row["axial_scale"]))
    columns = result.columns()
    assert row[PEAK] == 1e-6 * columns["medial_peak_pressure_Pa"].max()
    assert row["anterior_range_mm"] == pytest.approx(1e3 * np.ptp(columns["anterior_m"]), 1e-12)


def test_designs_with_large_expected_errors_are_flagged(tiny_designs):
    values = {DISH: 75.0, MODULUS: 660.0}
    row = run_once(task_of(tiny_designs), values)
    assert row["status"] == "ok"
    assert row["flagged_instants"] == 21
    assert row["flags"].startswith("design: outside the trained domain, errors expected")
    assert "outside_design" in kinds_of([row["flag_kinds"]])


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
