"""Pressure fields of surrogates beside those of the original model.

`python -m benchmarks.pressure_fields RUN...` takes finished runs, fits pressure fields to their
samples and prints the errors on held-out samples, the time of a call and the errors of the wear:
on the motion of the original model, and with the surrogate on its own motion.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.timing import table
from dynamics.wear.cycle_wear import bed_wear
from dynamics.wear.field_contact import FieldContact
from foundation.base.checks import FloatArray
from foundation.base.pose import Pose
from pipeline.config.surrogate_schema import FieldsConfig
from pipeline.stages.assessment import feasible
from pipeline.stages.pressure_fields import field_figures, with_fields
from pipeline.stages.trained_run import TrainedRun
from pipeline.store.samples import poses_of
from surrogates.formulations.contact_surrogate import ContactSurrogate

#: Tables of the samples that a run fits its surrogate to.
_FITTED = ("first", "kept", "gait")
#: Held-out poses and calls of each that are timed.
_POSES, _CALLS = 100, 9


@dataclass(frozen=True)
class Case:
    """A run, its surrogate with pressure fields, and the processor time of their fit [s]."""

    run: TrainedRun
    knee: ContactSurrogate
    seconds: float

    @property
    def name(self) -> str:
        """Name of the run."""
        return f"{self.run.config.run.name}"

    @property
    def held_out(self) -> pd.DataFrame:
        """Feasible held-out samples."""
        return feasible(self.run.samples("heldout"), self.run.config.feasibility)


def case(folder: Path, settings: FieldsConfig) -> Case:
    """Return a run with pressure fields of given settings."""
    run = TrainedRun.open(folder)
    names = [name for name in _FITTED if (folder / "samples" / f"{name}.parquet").is_file()]
    samples = pd.concat([run.samples(name) for name in names], ignore_index=True)
    surrogate = run.config.surrogate.model_copy(update={"fields": settings})
    model = run.contact
    start = process_time()
    knee = with_fields(run.surrogate, model, samples, surrogate, 0)
    return Case(run, knee, process_time() - start)


def errors(cases: list[Case]) -> str:
    """Return the table of the errors on held-out samples."""
    rows = []
    for each in cases:
        figures = field_figures(each.knee, each.run.contact, each.held_out)
        for name, own in figures.items():
            rows.append(
                [
                    f"{each.name}, {name}",
                    f"{own['points']:.0f}",
                    f"{100 * own['nrmse']:.2f} %",
                    f"{own['median_correlation']:.4f}",
                    f"{own['least_correlation']:.3f}",
                    f"{own['dice']:.3f}",
                    f"{100 * own['peak']:.2f} %",
                ]
            )
    header = ("run, compartment", "fields", "NRMSE", "correlation", "least", "Dice", "peak")
    return table("Pressure fields at held-out poses", header, rows)


def times(cases: list[Case]) -> str:
    """Return the table of the times of a call and of the fit."""
    rows = []
    for each in cases:
        poses = [Pose.from_array(row) for row in poses_of(each.held_out)[:_POSES]]
        found = 1e3 * np.array([_fastest(each.knee, pose) for pose in poses])
        rows.append(
            [
                each.name,
                f"{np.median(found):.2f} ms",
                f"{np.percentile(found, 95):.2f} ms",
                f"{each.seconds:.0f} s",
            ]
        )
    header = ("run", "call, median", "95 % of poses", "samples' fields and fit")
    return table("Time of the field of both compartments", header, rows)


def _fastest(knee: ContactSurrogate, pose: Pose) -> float:
    """Return the time of the fastest of some calls [s]: other programs only add to the time."""
    taken = []
    for _ in range(_CALLS):
        start = perf_counter()
        knee.pressure_field(pose)
        taken.append(perf_counter() - start)
    return min(taken)


def wear(cases: list[Case]) -> str:
    """Return the table of the errors of the wear depth."""
    rows = []
    for each in cases:
        run, model = each.run, each.run.contact
        law, fields = run.gait.wear_law, FieldContact(each.knee, model.tibia, model.compartments)
        motion = run.gait(model)
        truth = bed_wear(model, motion, law).depth
        for label, driven in (("same", motion), ("own", run.gait(each.knee))):
            rms, most, deepest = _misses(bed_wear(fields, driven, law).depth, truth)
            rows.append([each.name, label, *(f"{100 * v:.3g} %" for v in (rms, most, deepest))])
    header = ("run", "motion", "RMS over deepest", "largest", "deepest")
    return table("Wear depth by the fields of the surrogate", header, rows)


def _misses(depth: FloatArray, truth: FloatArray) -> tuple[float, float, float]:
    """Return RMS and largest error over the deepest wear, and the error of the deepest [1]."""
    deepest = float(truth.max())
    away = depth - truth
    worn = (truth > 0.0) | (depth > 0.0)
    rms = float(np.sqrt((away[worn] ** 2).mean()))
    return rms / deepest, float(np.abs(away).max()) / deepest, float(depth.max()) / deepest - 1.0


def main() -> None:
    """Print the tables of the runs named on the command line."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--samples", type=int, default=1000, help="most samples of a compartment")
    parser.add_argument("--spacing-mm", type=float, default=0.6, help="grid of the condyles [mm]")
    chosen = parser.parse_args()
    settings = FieldsConfig(samples=chosen.samples, spacing_mm=chosen.spacing_mm)
    with threadpool_limits(1):
        cases = [case(folder, settings) for folder in chosen.runs]
        for make in (errors, times, wear):
            print(make(cases), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
