"""A surrogate of a knee from few solves of finite elements and many samples of springs.

`python -m benchmarks.fidelity_knee RUN --solves 200 --out knee.npz` takes the samples of a finished
run of finite elements, evaluates the springs beside, and writes the sum of a network of the springs
and of the difference (docs/two_fidelities.md) as a surrogate like any other. Printed are the errors
that docs/two_fidelities.md tabulates.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.fidelity_learners import Learnt, fit_alone, fit_on_surrogate
from benchmarks.fidelity_samples import Compartment, compartments, gait_figures
from benchmarks.frame import Table, show
from benchmarks.two_fidelities import COLUMNS, errors
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from pipeline.originals.candidates import sample_space
from pipeline.stages.fitting import family_fitter
from pipeline.stages.trained_run import TrainedRun
from surrogates import ContactSurrogate, save


def learnt_knee(run: TrainedRun, samples: dict[str, Compartment], solves: int) -> dict[str, Learnt]:
    """Return both compartments, learnt from `solves` samples of finite elements each.

    Raises
    ------
    InputError
        If the run has fewer samples.
    """
    most = min(each.most for each in samples.values())
    if solves > most:
        raise InputError(
            f"--solves: expected at most the {most} samples of the run, found {solves}"
        )
    space, settings = sample_space(run.config, run.path), run.config.surrogate
    seed, found = run.config.run.seed, {}
    for name, own in samples.items():
        springs = fit_alone(space, own.springs, settings, "network", seed).surrogate
        kriging = family_fitter(settings, "kriging", seed)
        found[name] = fit_on_surrogate(springs, own.training(solves), kriging)
    return found


def main() -> None:
    """Write the surrogate and print its errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder of a finished run of finite elements")
    parser.add_argument("--solves", type=int, default=200, help="samples of each compartment")
    parser.add_argument("--out", type=Path, default=Path("knee.npz"), help="surrogate to write")
    chosen = parser.parse_args()
    with threadpool_limits(1):
        run = TrainedRun.open(chosen.run)
        samples = compartments(run)
        both = learnt_knee(run, samples, chosen.solves)
        knee = ContactSurrogate({name: both[name].surrogate for name in COMPARTMENTS})
        save(knee, chosen.out)
        parts = [errors(both[name], samples[name]) for name in COMPARTMENTS]
        figures = {key: max(part[key] for part in parts) for key in parts[0]}
        figures |= gait_figures(run, knee)
    rows = [(COLUMNS[key], value) for key, value in figures.items()]
    title = f"{run.config.run.name}, {chosen.solves} solves"
    show([Table(title, {"error": "", "value": ".2g"}, rows), f"written: {chosen.out}"])


if __name__ == "__main__":
    main()
