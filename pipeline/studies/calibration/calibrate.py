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
from pipeline.config.calibration_schema import CalibrationConfig
from pipeline.config.pairs import require_knee
from pipeline.config.reading import dump_config
from pipeline.config.schema import Config
from pipeline.files import replacing, write_document, write_text
from pipeline.originals.finite_element_layer import CONDENSED
from pipeline.progress import say
from pipeline.reports.units import number
from pipeline.store.job import CALIBRATION, Job
from pipeline.store.run_documents import Computed
from pipeline.studies.calibration.fits import (
    FIGURES,
    FITTED,
    errors_of,
    fit_law,
    held_out_errors,
)
from pipeline.studies.calibration.laws import FREE_LAWS, Keys
from pipeline.studies.calibration.samples import CalibrationSamples
from pipeline.studies.calibration.springs import check_laws, free_springs, linear_springs
from pipeline.studies.contact_models.knee import TIMES, ComparedKnee

DOCUMENT, TABLE, CALIBRATED = "calibration.json", "calibration.csv", "calibrated.toml"
#: Results of a calibration.
_FILES = (DOCUMENT, TABLE, CALIBRATED, *(f"{law}.toml" for law in FREE_LAWS))


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


def calibrate_laws(
    config: Config,
    folder: Path,
    *,
    resume: bool = False,
    replace: bool = False,
) -> Calibration:
    """Calibrate the spring laws of a study on finite elements of its knee, and write them.

    Parameters
    ----------
    config : Config
        The study, of springs or of finite elements.
    folder : Path
        Folder of the results: `calibrated.toml` with the closest law, a configuration of each
        calibrated law, the errors of each sample and a summary.
    resume : bool
        Whether to use condensed finite elements that are in the folder.
    replace : bool
        Whether to replace a calibration of another configuration in the folder.

    Returns
    -------
    Calibration
        The content of `calibration.json`.

    Raises
    ------
    InputError
        If the knee cannot be used, a law cannot be calibrated, or the folder holds something else.
    StageError
        If the finite elements fail at most of the samples.
    """
    require_knee(config.knee, "a calibration")
    settings = config.calibration or CalibrationConfig()
    check_laws(config, settings.laws)
    knee = ComparedKnee(config, folder, resume)
    knee.check()
    kept = CONDENSED, TIMES
    job = Job(CALIBRATION, folder, config, _FILES, kept, resume=resume, replace=replace)
    job.check()
    with job.begun(), threadpool_limits(1):
        samples = knee.samples.value
        start = time.perf_counter()
        rows = list(calibrated_rows(knee, samples, settings))
        seconds = time.perf_counter() - start
        closest = min((row for row in rows if row.calibrated), key=lambda row: row.distance)
        for row in rows:
            if row.calibrated:
                _write_config(knee, row, folder / f"{row.law}.toml")
        _write_config(knee, closest, folder / CALIBRATED)
        _write_table(folder / TABLE, samples, rows)
        content = _content(rows, closest, samples, seconds)
        write_document(folder / DOCUMENT, content)
    return content


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


def _write_table(file: Path, samples: CalibrationSamples, rows: list[CalibratedRow]) -> None:
    """Write the errors of each sample by each law."""
    parts = []
    for row in rows:
        ratios = np.expm1(row.errors[:, :-1]) * 100.0
        columns = {f"{name}_percent": ratios[:, k] for k, name in enumerate(FIGURES[:-1])}
        kind = "calibrated" if row.calibrated else "given"
        part = pd.DataFrame({"law": row.law, "kind": kind, "compartment": samples.compartments})
        part["load_N"] = samples.loads[:, 1]
        parts.append(part.assign(**columns, centre_mm=1e3 * row.errors[:, -1]))
    with replacing(file) as partial:
        pd.concat(parts).to_csv(partial, index=False, float_format="%.5g")


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


def summary_text(content: Calibration, folder: Path) -> str:
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
    return "\n".join(lines)
