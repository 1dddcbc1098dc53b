"""Samples that only some formulations learn from: energies, heights at a reference load."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from studies import SMOKE, TINY

from foundation.pose import Pose
from pipeline import stages
from pipeline.config.reading import load_config
from pipeline.originals.evaluation import evaluate_rows
from pipeline.stages.reference_samples import TOUCH_LOAD, reference_kind, samples_for, with_energies
from pipeline.stages.run_folder import Run
from pipeline.store.samples import poses_of
from surrogates.sampling.space import ReferencePath, SampleSpace

COUNT = 6


@pytest.fixture(scope="module")
def training(knee) -> pd.DataFrame:
    path = ReferencePath.constant(0.1, knee.start.array[1:])
    space = SampleSpace(path, [0.0, 0.2], [0.005, 0.05, 2e-3, 0.3e-3], [100.0, 1000.0])
    config = load_config(SMOKE, (*TINY, "design.candidates=40", "design.first=20"))
    drawn = stages.choose_samples(space, config.design, 3).groupby("compartment").head(COUNT)
    rows = evaluate_rows(knee.model, drawn.drop(columns="first").reset_index(drop=True), "load")
    return rows.assign(weight=1.0)


@pytest.mark.parametrize(
    ("formulation", "touch_points", "kind"),
    [
        ("inverted", False, None),
        ("inverted", True, "touch"),
        ("root", True, "touch"),
        ("direct", True, None),
        ("energy", True, None),
        ("touch_stiffness", False, "touch"),
        ("load_stiffness", True, "load"),
    ],
)
def test_reference_of_a_formulation(formulation, touch_points, kind):
    assert reference_kind(formulation, touch_points=touch_points) == kind


def test_energies_of_the_compartments_add_up(knee, training):
    table = with_energies(knee.model, training)
    assert (table["energy_J"] > 0.0).all()
    pose = Pose.from_array(poses_of(training)[0])
    both = [knee.model.stored_energy(pose, name) for name in ("medial", "lateral")]
    assert sum(both) == pytest.approx(knee.model.stored_energy(pose), rel=1e-14)
    assert table["energy_J"].iloc[0] == both[training["compartment"].iloc[0] == "lateral"]


@pytest.mark.parametrize(
    ("formulation", "load"), [("touch_stiffness", TOUCH_LOAD), ("load_stiffness", 40.0)]
)
def test_reference_heights_are_those_of_the_load(tmp_path, knee, training, formulation, load):
    run = Run(load_config(SMOKE, TINY), tmp_path, quiet=True)
    found = samples_for(run, knee, training, formulation)
    reference = found[found["role"] == stages.REFERENCE]
    assert len(reference) == COUNT  # every second of both compartments
    assert len(found) == 3 * COUNT
    np.testing.assert_allclose(reference["force_y_N"], load, rtol=1e-4)
    samples = stages.compartment_samples(found[found["compartment"] == "medial"])
    assert len(samples.poses) == COUNT
    assert samples.reference is not None
    assert len(samples.reference) == COUNT // 2
    assert samples.energy is None
    # the height of the smaller load is the larger one, at the same pose
    same = training[training["compartment"] == "medial"].iloc[1::2]
    assert (samples.reference[:, 4] > same["superior_m"].to_numpy()).all()


def test_only_energy_learns_energies(tmp_path, knee, training):
    run = Run(load_config(SMOKE, TINY), tmp_path, quiet=True)
    assert "energy_J" in samples_for(run, knee, training, "energy").columns
    assert samples_for(run, knee, training, "inverted") is training
