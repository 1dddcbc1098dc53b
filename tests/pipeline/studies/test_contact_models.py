"""Comparison of contact models: figures against direct evaluation, resumption, failures."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from studies import SMOKE, TINY

from foundation.base.loads import AXIAL_FORCE, PEAK_PRESSURE
from foundation.base.pose import SUPERIOR, Pose
from foundation.finite_element.model import coarser
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.originals.contact_original import build_knee
from pipeline.store.documents import read_document
from pipeline.studies.contact_models import compare as comparing
from pipeline.studies.contact_models.compare import COARSE, ELEMENTS, ModelComparison
from pipeline.studies.contact_models.measurement import (
    AT_POSES,
    COLUMNS,
    OVER_CYCLE,
    Measured,
    read_measured,
    truth_of,
)
from pipeline.studies.contact_models.measurement import figures_of as of_model
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
    carry_out(load_config(SMOKE, FEW), folder, resume=True)
    assert measured == ["linear"]
    before, after = figures_of(compared), figures_of(folder)
    assert after[ELEMENTS] == before[ELEMENTS]
    assert set(after["linear"].values()) == {None}
    page = (folder / "compared_models.html").read_text(encoding="utf-8")
    assert "springs, linear law, set-up: no springs" in page


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
        "cycle_poses": np.full((3, 6), 0.1 * error),
        "cycle_loads": np.full((2, 3, 12), 50.0 * error),
        "pose_loads": np.full((4, 2, 12), 100.0 * error),
        "pose_jacobians": np.full((4, 6, 6), -7.0 * error),
    }
    return Measured(arrays=arrays)


def test_truth_is_free_of_an_error_of_second_order():
    truth = truth_of(synthetic(1.0), synthetic(2.0))
    assert truth.extrapolated == {AT_POSES, OVER_CYCLE}
    assert_allclose(truth.arrays["pose_loads"], 100.0, rtol=1e-13)
    assert_allclose(truth.arrays["pose_jacobians"], -7.0, rtol=1e-13)
    assert_allclose(truth.arrays["cycle_loads"], 50.0, rtol=1e-13)
    other = truth_of(synthetic(1.0, order=1.0), synthetic(2.0, order=1.0))
    assert not np.allclose(other.arrays["cycle_loads"], 50.0)


def test_each_group_is_extrapolated_by_itself():
    """The coarser elements may answer at given poses and yet not complete the cycle."""
    fine, coarse = synthetic(1.0), synthetic(2.0)
    for name in ("cycle_poses", "cycle_loads"):
        del coarse.arrays[name]
    truth = truth_of(fine, coarse)
    assert truth.extrapolated == {AT_POSES}
    assert_allclose(truth.arrays["pose_loads"], 100.0, rtol=1e-13)
    assert_allclose(truth.arrays["cycle_loads"], 50.5, rtol=1e-13)
    # The error of what is the truth itself is not known.
    own, other = of_model(fine, truth), of_model(coarse, truth)
    assert_allclose(own["force_percent"], 1.0, rtol=1e-10)
    assert_allclose(other["force_percent"], 4.0, rtol=1e-10)
    assert own["gait_area_percent"] is other["gait_area_percent"] is None


def test_twice_the_truth_is_an_error_of_a_hundred_per_cent():
    truth = truth_of(synthetic(0.0), None)
    double = Measured(arrays={k: 2.0 * v for k, v in synthetic(0.0).arrays.items()})
    found = of_model(double, truth)
    assert found.keys() == {column.key for column in COLUMNS}
    shares = [key for key in found if key.endswith("_percent")]
    assert_allclose([found[key] for key in shares], 100.0, rtol=1e-12)
    assert_allclose(found["anterior_mm"], 100.0, rtol=1e-12)
    assert found["evaluation_us"] is None
