"""Pressure fields of surrogates compared with the fields of the original model.

`python -m benchmarks.pressure_fields RUN...` takes finished runs, fits pressure fields to their
samples and prints the errors on held-out samples, the time of a call and the errors of the wear:
on the motion of the original model, and with the surrogate on its own motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np
import pandas as pd

from benchmarks.frame import Rows, measured, show
from benchmarks.timing import clocked, shortest
from benchmarks.trained_runs import runs_given
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


def case(run: TrainedRun, settings: FieldsConfig) -> Case:
    """Return a run with pressure fields of given settings."""
    names = [name for name in _FITTED if (run.folder / "samples" / f"{name}.parquet").is_file()]
    samples = pd.concat([run.samples(name) for name in names], ignore_index=True)
    surrogate = run.config.surrogate.model_copy(update={"fields": settings})
    return Case(
        run, *clocked(lambda: with_fields(run.surrogate, run.contact, samples, surrogate, 0))
    )


@measured(
    "Pressure fields at held-out poses",
    {"run, compartment": "", "fields": ".0f", "NRMSE [%]": ".2f", "correlation": ".4f",
     "least": ".3f", "Dice": ".3f", "peak [%]": ".2f"},
)  # fmt: skip
def errors(cases: list[Case]) -> Rows:
    """Errors on held-out samples."""
    keys = ("points", "nrmse", "median_correlation", "least_correlation", "dice", "peak")
    for each in cases:
        figures = field_figures(each.knee, each.run.contact, each.held_out)
        for name, own in figures.items():
            yield f"{each.name}, {name}", *(own[key] for key in keys)


@measured(
    "Time of the field of both compartments",
    {"run": "", "call, median [ms]": ".2f", "95 % of poses [ms]": ".2f",
     "samples' fields and fit [s]": ".0f"},
)  # fmt: skip
def times(cases: list[Case]) -> Rows:
    """Times of a call and of the fit."""
    for each in cases:
        poses = [Pose.from_array(row) for row in poses_of(each.held_out)[:_POSES]]
        found = [
            shortest(partial(each.knee.pressure_field, pose), _CALLS, perf_counter)
            for pose in poses
        ]
        yield each.name, np.median(found), np.percentile(found, 95), each.seconds


@measured(
    "Wear depth by the fields of the surrogate",
    {"run": "", "motion": "", "RMS over deepest [%]": ".3g", "largest [%]": ".3g",
     "deepest [%]": ".3g"},
)  # fmt: skip
def wear(cases: list[Case]) -> Rows:
    """Errors of the wear depth."""
    for each in cases:
        run, model = each.run, each.run.contact
        law, fields = run.gait.wear_law, FieldContact(each.knee, model.tibia, model.compartments)
        motion = run.gait(model)
        truth = bed_wear(model, motion, law).depth
        for label, driven in (("same", motion), ("own", run.gait(each.knee))):
            yield each.name, label, *_misses(bed_wear(fields, driven, law).depth, truth)


def _misses(depth: FloatArray, truth: FloatArray) -> tuple[float, float, float]:
    """Return RMS and largest error over the deepest wear, and the error of the deepest [1]."""
    deepest = float(truth.max())
    away = depth - truth
    worn = (truth > 0.0) | (depth > 0.0)
    rms = float(np.sqrt((away[worn] ** 2).mean()))
    return rms / deepest, float(np.abs(away).max()) / deepest, float(depth.max()) / deepest - 1.0


OPTIONS = {
    "--samples": (1000, "most samples of a compartment"),
    "--spacing-mm": (0.6, "grid of the condyles [mm]"),
}

if __name__ == "__main__":
    with runs_given(__doc__, OPTIONS) as (chosen, runs):
        settings = FieldsConfig(samples=chosen.samples, spacing_mm=chosen.spacing_mm)
        cases = [case(run, settings) for run in runs]
        show(make(cases) for make in (errors, times, wear))
