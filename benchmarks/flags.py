"""Wrong and far-off answers without a flag, by formulation and family.

    python -m benchmarks.flags RUN [samples of each compartment]

The surrogates are fitted to the first samples of a finished run, their domains to its domain
samples, and both are judged at 1,500 further poses of each compartment, spread evenly over the box.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.timing import table
from pipeline import stages
from pipeline.originals.candidates import sample_space
from pipeline.reports.trained_domain import judged
from pipeline.stages.domains import learn_domain, with_domains
from pipeline.stages.trained_run import TrainedRun
from pipeline.store.samples import usable

_PAIRS = (
    *(("inverted", name) for name in ("kriging", "polynomial", "poly_fourier", "network")),
    ("direct", "kriging"),
)
_POSES, _SEED = 1500, 977
_SHOWN = ("wrong_without_flag", "far_off_without_flag", "feasible", "feasible_flagged", "points")


def flags(folder: Path, count: int) -> str:
    """Return the table of a run directory and of `count` training samples of each compartment."""
    run = TrainedRun.open(folder)
    config, names = run.config, run.config.knee.compartments
    space = sample_space(config, run.path)
    design = config.design.model_copy(update={"domain_samples": _POSES})
    drawn = stages.domain_candidates(space, design, _SEED, names)
    function, shared, *_ = run.original.evaluation()
    judging, domain = function(*shared, drawn), run.samples("domain")
    samples = [run.samples(name) for name in ("first", "kept")]
    training = stages.training_samples(samples, config.feasibility)
    parts = [rows.head(count) for _, rows in training.groupby("compartment", sort=False)]
    rows = []
    for pair in _PAIRS:
        with threadpool_limits(1):
            (fitted,) = stages.fit_surrogates(
                pd.concat(parts), space, config.surrogate, [pair], config.run.seed, names=names
            )
        learnt = [
            learn_domain(fitted.knee.compartment(name), usable(domain, name), config.feasibility)
            for name in names
        ]
        knee = with_domains(fitted.knee, *learnt)
        found = [
            judged(knee.compartment(name), usable(judging, name), config.feasibility)
            for name in names
        ]
        wrong, far, feasible, flagged, points = (
            sum(getattr(own, key) for own in found) for key in _SHOWN
        )
        share = f"{100.0 * flagged / feasible:.1f}"
        rows.append([", ".join(pair), str(points), str(wrong), str(far), share])
    title = f"Flags of surrogates of {count} samples of each compartment"
    header = ["surrogate", "poses", "wrong, no flag", "far off, no flag", "feasible, flagged [%]"]
    return table(title, header, rows)


if __name__ == "__main__":
    print(flags(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 700))
