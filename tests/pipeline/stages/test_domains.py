"""Domains of a study: learnt from samples of the whole box, and right about poses nobody chose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from studies import SMOKE

from foundation.base.loads import COMPARTMENTS
from pipeline import stages
from pipeline.config.reading import load_config
from pipeline.originals.candidates import sample_space
from pipeline.originals.contact_original import build_knee
from pipeline.originals.evaluation import evaluate_rows
from pipeline.originals.table_original import TableOriginal
from pipeline.stages.adaptive_sampling import Sampled
from pipeline.stages.domains import learn_domains, limits_of
from pipeline.stages.run_folder import Run, stored_path
from pipeline.store.samples import loads_of, poses_of, read_table, usable

#: Of the largest load: off by more is wrong, off by so much is far off.
WRONG, FAR = 0.02, 0.1
SETTINGS = {"first": 260, "budget": 260, "domain_samples": 400, "candidates": 512}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """What the stages before need: run, knee, space, samples, and the knee trained on them."""
    config = load_config(SMOKE)
    design = config.design.model_copy(update=SETTINGS)
    config = config.model_copy(update={"design": design})
    run = Run(config, tmp_path_factory.mktemp("domains"))
    run.prepare(resume=False)
    knee = build_knee(config)
    space = sample_space(config, stored_path(run, knee))
    candidates = stages.choose_samples(space, design, config.run.seed)
    first = stages.evaluate_first(candidates, lambda rows: evaluate_rows(knee.model, rows, "load"))
    training = stages.training_samples([first], config.feasibility)
    pairs = [("inverted", "kriging"), ("direct", "polynomial")]
    trained = stages.fit_surrogates(training, space, config.surrogate, pairs, 1)
    sampled = Sampled(candidates, training, first, trained[0], {}, [], [], [], training.head(0))
    told = learn_domains(run, knee, space, trained, sampled)
    yield run, knee, space, sampled, trained, told
    run.close()


@pytest.fixture(scope="module")
def fresh(study):
    """Samples over the whole box that nothing was fitted to."""
    run, knee, space, *_ = study
    drawn = stages.domain_candidates(space, run.config.design, seed=77)
    return evaluate_rows(knee.model, drawn, "load")


def judged(surrogate, rows, feasibility):
    """Return which rows are flagged, wrong, far off, feasible."""
    loads, truth = surrogate.evaluate_batch(poses_of(rows)), loads_of(rows)
    flagged = (np.abs(loads[2]) > 1.0).any(axis=1)
    error = np.abs(loads[0] - truth)[:, :3] / surrogate.space.load[1]
    expected = surrogate.standard_error(poses_of(rows))[:, :3] / surrogate.space.load[1]
    wrong = ((error > WRONG) & (error > 3.0 * expected)).any(axis=1)
    feasible = stages.infeasibility(truth, feasibility, 0.0) == ""
    return flagged, wrong, (error > FAR).any(axis=1), feasible


def test_hardly_anything_far_off_goes_without_a_flag(study, fresh):
    run, _, _, _, trained, told = study
    totals = np.zeros(4)
    for name in COMPARTMENTS:
        rows = usable(fresh, name)
        flagged, wrong, far, feasible = judged(
            told[0].knee.compartment(name), rows, run.config.feasibility
        )
        assert feasible.sum() > 100
        assert far.sum() > 5  # or the flags would have nothing to do
        totals += [
            (far & ~flagged).sum(), (wrong & ~flagged).sum(),
            (feasible & flagged).sum(), feasible.sum(),
        ]  # fmt: skip
        without = judged(trained[0].knee.compartment(name), rows, run.config.feasibility)
        assert (without[2] & ~without[0]).sum() > 3  # as the box alone would have it
    # Few samples on a coarse mesh: the surrogate errs by a tenth of the load even where gait is.
    assert totals[0] <= 0.0025 * len(fresh)
    assert totals[1] <= 0.01 * len(fresh)
    assert totals[2] <= 0.12 * totals[3]


def test_the_samples_are_those_of_no_other_stage(study, fresh):
    run, _, _, sampled, *_ = study
    table = read_table(run.folder / "samples" / "domain.parquet")
    assert len(table) == 2 * SETTINGS["domain_samples"]
    keys = ["compartment", "flexion_rad", "adduction_rad", "load_N"]
    both = pd.concat([table[keys], fresh[keys], sampled.candidates[keys]])
    assert not both.duplicated().any()


def test_without_samples_the_bounds_alone_decide(study, tmp_path):
    run, knee, space, sampled, trained, _ = study
    design = run.config.design.model_copy(update={"domain_samples": 0})
    with Run(run.config.model_copy(update={"design": design}), tmp_path) as other:
        other.prepare(resume=False)
        (told,) = learn_domains(other, knee, space, trained[:1], sampled)
    feasibility = run.config.feasibility
    expected = (1.0 + 0.5 * feasibility.margin) * limits_of(feasibility)
    np.testing.assert_allclose(
        told.knee.compartment("medial").domain.limits, expected, rtol=1e-14, atol=0
    )
    assert told.knee.compartment("medial").domain.regressor.outputs == 0


def test_rows_of_a_table_tell_where_there_are_samples(study, tmp_path):
    """A table original has no poses beside those that were given."""
    run, _, space, sampled, trained, _ = study
    table = object.__new__(TableOriginal)
    with Run(run.config, tmp_path) as other:
        other.prepare(resume=False)
        (told,) = learn_domains(other, table, space, trained[:1], sampled)
        assert not (tmp_path / "samples" / "domain.parquet").exists()
        walked = replace(sampled, along=sampled.training)
        (along,) = learn_domains(other, table, space, trained[:1], walked)
    assert told.knee.compartment("medial").domain.regressor.outputs == 3
    assert (told.knee.compartment("medial").domain.inflation == 1.0).all()
    # Samples along gait count besides those of the box.
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (20, 6))
    without, beside = (
        t.knee.compartment("medial").domain.regressor.predict(x) for t in (told, along)
    )
    assert not np.allclose(without[:, :2], beside[:, :2], rtol=1e-3, atol=0)
