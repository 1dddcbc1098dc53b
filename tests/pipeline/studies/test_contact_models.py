"""Comparison of contact models: figures against direct evaluation, resumption, failures, marks."""

import json
import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose
from studies import SMOKE, TINY

from foundation.base.loads import AXIAL_FORCE, CENTRE_X, PEAK_PRESSURE
from foundation.base.pose import SUPERIOR, Pose
from foundation.finite_element.model import coarser
from pipeline.cli.main import main
from pipeline.config.reading import dump_config, load_config
from pipeline.originals.contact_original import build_knee
from pipeline.originals.finite_element_layer import CONDENSED
from pipeline.originals.knee_surfaces import load_surfaces
from pipeline.stages.run_folder import TrainedRun
from pipeline.store.documents import read_document
from pipeline.store.job import MADE_WITH
from pipeline.studies.contact_models import compare as comparing
from pipeline.studies.contact_models.compare import pressed
from pipeline.studies.contact_models.content import (
    COARSE,
    COLUMNS,
    CRITERIA,
    ELEMENTS,
    ModelComparison,
    marks_of,
    unknown_groups,
    weighted_sum,
)
from pipeline.studies.contact_models.content import figures_of as of_model
from pipeline.studies.contact_models.knee import (
    Built,
    ComparedKnee,
    elements_configuration,
    springs_configuration,
)
from pipeline.studies.contact_models.measurement import (
    AT_POSES,
    OVER_CYCLE,
    Measured,
    read_measured,
    truth_of,
)
from pipeline.studies.dispatch import carry_out

FEW = (
    *TINY,
    "contact.model='finite_element'",
    "contact.finite_element.node_spacing_mm=2.0",
    "comparison.models=['linear', 'modified']",
    "comparison.poses=5",
)


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Return the folder of a comparison; not to be written to."""
    folder = tmp_path_factory.mktemp("models") / "comparison"
    pairs = [part for text in FEW for part in ("--set", text)]
    assert main(["run", str(SMOKE), "--out", str(folder), "--quiet", *pairs]) == 0
    return folder


def content_of(folder):
    return read_document(folder / "compared_models.json", ModelComparison)


def figures_of(folder):
    return {row.name: row.figures for row in content_of(folder).models}


def rms(values):
    return np.sqrt(np.mean(np.square(values)))


def test_figures_at_the_poses_are_those_of_direct_evaluation(compared):
    config = load_config(SMOKE, FEW)
    knee = build_knee(config)
    poses = read_measured(compared, ELEMENTS).arrays["cycle_poses"]
    poses = poses[np.unique(np.linspace(0, len(poses), 5, endpoint=False).astype(int))]
    models = knee.model, coarser(knee.model), knee.bed
    loads = [model.loads(poses).values for model in models]
    slopes = [
        np.array([model.loads(Pose.from_array(p), 1).total_jacobian for p in poses])
        for model in models
    ]
    truth, slope = (found[0] + (found[0] - found[1]) / 3.0 for found in (loads, slopes))
    touching = (loads[0][..., AXIAL_FORCE] > 0) & (loads[1][..., AXIAL_FORCE] > 0)
    figures = figures_of(compared)
    for place, name in ((0, ELEMENTS), (1, COARSE), (2, "linear")):
        found = loads[place]
        error = rms((found - truth)[touching][:, :3]) / rms(truth[touching][:, :3])
        assert_allclose(figures[name]["force_percent"], 100.0 * error, rtol=1e-9)
        error = rms((found - truth)[touching][:, PEAK_PRESSURE])
        wanted = 100.0 * error / rms(truth[touching][:, PEAK_PRESSURE])
        assert_allclose(figures[name]["peak_pressure_percent"], wanted, rtol=1e-9)
        apart = np.linalg.norm((found - truth)[touching][:, CENTRE_X:], axis=-1)
        assert_allclose(figures[name]["centre_mm"], 1e3 * rms(apart), rtol=1e-9)
        stiffness = slopes[place][:, AXIAL_FORCE, SUPERIOR], slope[:, AXIAL_FORCE, SUPERIOR]
        wanted = 100.0 * rms(stiffness[0] - stiffness[1]) / rms(stiffness[1])
        assert_allclose(figures[name]["stiffness_percent"], wanted, rtol=1e-9)


def test_resumed_comparison_measures_only_what_is_missing(compared, tmp_path, monkeypatch):
    folder = copied(compared, tmp_path)
    (folder / "models" / "linear.json").unlink()
    measured = []
    monkeypatch.setattr(
        comparing,
        "_measured",
        lambda knee, kind, *rest: (
            measured.append(kind.name) or Measured(failures={"set-up": "no springs"})
        ),
    )
    content = carry_out(load_config(SMOKE, FEW), folder, resume=True).document
    assert measured == ["linear"]
    before, after = figures_of(compared), figures_of(folder)
    assert after[ELEMENTS] == before[ELEMENTS]
    assert set(after["linear"].values()) == {None}
    row = next(row for row in content.models if row.name == "linear")
    assert row.weighted_sum == 0.0
    page = (folder / "compared_models.html").read_text(encoding="utf-8")
    assert "Springs, linear law, set-up: no springs" in page


def test_maps_have_a_pressure_at_each_vertex():
    knee = ComparedKnee(load_config(SMOKE, FEW), None)
    tibia = knee.surfaces.tibia
    pressure = np.zeros(len(tibia.faces))
    pressure[100] = 2e6
    mesh = 1e3 * np.asarray(tibia.vertices), np.asarray(tibia.faces)
    found = pressed(knee, mesh, 40.0, pressure)
    assert found.pressure.shape == (len(tibia.vertices),)
    assert found.peaks_MPa.max() == pytest.approx(2.0)
    assert pressed(knee, mesh, 40.0, pressure * np.nan) is None


def copied(folder, tmp_path):
    target = tmp_path / "copy"
    (target / "models").mkdir(parents=True)
    for file in (folder / "comparison.toml", *(folder / "models").iterdir()):
        (target / file.relative_to(folder)).write_bytes(file.read_bytes())
    return target


def synthetic(spacing, *, order=2.0):
    """Return measurements with an error of an order in the spacing."""
    error = 1.0 + 0.01 * spacing**order
    arrays = {
        "gait_percent": np.linspace(0.0, 100.0, 3),
        "cycle_poses": np.full((3, 6), 0.1 * error),
        "cycle_loads": np.full((2, 3, 12), 50.0 * error),
        "pose_loads": np.full((4, 2, 12), 100.0 * error),
        "pose_jacobians": np.full((4, 6, 6), -7.0 * error),
        "wear_volume": np.full(2, 3.0 * error),
    }
    return Measured(arrays=arrays)


def test_truth_is_free_of_an_error_of_second_order():
    truth = truth_of(synthetic(1.0), synthetic(2.0))
    assert truth.extrapolated == {AT_POSES, OVER_CYCLE}
    assert_allclose(truth.loads, 100.0, rtol=1e-13)
    assert_allclose(truth.jacobians, -7.0, rtol=1e-13)
    assert_allclose(truth.wear, 3.0, rtol=1e-13)
    assert not np.allclose(truth_of(synthetic(1.0, order=1.0), synthetic(2.0, order=1.0)).wear, 3.0)


def test_each_group_is_extrapolated_by_itself():
    """The coarser elements may answer at given poses and yet not complete the cycle."""
    fine, coarse = synthetic(1.0), synthetic(2.0)
    for name in ("cycle_poses", "cycle_loads", "wear_volume"):
        del coarse.arrays[name]
    truth = truth_of(fine, coarse)
    assert truth.extrapolated == {AT_POSES}
    assert_allclose(truth.loads, 100.0, rtol=1e-13)
    assert_allclose(truth.wear, 3.03, rtol=1e-13)
    # The error of what is the truth itself is not known, and no mark judges it.
    own, marks = figures_and_marks(fine, truth)
    assert_allclose(own["force_percent"], 1.0, rtol=1e-10)
    assert own["wear_percent"] is None
    at_poses = [c for c in COLUMNS if c.group == AT_POSES]
    judged = [c.mark(own[c.key]) for c in at_poses]
    assert_allclose(marks["accuracy"], np.mean(judged), rtol=1e-12)
    assert marks["versatility"] == 1.0
    both = marks_of(own, frozenset((AT_POSES, OVER_CYCLE)))
    assert both["accuracy"] is None
    assert both["versatility"] is None
    other, marks = figures_and_marks(coarse, truth)
    assert_allclose(other["force_percent"], 4.0, rtol=1e-10)
    assert other["wear_percent"] is None
    assert_allclose(marks["versatility"], 6.0 / 11.0, rtol=1e-12)
    judged = [c.mark(other[c.key]) for c in at_poses]
    assert_allclose(marks["accuracy"], np.sum(judged) / 11.0, rtol=1e-12)


def figures_and_marks(measured, truth):
    figures = of_model(measured, truth)
    return figures, marks_of(figures, unknown_groups(measured, truth))


def test_nothing_is_extrapolated_out_of_contact():
    fine, coarse = synthetic(1.0), synthetic(2.0)
    coarse.arrays["pose_loads"][0, 1] = 0.0
    coarse.arrays["pose_loads"][0, 1, CENTRE_X:] = np.nan
    truth = truth_of(fine, coarse)
    assert truth.touching.sum() == 7
    assert_allclose(truth.loads[0, 1], 101.0, rtol=1e-13)


def test_twice_the_truth_is_an_error_of_a_hundred_per_cent():
    truth = truth_of(synthetic(0.0), None)
    double = Measured(arrays={k: 2.0 * v for k, v in synthetic(0.0).arrays.items()})
    found = {column.key: column.measure(double, truth) for column in COLUMNS}
    shares = [key for key in found if key.endswith("_percent")]
    assert_allclose([found[key] for key in shares], 100.0, rtol=1e-12)
    assert_allclose(found["anterior_mm"], 100.0, rtol=1e-12)
    assert_allclose(found["rotation_deg"], np.degrees(0.1), rtol=1e-12)
    assert_allclose(found["centre_mm"], 1e3 * 100.0 * np.sqrt(3.0), rtol=1e-12)
    assert found["evaluation_us"] is None


def test_marks_follow_the_rule():
    for column in COLUMNS:
        if column.best is None:
            assert column.mark(1.0) is None
            continue
        middle = np.sqrt(column.best * column.worst)
        marks = [column.mark(v) for v in (0.0, column.best, middle, -middle, 2.0 * column.worst)]
        assert_allclose(marks, [1.0, 1.0, 0.5, 0.5, 0.0], atol=1e-12)
        assert column.criterion in CRITERIA
    best = {column.key: column.best for column in COLUMNS}
    assert marks_of(best) == pytest.approx(dict.fromkeys(CRITERIA, 1.0))
    without = marks_of(best | {"wear_percent": None})
    # Eleven columns have errors; the one without an answer counts 0.
    assert without["accuracy"] == without["versatility"] == pytest.approx(10.0 / 11.0)
    assert without["speed"] == 1.0
    none = marks_of(dict.fromkeys(best))
    assert none == dict.fromkeys(CRITERIA, 0.0)


def test_weighted_sum_needs_only_ratios_of_weights():
    marks = {"accuracy": 0.2, "speed": 0.8, "versatility": None}
    weights = {"accuracy": 1.0, "speed": 3.0, "versatility": 4.0}
    assert_allclose(weighted_sum(marks, weights), (0.2 + 2.4) / 4.0, rtol=1e-15)
    tripled = {name: 3.0 * weight for name, weight in weights.items()}
    assert_allclose(weighted_sum(marks, tripled), weighted_sum(marks, weights), rtol=1e-14)
    assert weighted_sum(marks, dict.fromkeys(weights, 0.0)) is None


def test_springs_become_elements_and_elements_springs():
    springs = load_config(SMOKE, ("contact.law='modified'", "contact.m=0.9", "contact.f=3.0"))
    elements = elements_configuration(springs)
    assert elements.contact.model == "finite_element"
    assert elements.contact.law == "linear"
    back = springs_configuration(elements, load_surfaces(springs), "modified", f=3.0, m=0.9)
    assert back.contact == springs.contact
    assert back.knee == springs.knee


def test_a_finished_training_is_not_repeated(tiny_run, tmp_path, monkeypatch):
    seen = []

    def trained(study, folder, *, resume):
        given = sorted(path.name for path in (folder / CONDENSED).glob("*.npy"))
        seen.append((resume, given))
        shutil.copytree(tiny_run, folder, dirs_exist_ok=True)
        (folder / "config.toml").write_text(dump_config(study))
        (folder / MADE_WITH).unlink()

    monkeypatch.setattr("pipeline.studies.contact_models.knee.run_study", trained)
    config = load_config(SMOKE, FEW)
    knee = ComparedKnee(config, tmp_path, resume=True)
    springs = knee.springs("linear")
    built = knee.trained("springs_surrogate", springs, Built(None, 3.0), "linear")
    # The held-out samples, the validation and the cycle of a run are no part of the set-up.
    spent = json.loads((tiny_run / "run.json").read_text())["seconds"]
    beside = ("held-out samples", "validation", "h: gait simulation")
    own = sum(spent.values()) - sum(spent[stage] for stage in beside)
    assert built.seconds == pytest.approx(3.0 + own, rel=1e-12)
    assert (built.teacher, built.model.compartment("medial").formulation) == ("linear", "inverted")
    assert knee.trained("springs_surrogate", springs, Built(None, 3.0), "linear").seconds > 3.0
    assert seen == [(False, [])]
    # Another study is trained anew; finite elements take the compliances that are condensed.
    other = knee.springs("linear", thickness_mm=7.0)
    knee.trained("springs_surrogate", other, Built(None, 3.0), "linear")
    (tmp_path / CONDENSED).mkdir()
    (tmp_path / CONDENSED / "medial.npy").write_bytes(b"compliance")
    elements = knee.elements_config
    knee.trained("elements_surrogate", elements, Built(None, 3.0), ELEMENTS)
    assert seen[1:] == [(True, []), (True, ["medial.npy"])]
    kept = tmp_path / "elements_surrogate" / CONDENSED / "medial.npy"
    assert kept.read_bytes() == b"compliance"


@pytest.mark.slow
def test_a_surrogate_is_a_run_in_a_sub_folder(tmp_path):
    models = "comparison.models=['linear', 'springs_surrogate']"
    config = load_config(SMOKE, (*FEW, models))
    folder = tmp_path / "comparison"
    rows = {row.name: row.figures for row in carry_out(config, folder).document.models}
    name = "springs_surrogate"
    found, own = (read_measured(folder, each).arrays for each in (name, ELEMENTS))
    poses = own["cycle_poses"]
    poses = poses[np.unique(np.linspace(0, len(poses), 5, endpoint=False).astype(int))]
    run = TrainedRun.open(folder / name)
    direct = run.surrogate.loads(poses)
    assert_allclose(found["pose_loads"], direct.values, rtol=1e-12, atol=1e-15)
    assert rows[name]["set_up_s"] > rows["linear"]["set_up_s"]
    assert rows[name]["wear_percent"] is not None
    before = (folder / name / "knee.npz").stat().st_mtime_ns
    (folder / "models" / f"{name}.json").unlink()
    carry_out(config, folder, resume=True)
    assert (folder / name / "knee.npz").stat().st_mtime_ns == before
