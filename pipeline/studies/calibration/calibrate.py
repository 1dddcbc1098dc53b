"""Calibration of spring laws on one knee: samples, fits, configurations, what remains."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from foundation.base.checks import FloatArray
from pipeline.advice import command_line
from pipeline.config.comparison_schema import CalibrationConfig
from pipeline.config.pairs import require_knee
from pipeline.config.reading import dump_config
from pipeline.config.schema import Config
from pipeline.files import write_text
from pipeline.originals.finite_element_layer import CONDENSED
from pipeline.progress import say
from pipeline.reports.units import number
from pipeline.store.job import Job, JobKind
from pipeline.store.run_documents import Computed
from pipeline.studies.calibration.fits import (
    FIGURES,
    FITTED,
    FREE_LAWS,
    Keys,
    check_laws,
    errors_of,
    fit_law,
    free_springs,
    held_out_errors,
    linear_springs,
)
from pipeline.studies.calibration.samples import CalibrationSamples
from pipeline.studies.conduct import Outcome, Study, Table
from pipeline.studies.contact_models.knee import TIMES, ComparedKnee

CALIBRATED = "calibrated.toml"


class CalibratedRow(NamedTuple):
    """A law and its errors (N, 5) [1, m] at the samples."""

    law: str
    #: Whether the law was fitted to the samples; its errors are those at held-out samples.
    calibrated: bool
    #: Keys of the law in a configuration.
    keys: Keys
    #: `pipeline.studies.calibration.fits.FIGURES` at each sample, (N, 5) [1, m].
    errors: FloatArray
    #: The same by the law that was fitted to all samples.
    fitted: FloatArray | None = None

    @property
    def distance(self) -> float:
        """Root mean square of the logarithms of the fitted figures [1]."""
        return float(np.sqrt(np.mean(self.errors[:, FITTED] ** 2)))


class LawErrors(Computed):
    """RMS errors of `FIGURES` over samples."""

    force_percent: float | None
    stiffness_percent: float | None
    peak_pressure_percent: float | None
    area_percent: float | None
    centre_mm: float | None


class CalibratedLaw(Computed):
    """Keys and errors of a law, of a calibrated law at held-out samples and at the fitted ones.

    An infinite key is None.
    """

    law: str
    calibrated: bool
    keys: dict[str, int | float | None]
    errors: LawErrors
    errors_at_fitted_samples: LawErrors | None = None


class Calibration(Computed):
    """`calibration.json`: the closest law, and all laws with their errors."""

    closest: str
    samples: int
    seconds: float
    laws: list[CalibratedLaw]


def _prepare(config: Config, job: Job) -> ComparedKnee:
    """Return the knee of a calibration, checked."""
    require_knee(config.knee, "a calibration")
    check_laws(config, settings_of(config).laws)
    knee = ComparedKnee(config, job.folder, job.resume)
    knee.check()
    return knee


def _carry_out(knee: ComparedKnee, job: Job) -> Outcome:
    """Calibrate the laws, and write a configuration of each, and of the closest.

    Raises `StageError` if the finite elements fail at most of the samples.
    """
    with threadpool_limits(1):
        samples = knee.samples.value
        start = time.perf_counter()
        rows = list(calibrated_rows(knee, samples, settings_of(knee.config)))
        seconds = time.perf_counter() - start
        closest = min((row for row in rows if row.calibrated), key=lambda row: row.distance)
        for row in rows:
            if row.calibrated:
                _write_config(knee, row, job.folder / f"{row.law}.toml")
        _write_config(knee, closest, job.folder / CALIBRATED)
    content = _content(rows, closest, samples, seconds)
    tables = {"calibration.csv": Table(_table(samples, rows), "%.5g")}
    return Outcome(content, summary_lines(content, job.folder), tables=tables)


def settings_of(config: Config) -> CalibrationConfig:
    """Return the settings of a calibration, by default those of the schema."""
    return config.calibration or CalibrationConfig()


def calibrated_rows(
    knee: ComparedKnee, samples: CalibrationSamples, settings: CalibrationConfig
) -> Iterator[CalibratedRow]:
    """Yield the linear law, and each law as it is given and after its calibration."""
    linear = linear_springs(knee)
    yield CalibratedRow("linear", False, {}, errors_of(linear, samples))
    for name in settings.laws:
        say(f"calibration of the {name} law")
        springs = free_springs(knee, samples, linear, name)
        yield CalibratedRow(name, False, springs.given, errors_of(springs.bed, samples))
        fit = fit_law(springs.free, springs.at, samples)
        errors = held_out_errors(fit, springs.at, samples, settings.folds)
        fitted = errors_of(springs.at(fit.values), samples)
        yield CalibratedRow(name, True, springs.keys(fit.values), errors, fitted)


def _write_config(knee: ComparedKnee, row: CalibratedRow, file: Path) -> None:
    config = knee.springs(row.law, **row.keys)
    name = f"{config.run.name}_{row.law}"
    run = config.run.model_copy(update={"name": name})
    write_text(file, dump_config(config.model_copy(update={"run": run})))


def _table(samples: CalibrationSamples, rows: list[CalibratedRow]) -> pd.DataFrame:
    """Return the errors of each sample by each law."""
    parts = []
    for row in rows:
        ratios = np.expm1(row.errors[:, :-1]) * 100.0
        columns = {f"{name}_percent": ratios[:, k] for k, name in enumerate(FIGURES[:-1])}
        kind = "calibrated" if row.calibrated else "given"
        part = pd.DataFrame({"law": row.law, "kind": kind, "compartment": samples.compartments})
        part["load_N"] = samples.loads[:, 1]
        parts.append(part.assign(**columns, centre_mm=1e3 * row.errors[:, -1]))
    return pd.concat(parts)


def _content(
    rows: list[CalibratedRow], closest: CalibratedRow, samples: CalibrationSamples, seconds: float
) -> Calibration:
    laws = []
    for row in rows:
        law = CalibratedLaw(
            law=row.law,
            calibrated=row.calibrated,
            keys=dict(row.keys),
            errors=figures_of(row.errors),
        )
        if row.fitted is not None:
            law.errors_at_fitted_samples = figures_of(row.fitted)
        laws.append(law)
    return Calibration(closest=closest.law, samples=len(samples), seconds=seconds, laws=laws)


def figures_of(errors: FloatArray) -> LawErrors:
    """Return RMS errors of `FIGURES` over samples (N, 5) [1, m]."""
    rms = np.sqrt(np.mean(np.expm1(errors[:, :-1]) ** 2, axis=0)) * 100.0
    found = {f"{name}_percent": float(rms[k]) for k, name in enumerate(FIGURES[:-1])}
    return LawErrors(**found, centre_mm=float(1e3 * np.sqrt(np.nanmean(errors[:, -1] ** 2))))


def summary_lines(content: Calibration, folder: Path) -> list[str]:
    """Return the lines on the terminal for a calibration."""
    lines = []
    for row in content.laws:
        kind = "calibrated, at held-out samples" if row.calibrated else "as given"
        e = row.errors
        lines.append(
            f"{row.law} law, {kind}: force {number(e.force_percent)} %, stiffness "
            f"{number(e.stiffness_percent)} %, peak pressure "
            f"{number(e.peak_pressure_percent)} %, area {number(e.area_percent)} %, centre "
            f"{number(e.centre_mm)} mm"
        )
    lines.append(f"closest: {content.closest} law, written to {folder / CALIBRATED}")
    lines.append(f"next: use the law: {command_line('run', folder / CALIBRATED)}")
    return lines


LAW_CALIBRATION = Study(
    # Condensed finite elements, with which a calibration continues, do not depend on the laws.
    JobKind("calibration", "run", "calibration.toml", ("calibration.",)),
    Config,
    "calibration.json",
    "",
    _prepare,
    _carry_out,
    files=("calibration.csv", CALIBRATED, *(f"{law}.toml" for law in FREE_LAWS)),
    kept=(CONDENSED, TIMES),
    ending="_calibration",
)
