"""A run over designs from its configuration to its report, and its parts."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose
from pipeline.design_space import sampling
from pipeline.design_space.designs import TrainedDesigns, compared_cycles, design_knee
from pipeline.design_space.errors import (
    expected_errors,
    fitted_errors,
    predicted_errors,
)
from pipeline.design_space.run import DesignsDocument, run_designs
from pipeline.design_space.sampling import HELD_OUT, LEARNT, UNSEEN, candidates_within
from pipeline.store.documents import read_document
from pipeline.store.samples import read_table

pytestmark = pytest.mark.delicate

BASE = {"dish_sagittal_radius_mm": 70.0, "youngs_modulus_MPa": 650.0}


@pytest.fixture(scope="module")
def run(tiny_designs):
    return TrainedDesigns.open(tiny_designs)


def table(run, name):
    return read_table(run.folder / "samples" / f"{name}.parquet")


def test_every_use_has_its_designs(run):
    designs = table(run, "designs")
    used = {
        name: set(table(run, name)["design"]) for name in ("first", "kept-1", "unseen", "heldout")
    }
    of = {
        use: set(designs.loc[designs["use"] == use, "design"]) for use in (LEARNT, UNSEEN, HELD_OUT)
    }
    assert len(used["first"]) == len(used["kept-1"]) == 4
    assert not used["first"] & used["kept-1"]
    assert used["first"] | used["kept-1"] <= of[LEARNT]
    assert (used["unseen"], used["heldout"]) == (of[UNSEEN], of[HELD_OUT])
    document = read_document(run.folder / "designs.json", DesignsDocument)
    assert document.counts["designs"] == 8
    assert document.counts["samples"] == sum(len(table(run, n)) for n in ("first", "kept-1"))
    assert document.drawn == len(designs) + sum(document.dropped.values())


def test_samples_are_those_of_the_design_s_own_contact_model(run):
    row = table(run, "first").query("status == 'ok'").iloc[3]
    values = {name: float(row[name]) for name in run.knee.parameters.names}
    model = design_knee(run.config, values).model
    pose = Pose.from_array(row[[*surrogate_columns()]].to_numpy(float))
    loads = model.compartment_loads(pose, row["compartment"])[0]
    assert loads[1] == pytest.approx(row["force_y_N"], rel=1e-12)
    assert loads[1] == pytest.approx(row["load_N"], rel=1e-5)


def surrogate_columns():
    return "flexion_rad", "adduction_rad", "rotation_rad", "anterior_m", "superior_m", "lateral_m"


def test_the_surrogate_of_a_design_is_near_its_original_model(run):
    cycles = compared_cycles(run.config, run.knee, BASE).cycles
    surrogate, original = cycles["surrogate"], cycles["original"]
    for name in COMPARTMENTS:
        column = f"{name}_force_y_N"
        truth, other = (each.result.columns()[column] for each in (original, surrogate))
        assert np.sqrt(np.mean((truth - other) ** 2)) < 0.05 * truth.max()
    wear = "total_wear_mm3_per_million_cycles"
    assert surrogate.outputs[wear] == pytest.approx(original.outputs[wear], rel=0.3)


@pytest.mark.slow
def test_an_interrupted_run_continues(run, tmp_path):
    """Without its last results, a run is the same again without a new sample."""
    folder = tmp_path / "again"
    shutil.copytree(run.folder, folder)
    for name in ("knee.npz", "designs.json", "report.html"):
        (folder / name).unlink()
    before = {file.name: file.stat().st_mtime_ns for file in (folder / "samples").iterdir()}
    run_designs(run.config, folder, resume=True)
    assert {f.name: f.stat().st_mtime_ns for f in (folder / "samples").iterdir()} == before
    assert (folder / "knee.npz").read_bytes() == (run.folder / "knee.npz").read_bytes()


def designs_run_space(run):
    return next(iter(run.knee.by_name.values())).space


def test_candidates_lie_in_the_box_of_their_design(run):
    designs = table(run, "designs").head(3)
    rows = candidates_within(run.config, designs, designs_run_space(run), 16)
    assert rows.groupby(["design", "compartment"]).size().eq(16).all()
    for number, own in rows.groupby("design"):
        values = own.iloc[0][list(run.knee.parameters.names)].to_numpy(float)
        # Designs that are learnt also lie a little outside of the ranges.
        box = designs_run_space(run).at(run.knee.parameters.scaled_row(values))
        poses = own[[*surrogate_columns()]].to_numpy(float)
        variables, _ = box.scaled(poses, own["load_N"].to_numpy())
        assert (np.abs(variables) <= 1.0 + 1e-12).all(), number
    first = rows[rows["design"] == designs.iloc[0]["design"]]
    other = rows[rows["design"] == designs.iloc[1]["design"]]
    assert not np.isin(first["load_N"], other["load_N"]).any()


def test_the_next_designs_are_where_errors_are_large_and_apart(run, monkeypatch):
    """Where the predicted error grows with the first parameter."""
    monkeypatch.setattr(sampling, "standard_errors", lambda _, z: [np.exp(4.0 * z[0])])
    designs = table(run, "designs")
    learnt = designs[designs["use"] == LEARNT]
    known, left = learnt.head(4), learnt.iloc[4:]
    chosen = left.loc[sampling.next_designs(run.config, run.knee, known, left, 5)]
    assert len(chosen) == chosen["design"].nunique() == 5
    name = "dish_sagittal_radius_mm"
    assert chosen[name].mean() > left[name].mean() + 0.5 * left[name].std()
    z = run.knee.parameters.scaled_rows(chosen[list(run.knee.parameters.names)].to_numpy())
    apart = np.linalg.norm(z[:, None] - z[None], axis=2)[np.triu_indices(5, 1)]
    assert apart.min() > 0.05


def test_expected_errors_cover_most_measured_ones(run):
    """In proportion to the predicted errors: of designs with known errors, most are covered."""
    designs = [
        run.knee.parameters.named(row)
        for row in run.knee.parameters.from_unit(np.random.default_rng(0).random((200, 2)))
    ]
    rng = np.random.default_rng(1)
    outward = (
        run.knee.parameters.scaled_rows(np.array([[*d.values()] for d in designs])) ** 2
    ).mean(1)
    factors = rng.lognormal(0.0, 0.5, len(designs)) * np.exp(1.5 * outward)
    errors = [
        {name: f * size for name, size in predicted_errors(run.knee, design).items()}
        for f, design in zip(factors, designs, strict=True)
    ]
    header = fitted_errors(run.knee, designs, errors)
    told = replace(run.knee, header={**run.knee.header, **header})
    covered = [
        expected_errors(told, design)["height_um"] >= own["height_um"]
        for design, own in zip(designs, errors, strict=True)
    ]
    assert 0.95 <= np.mean(covered) <= 0.975
    # Designs near the corners have larger errors, and are covered as well.
    for there in (outward < 0.2, outward > 0.5):
        assert np.mean(np.array(covered)[there]) == pytest.approx(0.95, abs=0.06)
