"""Calibration of spring laws on one knee: the laws, fits by least squares, configurations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError, PoseError
from foundation.base.loads import AREA, AXIAL_FORCE, PEAK_PRESSURE
from foundation.base.pose import Pose
from foundation.base.threads import one_thread
from foundation.elastic_foundation.laws import LayerLaw, SeriesLaw, SpringLaw
from foundation.elastic_foundation.model import ElasticFoundation
from pipeline.advice import command_line
from pipeline.config.contact_schema import OWN_KEYS, CalibrationConfig
from pipeline.config.reading import dump_config
from pipeline.config.schema import Config, require_knee
from pipeline.files import write_text
from pipeline.originals.finite_element_layer import CONDENSED
from pipeline.originals.spring_bed import build_bed, law_over
from pipeline.progress import say
from pipeline.reports.units import number
from pipeline.store.job import Job, JobKind
from pipeline.store.run_documents import Computed
from pipeline.studies.conduct import Outcome, Study
from pipeline.studies.contact_models.knee import (
    TIMES,
    CalibrationSamples,
    ComparedKnee,
    given_parameters,
)

#: Exponents nearer to 1 are not searched: dref has no influence at 1.
_NEAREST = 0.02
#: Values of 1/f below this are f = inf.
_NO_OFFSET = 1e-6

Bounds = tuple[tuple[float, ...], tuple[float, ...]]
Keys = dict[str, float]


@dataclass(frozen=True)
class FreeLaw:
    """A spring law with P free parameters, (P,) [1]."""

    name: str
    #: Starts of the search, (P,) each, and the bounds within which each is improved, (2, P).
    starts: tuple[tuple[tuple[float, ...], Bounds], ...]
    #: Takes parameters (P,) and a typical indentation [mm], returns the keys in a configuration.
    keys: Callable[[FloatArray, float], Keys]


def with_keys(law: SpringLaw, name: str, keys: Keys) -> SpringLaw:
    """Return a law of a name, of one layer or of two, with other values of its own keys."""
    if isinstance(law, SeriesLaw):
        return SeriesLaw(with_keys(law.first, name, keys), with_keys(law.second, name, keys))
    assert isinstance(law, LayerLaw)
    known = OWN_KEYS[name]
    return replace(law, **{known[key][0]: known[key][1] * value for key, value in keys.items()})


def _modified(values: FloatArray, indentation: float) -> Keys:
    """Keys from 1/f, m, and the logarithm of the factor of the pressure at the indentation [mm]."""
    inverse, m, strength = values.tolist()
    return {
        "f": 1.0 / inverse if inverse > _NO_OFFSET else np.inf,
        "m": m,
        "reference_indentation_mm": indentation * float(np.exp(strength / (1.0 - m))),
    }


def _coupled(values: FloatArray, indentation: float) -> Keys:
    """Keys from the logarithms of both factors."""
    del indentation
    modulus, thickness = np.exp(values).tolist()
    return {"modulus_factor": modulus, "thickness_factor": thickness}


_WIDEST = float(np.log(10.0))
_LARGEST_FACTOR = float(np.log(3.0))
FREE_LAWS = {
    law.name: law
    for law in (
        FreeLaw(
            "modified",
            tuple(
                (start, ((0.0, low, -_WIDEST), (0.8, high, _WIDEST)))
                for start, low, high in (
                    ((0.05, 0.9, -0.3), 0.3, 1.0 - _NEAREST),
                    ((0.05, 1.2, -0.3), 1.0 + _NEAREST, 3.0),
                )
            ),
            _modified,
        ),
        FreeLaw(
            "coupled",
            (((0.0, 0.0), ((-_LARGEST_FACTOR,) * 2, (_LARGEST_FACTOR,) * 2)),),
            _coupled,
        ),
    )
}


@dataclass(frozen=True, eq=False)
class FreeSprings:
    """A bed of springs with free parameters of its law."""

    free: FreeLaw
    #: Keys of the law before its calibration.
    given: Keys
    #: Springs with these keys.
    bed: ElasticFoundation
    #: Law of the bed with the thickness of each layer [m].
    law: SpringLaw
    #: Typical of the knee [mm].
    indentation: float

    def keys(self, values: FloatArray) -> Keys:
        """Return the keys of a configuration for parameters (P,) [1]."""
        return self.given | self.free.keys(values, self.indentation)

    def at(self, values: FloatArray) -> ElasticFoundation:
        """Return the bed with parameters (P,) [1]."""
        return self.bed.with_law(with_keys(self.law, self.free.name, self.keys(values)))


def linear_springs(knee: ComparedKnee) -> ElasticFoundation:
    """Return the springs of a knee with the linear law."""
    return build_bed(knee.springs("linear").contact, knee.surfaces)


def check_laws(config: Config, names: Sequence[str]) -> None:
    """Raise an InputError if a law cannot be calibrated with the springs of a configuration."""
    if "modified" in names and config.contact.conservative:
        raise InputError(
            "contact.conservative: expected false for a calibration of the modified law, which has "
            'no stored energy, found true; calibrate other laws (laws = ["coupled"]), or remove '
            "the key"
        )


def free_springs(
    knee: ComparedKnee, samples: CalibrationSamples, linear: ElasticFoundation, name: str
) -> FreeSprings:
    """Return the springs of a knee with a law of `FREE_LAWS`, by means of `linear` springs."""
    check_laws(knee.config, (name,))
    given = given_parameters(knee.config, name)
    contact = knee.springs(name, **given).contact
    law = law_over(contact, knee.surfaces)
    columns = zip(samples.poses, samples.compartments.tolist(), strict=True)
    depths = [linear.indentation(Pose.from_array(pose), side) for pose, side in columns]
    indentation = 1e3 * float(np.median(depths))
    bed = build_bed(contact, knee.surfaces)
    return FreeSprings(FREE_LAWS[name], given, bed, law, indentation)


#: What is fitted with the same weights, as logarithm of the ratio: force at a given pose, peak
#: pressure and area at a given load.
FIGURES = ("force", "peak_pressure", "area")
#: Ratio of a figure that the springs do not have: out of contact, or without an answer.
_NONE = 1e-2
#: Steps of Newton's method to a load, and when they end [1].
_MOST_STEPS, _CLOSE = 8, 5e-4
#: Step of the differences, beyond the roughness of loads; end of the search; evaluations.
_DIFFERENCE, _TOLERANCE, _MOST_EVALUATIONS = 5e-3, 1e-3, 30

#: Residuals beyond this count linearly: ridges of a mesh make single peaks of pressure.
_OUTLYING = 0.05

#: Takes the free parameters (P,) and returns the bed of springs.
BedOf = Callable[[FloatArray], ElasticFoundation]


class Fit(NamedTuple):
    """Sum of squares of a fit [1], its parameters (P,) and the bounds of its search."""

    cost: float
    values: FloatArray
    bounds: Bounds


def errors_of(bed: ElasticFoundation, samples: CalibrationSamples) -> FloatArray:
    """Return the `FIGURES` of springs compared with samples, (N, 3) [1]."""
    columns = samples.poses, samples.compartments.tolist(), samples.loads
    rows = [_errors_at(bed, Pose.from_array(p), *rest) for p, *rest in zip(*columns, strict=True)]
    return np.array(rows)


def fit_law(law: FreeLaw, bed_of: BedOf, samples: CalibrationSamples) -> Fit:
    """Fit the parameters of a law to samples by least squares, from each start of the law."""
    fits = [_fitted(bed_of, samples, *start) for start in law.starts]
    return min(fits, key=lambda fit: fit.cost)


def held_out_errors(fit: Fit, bed_of: BedOf, samples: CalibrationSamples, folds: int) -> FloatArray:
    """Return the `FIGURES` (N, 3) [1] of each of `folds` parts by a fit to the other parts.

    The parts are taken in turn along the samples, so that the result does not depend on chance.
    """
    errors = np.empty((len(samples), len(FIGURES)))
    turn = np.arange(len(samples)) % folds
    for fold in range(folds):
        other = _fitted(bed_of, samples.part(turn != fold), tuple(fit.values), fit.bounds)
        errors[turn == fold] = errors_of(bed_of(other.values), samples.part(turn == fold))
    return errors


def _fitted(
    bed_of: BedOf, samples: CalibrationSamples, start: tuple[float, ...], bounds: Bounds
) -> Fit:
    """Return the fit of a search from a start."""

    def residuals(values: FloatArray) -> FloatArray:
        return errors_of(bed_of(values), samples).ravel()

    found = least_squares(
        residuals,
        start,
        bounds=bounds,
        loss="soft_l1",
        f_scale=_OUTLYING,
        diff_step=np.full(len(start), _DIFFERENCE),
        ftol=_TOLERANCE,
        xtol=_TOLERANCE,
        max_nfev=_MOST_EVALUATIONS,
    )
    return Fit(float(found.cost), found.x, bounds)


def _errors_at(
    bed: ElasticFoundation, pose: Pose, compartment: str, target: FloatArray
) -> FloatArray:
    """Return the `FIGURES` (3,) [1] at one sample."""
    errors = np.full(len(FIGURES), np.log(_NONE))
    try:
        loads, jacobian, _ = bed.compartment_loads(pose, compartment)
        if loads[AXIAL_FORCE] <= 0.0:
            return errors
        errors[0] = np.log(loads[AXIAL_FORCE] / target[AXIAL_FORCE])
        under = _at_load(bed, pose, compartment, target[AXIAL_FORCE], loads, -jacobian[1, 4])
    except PoseError:
        return errors
    for place, column in ((1, PEAK_PRESSURE), (2, AREA)):
        errors[place] = np.log(max(under[column] / target[column], _NONE))
    return errors


def _at_load(
    bed: ElasticFoundation, pose: Pose, compartment: str, load: float, loads: FloatArray,
    stiffness: float,
) -> FloatArray:  # fmt: skip
    """Return the loads (12,) [SI] of springs at the height that carries an axial load [N].

    Newton's method follows the root of the load, which is nearly linear in the height.
    """
    for _ in range(_MOST_STEPS):
        force = loads[AXIAL_FORCE]
        if abs(force / load - 1.0) < _CLOSE or not (force > 0.0 and stiffness > 0.0):
            break
        rise = 2.0 * (force - np.sqrt(force * load)) / stiffness
        pose = replace(pose, superior=pose.superior + float(rise))
        loads, jacobian, _ = bed.compartment_loads(pose, compartment)
        stiffness = -jacobian[1, 4]
    return loads


CALIBRATED = "calibrated.toml"


class CalibratedRow(NamedTuple):
    """A law and its errors (N, 3) [1] at the samples."""

    law: str
    #: Whether the law was fitted to the samples; its errors are those at held-out samples.
    calibrated: bool
    #: Keys of the law in a configuration.
    keys: Keys
    #: `FIGURES` at each sample, (N, 3) [1].
    errors: FloatArray

    @property
    def distance(self) -> float:
        """Root mean square of the logarithms of the figures [1]."""
        return float(np.sqrt(np.mean(self.errors**2)))


class CalibratedLaw(Computed):
    """Keys of a law, and its RMS errors [%] by `FIGURES`, at held-out samples if calibrated.

    An infinite key is None.
    """

    law: str
    calibrated: bool
    keys: dict[str, int | float | None]
    errors_percent: dict[str, float]


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
    """Calibrate the laws, and write the configuration of the closest."""
    with one_thread:
        samples = knee.samples.value
        start = time.perf_counter()
        rows = list(calibrated_rows(knee, samples, settings_of(knee.config)))
        seconds = time.perf_counter() - start
        closest = min((row for row in rows if row.calibrated), key=lambda row: row.distance)
        _write_config(knee, closest, job.folder / CALIBRATED)
    laws = [
        CalibratedLaw(
            law=row.law,
            calibrated=row.calibrated,
            keys=dict(row.keys),
            errors_percent=percentages(row.errors),
        )
        for row in rows
    ]
    content = Calibration(closest=closest.law, samples=len(samples), seconds=seconds, laws=laws)
    return Outcome(content, summary_lines(content, job.folder))


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
        yield CalibratedRow(name, True, springs.keys(fit.values), errors)


def _write_config(knee: ComparedKnee, row: CalibratedRow, file: Path) -> None:
    config = knee.springs(row.law, **row.keys)
    name = f"{config.run.name}_{row.law}"
    run = config.run.model_copy(update={"name": name})
    write_text(file, dump_config(config.model_copy(update={"run": run})))


def percentages(errors: FloatArray) -> dict[str, float]:
    """Return RMS errors [%] by `FIGURES` over samples (N, 3) [1]."""
    rms = np.sqrt(np.mean(np.expm1(errors) ** 2, axis=0)) * 100.0
    return dict(zip(FIGURES, rms.tolist(), strict=True))


def summary_lines(content: Calibration, folder: Path) -> list[str]:
    """Return the lines on the terminal for a calibration."""
    lines = []
    for row in content.laws:
        kind = "calibrated, at held-out samples" if row.calibrated else "as given"
        figures = (
            f"{name.replace('_', ' ')} {number(error)} %"
            for name, error in row.errors_percent.items()
        )
        lines.append(f"{row.law} law, {kind}: {', '.join(figures)}")
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
    files=(CALIBRATED,),
    kept=(CONDENSED, TIMES),
    ending="_calibration",
)
