"""Walks from file to page: what is written, other laboratories' tables, and what is refused."""

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from studies import ROOT, assert_same_run
from walks import MASS, OWN_COLUMNS, walk_config, walk_tables, write_csv

from dynamics.simulator.waveform_tables import load_gait_cycle
from dynamics.walking import write_motion_table
from pipeline.cli.main import main
from pipeline.config.reading import ConfigError
from pipeline.store.documents import read_document
from pipeline.store.workspace_lock import RunError
from pipeline.studies.walks import walk as walks_of_subjects
from pipeline.studies.walks.loads import loads_table, measure
from pipeline.studies.walks.schema import describe_walk
from pipeline.studies.walks.summary import WalkSummary, moment_peaks
from pipeline.studies.walks.walk import load_walk, simulate_walk

FILES = {
    *("config.toml", "loads.csv", "waveforms.csv", "simulation.parquet", "walk.html", "walk.json"),
}
SHIPPED = ROOT / "configs" / "walking.toml"


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Return the files of a made-up walk, right leg, with OpenSim's names."""
    folder = tmp_path_factory.mktemp("measured")
    motion, ground = walk_tables()
    write_motion_table(folder / "motion.mot", motion)
    write_motion_table(folder / "ground.sto", ground)
    return folder / "motion.mot", folder / "ground.sto"


@pytest.fixture(scope="module")
def walk(tables, tmp_path_factory):
    return load_walk(walk_config(tmp_path_factory.mktemp("walk"), "no-run", *tables))


@pytest.fixture(scope="module")
def done(tables, tiny_run, tmp_path_factory):
    """Return the folder of a walk that drives the tiny run; not to be written to."""
    folder = tmp_path_factory.mktemp("walk")
    config = walk_config(folder, tiny_run, *tables)
    assert main(["walk", str(config), "--out", str(folder / "out"), "--quiet"]) == 0
    return folder / "out"


def test_a_walk_writes_its_folder(done, walk):
    assert {path.name for path in done.iterdir()} == FILES
    summary = json.loads((done / "walk.json").read_text())
    assert summary["knee"]["peak_BW"] == pytest.approx(
        max(measure(walk).knee.peaks(MASS * 9.80665))
    )
    assert summary["knee"]["in_vivo_peak_BW"] == 2.61
    assert set(summary["outputs"]) == {"original", "surrogate"}
    one, other = (summary["outputs"][name]["medial_force_mean_N"] for name in summary["outputs"])
    assert one == pytest.approx(other, rel=0.05)
    assert one > 100.0
    page = (done / "walk.html").read_text()
    for word in (
        "Kutzner",
        "ankle plantarflexion, push-off",
        "Surrogate against original model",
        "Right leg of a body of 45.0 kg",
        "motion.mot, filtered at 6.00 Hz",
        "both in the ground force",
        "negative in flexion, as in models like gait2392",
        "The external adduction moment is applied about the middle of the knee",
        "at least 100 N",
    ):
        assert word in page
    assert not re.search(r"\bnan\b", page.lower())


def test_a_walk_has_the_verdict_of_its_run(done, tiny_run):
    summary = read_document(done / "walk.json", WalkSummary)
    report = json.loads((tiny_run / "report.json").read_text())
    assert summary.verdict.line == report["verdict"]["line"]
    share = report["verdict"]["parts"][1]["figure_percent"]
    pressure = summary.outputs["surrogate"]["medial_peak_pressure_MPa"]
    error = summary.model_errors["medial_peak_pressure_MPa"]
    assert error == pytest.approx(0.01 * share * pressure, rel=1e-12)
    assert walks_of_subjects.summary_text(summary, done).count("verdict of ") == 1
    page = (done / "walk.html").read_text()
    assert page.count('class="verdict"') == 1
    assert f"±{error:.2g}" in page


def test_the_simulator_gets_the_loads_of_the_walk(done, walk):
    """The stored waveforms are the cycle; the simulated knee carries its axial force."""
    cycle = measure(walk).cycle
    stored = load_gait_cycle(done / "waveforms.csv", cycle.period)
    for name in ("flexion", "axial_force", "ap_force", "internal_torque", "adduction_torque"):
        one = getattr(cycle, name)
        assert_allclose(getattr(stored, name), one, rtol=0, atol=1e-8 * np.abs(one).max())
    table = pd.read_parquet(done / "simulation.parquet")
    for _, rows in table.groupby("model"):
        applied = cycle.applied(rows["time_s"].to_numpy())[:, 0]
        carried = rows["total_force_y_N"].to_numpy()
        # The rest is inertia and damping of the moving parts.
        assert np.abs(carried - applied).max() < 0.15 * applied.max()


def test_the_adduction_moment_drives_the_medial_share(done, tables, tiny_run):
    """Without the moment the axial force acts at the medial offset of the run all the time."""
    config = walk_config(
        done.parent, tiny_run, *tables,
        walk={"compare": False}, muscles={"largest_offset_mm": 0.0},
    )  # fmt: skip
    folder = done.parent / "without"
    simulate_walk(load_walk(config), folder)
    shares, offsets = {}, {}
    for name, path in (("with", done), ("without", folder)):
        rows = pd.read_parquet(path / "simulation.parquet").query("model == 'surrogate'")
        loaded = rows["total_force_y_N"] > 600.0
        shares[name] = (rows["medial_force_y_N"] / rows["total_force_y_N"])[loaded].to_numpy()
        torque = rows.get("input_adduction_torque_Nm", 0.005 * rows["input_axial_force_N"])
        offsets[name] = (torque / rows["input_axial_force_N"])[loaded].to_numpy()
    assert np.ptp(shares["with"]) > 3.0 * np.ptp(shares["without"])
    # 1 mm of offset moves the load by the inverse of the distance of the compartments.
    slope = np.polyfit(offsets["with"], shares["with"], 1)[0]
    assert 1.0 / slope == pytest.approx(0.045, abs=0.01)
    summary = json.loads((folder / "walk.json").read_text())
    assert summary["muscles"]["largest_offset_mm"] == 0.0
    assert "adduction_torque_Nm" not in (folder / "waveforms.csv").read_text()


def test_loads_csv_is_the_measured_walk(done, walk):
    stored = pd.read_csv(done / "loads.csv")
    expected = loads_table(measure(walk))
    assert list(stored.columns) == list(expected.columns)
    assert_allclose(stored, expected, rtol=1e-8, atol=1e-12)
    assert (stored.filter(like="vastus").to_numpy() >= 0.0).all()


@pytest.mark.slow
def test_a_repeated_walk_is_the_same(done, tables, tiny_run):
    folder = done.parent
    simulate_walk(load_walk(walk_config(folder, tiny_run, *tables)), folder / "again")
    for name in ("loads.csv", "waveforms.csv"):
        assert (folder / "again" / name).read_bytes() == (done / name).read_bytes()
    one, other = (pd.read_parquet(f / "simulation.parquet") for f in (done, folder / "again"))
    assert one.equals(other)


def test_another_laboratory_another_leg(walk, tmp_path):
    """CSV, other names, other order, angles positive in flexion, left leg: the same loads."""
    motion, ground = walk_tables(side="left")
    names = {
        "pelvis_tx": "forward", "pelvis_ty": "up", "pelvis_tilt": "tilt_deg",
        "hip_flexion_l": "hip_deg", "knee_angle_l": "knee_deg", "ankle_angle_l": "ankle_deg",
    }  # fmt: skip
    order = sorted(motion.names, reverse=True)
    flexed = motion.values * np.where(np.array(motion.names) == "knee_angle_l", -1.0, 1.0)
    motion = type(motion)(motion.names, motion.time, flexed, True)
    plate = {
        f"1_ground_{theirs}{axis}": f"plate_{ours}{axis}"
        for theirs, ours in (("force_v", "f"), ("force_p", "p"), ("torque_", "t"))
        for axis in "xyz"
    }
    files = (
        write_csv(motion, tmp_path / "angles.csv", order, names),
        write_csv(ground, tmp_path / "plates.csv", sorted(ground.names), plate),
    )
    other = walk_config(
        tmp_path, "no-run", *files, subject={"side": "left"}, measured={"columns": OWN_COLUMNS}
    )
    found, expected = measure(load_walk(other)).knee, measure(walk).knee
    for name in ("flexion", "axial_force", "ap_force", "internal_torque", "adduction_moment"):
        one = getattr(expected, name)
        assert_allclose(getattr(found, name), one, rtol=0, atol=1e-7 * np.abs(one).max())


def test_unusual_walks_give_warnings(tables, tiny_run, tmp_path, capsys):
    config = walk_config(tmp_path, tiny_run, *tables, subject={"mass_kg": 2.0 * MASS})
    assert main(["walk", str(config), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    shown = capsys.readouterr()
    (text,) = json.loads((tmp_path / "out" / "walk.json").read_text())["warnings"]
    assert text.startswith("vertical ground force: expected a mean over the stride of about 0.5")
    assert f"warning: {text}\n" in shown.err
    assert text in (tmp_path / "out" / "walk.html").read_text()
    assert "peaks as expected, not " in shown.out


def test_cocontraction_presses_the_knee(walk):
    tense = walk.model_copy(
        update={"muscles": walk.muscles.model_copy(update={"cocontraction_kPa": 10.0})}
    )
    one, other = (measure(file).knee.axial_force for file in (walk, tense))
    assert (other > one).mean() > 0.95
    assert 50.0 < np.median(other - one) < 400.0


@pytest.mark.slow
@pytest.mark.usefixtures("unsimulated")
def test_the_run_is_made_where_there_is_none(tables, tiny_run, tmp_path, capsys):
    shutil.copy(tiny_run / "config.toml", tmp_path / "study.toml")
    made = tmp_path / "run"
    config = walk_config(
        tmp_path, made, *tables, walk={"run_config": "study.toml", "compare": False}
    )
    out = tmp_path / "out"
    assert main(["walk", str(config), "--out", str(out), "--quiet"]) == 0
    assert "no run" not in capsys.readouterr().err
    assert_same_run(made, tiny_run)
    assert list(json.loads((out / "walk.json").read_text())["outputs"]) == ["surrogate"]


def test_a_missing_run_leaves_the_loads(tables, tmp_path):
    config = walk_config(tmp_path, tmp_path / "none", *tables)
    with pytest.raises(RunError, match=r"none: the run does not exist; make it with"):
        simulate_walk(load_walk(config), tmp_path / "out")
    assert (tmp_path / "out" / "loads.csv").is_file()
    assert not (tmp_path / "out" / "walk.json").exists()


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"subject": {"mass_kg": -1.0}}, r"subject\.mass_kg: expected greater than 0"),
        (
            {"subject": {"height_m": 175.0}},
            r"subject\.height_m: expected less than or equal to 2.5",
        ),
        (
            {"simulation": {"sample": 51}},
            r"\[simulation\]: sample: unknown key, expected one of waveforms, ",
        ),
        ({"simulation": {"samples": 5}}, r"samples: expected greater than or equal to 11, found 5"),
        ({"subject": {"leg": "left"}}, r"subject\.leg: unknown key, expected one of mass_kg"),
        ({"measured": {"columns": {"knee": "k"}}}, "expected quantities of pelvis_x, .*found knee"),
        ({"measured": {"motion": "none.mot"}}, r"measured\.motion: .*none\.mot: No such file"),
        (
            {"measured": {"columns": {"knee_flexion": "k"}}},
            r"motion\.mot: expected a column 'k', found pelvis_tx",
        ),
        ({"simulation": {"period_s": 1.0}}, "expected no waveforms and no .*found period_s"),
        (
            {"subject": {"shank_length_m": 400.0}},
            r"shank_length_m: expected less than or equal to 1",
        ),
        (
            {"measured": {"pelvis_z_m": 0.4}},
            r"centre of pressure: .* beside the ankle .*found 0\.395 m",
        ),
        ({"measured": {"stride_s": [0.0, 9.0]}}, "stride: expected instants between"),
        ({"measured": {"force_cutoff_Hz": 80.0}}, "force_cutoff of .*: expected > 0 Hz and < 40"),
        (
            {"subject": {"side": "left"}},
            r"a column hip_flexion_l or .* for the left leg, .*measured\.columns\.hip_flexion to",
        ),
    ],
)
def test_unusable_walks_are_named(tables, tmp_path, sections, message):
    config = walk_config(tmp_path, "no-run", *tables, **sections)
    with pytest.raises((ConfigError, ValueError), match=message):
        measure(load_walk(config))


def test_a_truncated_table_is_named(tables, tmp_path):
    motion, ground = tables
    (tmp_path / "cut.sto").write_text(ground.read_text()[:-120])
    config = walk_config(tmp_path, "no-run", motion, tmp_path / "cut.sto")
    with pytest.raises(ValueError, match=r"cut\.sto: expected 243 rows as stated .*found 242"):
        measure(load_walk(config))


def test_every_key_is_described():
    text = describe_walk()
    for key in (
        "mass_kg",
        "pelvis_z_m",
        "columns",
        "run_config",
        "cocontraction_kPa",
        "[simulation]",
    ):
        assert key in text


@pytest.mark.usefixtures("knee_data")
@pytest.mark.parametrize("side", ["left", "right"])
def test_measured_walking_loads_the_knee_in_two_peaks(side):
    file = load_walk(SHIPPED, (f"subject.side={side}",))
    found = measure(file)
    early, late = found.knee.peaks(found.body_weight)
    valley = found.knee.axial_force[(found.knee.percent > 20.0) & (found.knee.percent < 35.0)].min()
    assert valley / found.body_weight < 0.6 * min(early, late)
    assert 1.8 < early < late
    assert (early, late) == pytest.approx(
        {"left": (2.30, 3.73), "right": (2.60, 3.11)}[side], abs=0.02
    )
    assert all(row.as_expected for row in moment_peaks(found, 72.6))
    # The force of the right foot is 28 mm ahead of the foot; as measured, the peak is 4.2.
    assert found.force_moved == pytest.approx({"left": 0.0, "right": -0.028}[side], abs=1e-3)
    as_it_is = measure(load_walk(SHIPPED, (f"subject.side={side}", "measured.fit_foot=false")))
    late = as_it_is.knee.peaks(as_it_is.body_weight)[1]
    assert late == pytest.approx({"left": 3.73, "right": 4.19}[side], abs=0.02)
