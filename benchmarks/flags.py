"""Wrong and far-off answers without a flag, by formulation and family.

    python -m benchmarks.flags RUN [--samples 700]

The surrogates are fitted to the first samples of a finished run, their domains to its domain
samples, and both are judged at 1,500 further poses of each compartment, spread evenly over the box.
"""

from __future__ import annotations

import pandas as pd

from benchmarks.frame import Table, show
from benchmarks.trained_runs import runs_given
from pipeline import stages
from pipeline.originals.candidates import sample_space
from pipeline.reports.trained_domain import judged
from pipeline.stages.domains import learn_domain, with_domains
from pipeline.stages.trained_run import TrainedRun
from pipeline.store.samples import usable

_PAIRS = (
    *(
        ("inverted", name)
        for name in ("kriging", "polynomial", "poly_fourier", "network", "spline")
    ),
    ("direct", "kriging"),
)
_POSES, _SEED = 1500, 977
_SHOWN = ("wrong_without_flag", "far_off_without_flag", "feasible", "feasible_flagged", "points")


def flags(run: TrainedRun, count: int) -> Table:
    """Return the table of a run and of `count` training samples of each compartment."""
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
        rows.append((", ".join(pair), points, wrong, far, flagged / feasible))
    title = f"Flags of surrogates of {count} samples of each compartment"
    columns = {"surrogate": "", "poses": "d", "wrong, no flag": "d", "far off, no flag": "d",
               "feasible, flagged [%]": ".1f"}  # fmt: skip
    return Table(title, columns, rows)


if __name__ == "__main__":
    with runs_given(__doc__, {"--samples": (700, "samples of each compartment")}) as (chosen, runs):
        show(flags(run, chosen.samples) for run in runs)
