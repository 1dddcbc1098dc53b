"""Studies from file to page: rows, workers, resumption, failures, and what is refused."""

import json
import re
import tomllib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import tomli_w
from numpy.testing import assert_allclose
from studies import stored_samples

from dynamics import Ligament
from dynamics.ligaments.bundle_tables import ligament_rows
from foundation.base.errors import InputError
from pipeline.cli.main import main
from pipeline.config.reading import ConfigError
from pipeline.flagged_instants import kinds_of
from pipeline.simulation import OUTPUTS, WAVES
from pipeline.store.samples import read_table
from pipeline.studies import study as studies_of_cycles
from pipeline.studies.dispatch import carry_out, load_study
from pipeline.studies.factors import check_applicable
from pipeline.studies.schema import StudyFile
from pipeline.studies.study import CycleSetup, run_once, study_task

FACTORS = [
    {"name": "axial_scale", "distribution": "uniform", "low": 0.9, "high": 1.1},
    {"name": "ap_force_sin2_N", "mean": 0.0, "sd": 10.0},
    {"name": "ap_stiffness_N_per_mm", "distribution": "lognormal", "mean": 30.0, "sd": 3.0},
    {"name": "alignment_rotation_deg", "distribution": "uniform", "low": -0.5, "high": 0.5},
    {"name": "modulus_scale", "distribution": "uniform", "low": 0.9, "high": 1.1},
]
FILES = {
    *("config.toml", "samples.sqlite", "runs.parquet", "waveforms.npz"),
    *("summary.json", "study.html"),
}


def tree(run, factors=FACTORS, **changes):
    study = {"name": "tiny", "run": str(run), "runs": 6, "workers": 1, "chunk": 2}
    return {"study": study | changes | {"factor": factors}}


def study(run, factors=FACTORS, **changes):
    return load(tree(run, factors, **changes), run.parent)


def load(content, folder):
    path = folder / "study.toml"
    path.write_text(tomli_w.dumps(content))
    return load_study(path)


def command(run, folder, *arguments, factors=FACTORS, **changes):
    path = folder.parent / f"{folder.name}.toml"
    path.write_text(tomli_w.dumps(tree(run, factors, **changes)))
    return ["run", str(path), "--out", str(folder), "--quiet", *arguments]


def rows(folder):
    return read_table(folder / "runs.parquet").drop(columns="seconds")


def assert_same_study(one, other):
    assert rows(one).equals(rows(other))
    with np.load(one / "waveforms.npz") as left, np.load(other / "waveforms.npz") as right:
        assert left.files == right.files
        for name in left.files:
            assert left[name].tobytes() == right[name].tobytes(), name


@pytest.fixture(scope="module")
def done(tiny_run, tmp_path_factory):
    """Return the folder of a study of six runs; not to be written to."""
    folder = tmp_path_factory.mktemp("study") / "done"
    carry_out(study(tiny_run), folder)
    return folder


def test_folder_of_a_study(done, tiny_run):
    assert {path.name for path in done.iterdir()} == FILES
    table = read_table(done / "runs.parquet")
    assert table["run"].tolist() == list(range(6))
    assert (table["status"] == "ok").all()
    assert np.isfinite(table[list(OUTPUTS)].to_numpy()).all()
    assert (table["evaluations"] > 0).all()
    with np.load(done / "waveforms.npz") as waves:
        assert set(waves.files) == {"gait_percent", "run", *WAVES}
        assert waves["anterior_mm"].dtype == np.float32
        assert waves["anterior_mm"].shape == (6, 21)
        ranges = np.ptp(waves["anterior_mm"], axis=1)
    assert_allclose(ranges, table["anterior_range_mm"], rtol=1e-4)
    stored = tomllib.loads((done / "config.toml").read_text())
    assert StudyFile.model_validate(stored, strict=False).study.runs == 6


def test_summary_is_that_of_the_rows(done):
    summary = json.loads((done / "summary.json").read_text())
    table = read_table(done / "runs.parquet")
    assert (summary["runs"], summary["failed"], summary["summarised"]) == (6, 0, 6)
    for name in OUTPUTS:
        found = summary["outputs"][name]
        assert_allclose(found["mean"], table[name].mean(), rtol=1e-12)
        assert_allclose(found["q50"], table[name].median(), rtol=1e-12)
    correlations = summary["sensitivity"]["outputs"]["medial_force_peak_N"]
    assert correlations.keys() == {factor["name"] for factor in FACTORS}
    assert correlations["axial_scale"] > 0.5


@pytest.mark.slow
def test_results_depend_on_neither_workers_nor_chunks(done, tiny_run, tmp_path):
    carry_out(study(tiny_run, workers=2, chunk=1), tmp_path / "other")
    assert_same_study(tmp_path / "other", done)


def stopping(monkeypatch, after):
    """Let the evaluation stop after some chunks; return the rows that were evaluated."""
    seen = []
    whole = studies_of_cycles.run_rows

    def counted(task, table):
        if len(seen) == after:
            raise KeyboardInterrupt
        seen.append(table["run"].tolist())
        return whole(task, table)

    monkeypatch.setattr(studies_of_cycles, "run_rows", counted)
    return seen


def test_interrupted_study_continues(done, tiny_run, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "half"
    with monkeypatch.context() as patch:
        assert stopping(patch, 2) == []
        assert main(command(tiny_run, folder)) == 130
    assert "--resume" in capsys.readouterr().err
    assert stored_samples(folder / "samples.sqlite") == 4
    seen = stopping(monkeypatch, None)
    # Another chunk and another number of workers change no number.
    assert main(command(tiny_run, folder, "--resume", chunk=1)) == 0
    assert seen == [[4], [5]]
    assert_same_study(folder, done)
    assert {path.name for path in folder.iterdir()} == FILES


def test_failed_runs_keep_their_rows_and_reasons(tiny_run, tmp_path):
    factors = [{"name": "axial_offset_N", "distribution": "uniform", "low": -400.0, "high": 400.0}]
    file = study(tiny_run, factors, runs=8, kind="latin_hypercube")
    summary = carry_out(file, tmp_path / "failing").document
    table = read_table(tmp_path / "failing" / "runs.parquet")
    failed = table["axial_offset_N"] < -168.0
    assert 0 < failed.sum() < 8
    assert (table["status"] == np.where(failed, "failed", "ok")).all()
    assert table["reason"][failed].str.startswith("axial_force: expected >= 0").all()
    assert table.loc[failed, list(OUTPUTS)].isna().all(axis=None)
    assert summary.failed == failed.sum()
    assert sum(row.runs for row in summary.failures) == failed.sum()
    assert summary.outputs["medial_force_peak_N"]["minimum"] > 0.0
    with np.load(tmp_path / "failing" / "waveforms.npz") as waves:
        assert np.isnan(waves["anterior_mm"][failed]).all()


def test_runs_outside_the_domain_are_flagged(tiny_run):
    values = {"neutral_anterior_mm": 3.0}
    flagged = run_once(study_task(study(tiny_run)), values)
    assert flagged["status"] == "ok"
    assert flagged["flagged_instants"] > 0
    assert "outside the trained domain" in flagged["flags"]
    kinds = kinds_of([flagged["flag_kinds"]])
    assert kinds
    assert all(kind.startswith("outside_") for kind in kinds)


def test_sobol_study_of_wear(tiny_run, tmp_path):
    """Wear is linear in its factor: with little else varied, it explains all."""
    factors = [
        {"name": "wear_factor_mm3_per_Nm", "distribution": "uniform", "low": 5e-8, "high": 1.5e-7},
        {"name": "period_s", "distribution": "fixed", "value": 1.0},
    ]
    file = study(tiny_run, factors, kind="sobol", runs=4)
    summary = carry_out(file, tmp_path / "sobol").document
    assert summary.runs == 12
    assert summary.summarised == 8
    table = read_table(tmp_path / "sobol" / "runs.parquet")
    wear = table["total_wear_mm3_per_million_cycles"]
    expected = summary.nominal["total_wear_mm3_per_million_cycles"] / 1e-7
    assert_allclose(wear / table["wear_factor_mm3_per_Nm"], expected, rtol=1e-9)
    # All but the wear is the nominal cycle, the period being what it was.
    assert_allclose(table["anterior_range_mm"], summary.nominal["anterior_range_mm"], rtol=1e-12)
    assert summary.sensitivity.outputs["anterior_range_mm"] is None
    found = summary.sensitivity.outputs["total_wear_mm3_per_million_cycles"]
    assert set(found) == {"wear_factor_mm3_per_Nm"}
    assert_allclose(found["wear_factor_mm3_per_Nm"].total, 1.0, rtol=0, atol=0.5)


def test_everything_a_tenth_stronger_moves_the_same(tiny_run):
    """Loads, springs, masses and material are all that the equations of motion are linear in."""
    run = CycleSetup.of(study_task(study(tiny_run))).gait.config
    nominal = CycleSetup.of(study_task(study(tiny_run))).nominal.simulator
    content = tree(tiny_run) | {"simulation": {"relative_tolerance": 1e-6}}
    task = study_task(load(content, tiny_run.parent))
    values = {"modulus_scale": 1.1, "axial_scale": 1.1, "ap_scale": 1.1, "torque_scale": 1.1}
    values["ap_stiffness_N_per_mm"] = 1.1 * run.ap_stiffness_N_per_mm
    values["rotation_stiffness_Nm_per_deg"] = 1.1 * run.rotation_stiffness_Nm_per_deg
    for name in ("anterior", "superior", "lateral"):
        values[f"{name}_mass_kg"] = 1.1 * getattr(nominal, f"{name}_mass")
        values[f"{name}_damping_Ns_per_m"] = 1.1 * getattr(nominal, f"{name}_damping")
    for name in ("adduction", "rotation"):
        values[f"{name}_inertia_kg_m2"] = 1.1 * getattr(nominal, f"{name}_inertia")
        values[f"{name}_damping_Nms_per_rad"] = 1.1 * getattr(nominal, f"{name}_damping")
    one, other = run_once(task, {}), run_once(task, values)
    for name in OUTPUTS:
        kind = name.rpartition("_")[2]
        factor = 1.0 if kind in ("mm", "deg", "mm2") else 1.1
        assert_allclose(other[name], factor * one[name], rtol=1e-3, atol=1e-4, err_msg=name)


DRAWS = {"name": "ligament_draw", "distribution": "table", "table": "draws.csv"}


@pytest.fixture
def bundles(tiny_run):
    """Return two draws of a bundle that pulls the tibia of the tiny run medially."""
    ends = [-0.01, 0.0, 0.0], [0.02, -0.01, -0.02]
    drawn = [Ligament("ACL", *ends, rest, 3e4, "linear") for rest in (0.025, 0.03)]
    rows = [ligament_rows([each])[0] for each in drawn]
    table = pd.DataFrame(rows).assign(draw=[3, 7], menisci_N_per_mm=[25.0, 35.0])
    table.to_csv(tiny_run.parent / "draws.csv", index=False)
    return table


def test_runs_draw_ligaments_from_a_table(tiny_run, bundles, tmp_path):
    exact = {"relative_tolerance": 1e-6}
    content = tree(tiny_run, [DRAWS], kind="latin_hypercube", runs=4) | {"simulation": exact}
    summary = carry_out(load(content, tiny_run.parent), tmp_path / "drawn").document
    table = read_table(tmp_path / "drawn" / "runs.parquet")
    assert sorted(table["ligament_draw"]) == [0, 0, 1, 1]
    assert set(summary.sensitivity.outputs.values()) == {None}
    for number in (0, 1):
        path = tiny_run.parent / "one.csv"
        bundles.iloc[[number], :-2].to_csv(path, index=False)
        keys = {"ligaments": str(path), "ap_stiffness_N_per_mm": [25.0, 35.0][number]}
        content = tree(tiny_run) | {"simulation": exact | keys}
        plain = run_once(study_task(load(content, tmp_path)), {})
        own = table[table["ligament_draw"] == number]
        for name in ("medial_force_peak_N", "anterior_range_mm"):
            assert_allclose(own[name], plain[name], rtol=1e-4)
    assert table["anterior_range_mm"].nunique() > 1


def test_refused_draws(tiny_run, bundles):
    for change, words in (
        ({"name": "ap_scale"}, 'ap_scale: expected distribution = "table" for ligament_draw alone'),
        ({"table": "none.csv"}, "expected a table of draws of a study with .laxity., found no"),
    ):
        with pytest.raises(ConfigError, match=words):
            study_task(study(tiny_run, [DRAWS | change]))
    inputs = CycleSetup.of(study_task(study(tiny_run))).nominal
    with pytest.raises(InputError, match=r"ligament_draw: expected a factor of \[study\]"):
        check_applicable(inputs, ["ligament_draw"])


def test_wear_factor_is_refused_under_a_law_of_area(tiny_run):
    task = study_task(study(tiny_run))
    by_area = task.simulation.model_copy(update={"wear_law": "coefficient"})
    inputs = CycleSetup.of(replace(task, simulation=by_area)).nominal
    with pytest.raises(InputError, match=r'wear_factor_mm3_per_Nm: expected .*wear_law = "factor"'):
        check_applicable(inputs, ["wear_factor_mm3_per_Nm"])


UNIFORM = {"name": "ap_scale", "distribution": "uniform", "low": 0.0, "high": 1.0}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"factors": [UNIFORM | {"name": "axial_scal"}]},
            "study.factor.0.name.*similar names are axial_",
        ),
        ({"factors": [UNIFORM | {"mean": 2.0}]}, "ap_scale: expected low, high for a uniform"),
        (
            {"factors": [{"name": "ap_stiffness_N_per_mm", "mean": 1.0, "sd": 5.0}]},
            "ap_stiffness_N_per_mm: expected values >= 0, found -",
        ),
        ({"factors": [UNIFORM | {"name": "anterior_motion_scale"}]}, "anterior_motion_scale"),
    ],
)
def test_bad_input_is_named_with_status_2(tiny_run, tmp_path, capsys, changes, words):
    assert main(command(tiny_run, tmp_path / "bad", **changes)) == 2
    error = capsys.readouterr().err
    assert error.count("error: ") == 1
    assert re.search(words, error), error
    assert not (tmp_path / "bad").exists()


def test_worn_insert_of_a_run(run_copy, capsys):
    """Two blocks: the first is the cycle's own wear times its cycles, the second begins there."""
    assert main(["wear", str(run_copy), "--cycles", "2e6", "--blocks", "2", "--quiet"]) == 0
    rows = json.loads((run_copy / "worn.json").read_text(encoding="utf-8"))["blocks"]
    with np.load(run_copy / "wear.npz") as one, np.load(run_copy / "worn.npz") as all_of_them:
        first, depth = one["volume_m3"][0], all_of_them["depth_m"]
        volume, cycles = all_of_them["volume_m3"], all_of_them["cycles"]
        corners = all_of_them["vertices_m"][all_of_them["faces"]]
    assert cycles.tolist() == [0.0, 1e6, 2e6]
    assert_allclose(volume[1], 1e6 * first, rtol=1e-9)
    # A worn surface conforms better: the wear changes, but not by much.
    step = volume[2] - volume[1]
    assert (np.abs(step / volume[1] - 1.0) < 0.2).all()
    assert (step != volume[1]).all()
    sides = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = 0.5 * np.linalg.norm(sides, axis=1)
    assert_allclose(areas @ depth, volume[2].sum(), rtol=5e-3)
    last = rows[-1]
    assert_allclose(last["total_mm3"], 1e9 * volume[2].sum(), rtol=1e-12)
    assert_allclose(last["mass_mg"], 0.94 * last["total_mm3"], rtol=1e-12)
    assert_allclose(last["largest_depth_mm"], 1e3 * depth.max(), rtol=1e-12)
    assert f"| {2e6:.4g} |" in capsys.readouterr().out


def test_wear_beyond_the_insert_is_refused(run_copy, capsys):
    assert main(["wear", str(run_copy), "--quiet", "--cycles", "1e12", "--blocks", "1"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert re.search("block 1 of 1, .*take more blocks or fewer cycles", error)
