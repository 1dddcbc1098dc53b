"""Errors of the surrogate at designs: measured where it was not fitted, expected elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binom

from foundation.base.checks import FloatArray
from pipeline.config.schema import Config
from pipeline.stages.assessment import feasible
from pipeline.store.samples import loads_of, poses_of, usable
from surrogates.families.fixed_inputs import with_parameters
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.designs import unit_design
from surrogates.sampling.parameters import Design


class ErrorKind(NamedTuple):
    """An error of the surrogate in words, with its unit, and the accepted RMS over designs."""

    words: str
    unit: str
    accepted: float

    @property
    def limit(self) -> float:
        """Largest accepted error of one design: 95 % of normal errors are below twice their RMS."""
        return 2.0 * self.accepted


#: Errors: of samples, RMS of the height at a load and of the AP and ML force over the axial load,
#: and of a gait cycle (`cycle_errors`).
ERRORS = {
    "height_um": ErrorKind("height at a load", "um", 4.0),
    "ap_ratio_percent": ErrorKind("AP force", "% of the axial load", 0.1),
    "ml_ratio_percent": ErrorKind("ML force", "% of the axial load", 0.4),
    "gait_force_percent": ErrorKind("axial force over gait", "% of the peak", 0.3),
    "ap_travel_percent": ErrorKind("AP travel", "%", 1.0),
    "wear_percent": ErrorKind("wear", "%", 1.0),
    "peak_percent": ErrorKind("peak pressure over gait", "% of the largest", 3.0),
}
#: Those of samples; the others are of a gait cycle.
OF_SAMPLES = tuple(ERRORS)[:3]
#: Error of `ERRORS` that tells of an output of a gait cycle, by a part of its name.
_OF_OUTPUTS = {
    "wear_mm3": "wear_percent",
    "peak_pressure": "peak_percent",
    "anterior_range": "ap_travel_percent",
    "_force_": "gait_force_percent",
}
#: Part of the designs whose errors are at most the expected ones, and the probability with which
#: this part is reached.
_QUANTILE, _CONFIDENCE = 0.95, 0.8
#: Inputs at which the predicted error of a design is taken.
_INPUTS = 256
#: Units of the predicted errors of height and force ratios in SI: um, %, %.
_SIZES = (1e6, 100.0, 100.0)
#: Keys of the header of a surrogate with the factors of its expected errors, and with their growth
#: from the middle of the ranges to the corners; and the fewest designs that tell the growth.
_KEY, _GROWTH, _FEWEST = "expected_errors", "expected_growth", 10


def error_of(output: str) -> str:
    """Return which error of `ERRORS` tells of an output of a gait cycle, "" if none does."""
    return next((error for part, error in _OF_OUTPUTS.items() if part in output), "")


def sample_errors(
    config: Config, own: ContactSurrogate, rows: pd.DataFrame, spread: float
) -> dict[str, float]:
    """Return RMS errors at the feasible samples of one design, the first ones of `ERRORS`.

    The samples were drawn with a `spread` of the load [1] and are weighted as if the load were
    even.
    """
    found, weights = [], []
    for name in own.compartments:
        chosen = feasible(usable(rows, name), config.feasibility)
        poses, loads = poses_of(chosen), loads_of(chosen)
        at, predicted = own.compartment(name).at_load(poses, loads[:, 1])
        ratios = (predicted - loads)[:, [0, 2]] / loads[:, 1:2]
        found.append(np.column_stack([1e6 * (at - poses)[:, 4], 100.0 * ratios]))
        weights.append(loads[:, 1] ** (1.0 - 1.0 / spread))
    misses = np.concatenate(found)
    if not len(misses):
        return dict.fromkeys(OF_SAMPLES, np.nan)
    sizes = np.sqrt(np.average(misses**2, axis=0, weights=np.concatenate(weights)))
    return dict(zip(OF_SAMPLES, sizes.tolist(), strict=True))


def fitted_errors(
    knee: ContactSurrogate,
    designs: Sequence[Mapping[str, float]],
    errors: Sequence[Mapping[str, float]],
) -> dict[str, Any]:
    """Return the entry of a header from which the errors expected at a design follow.

    Measured errors of designs that were not learnt are in proportion to those that the fits
    predict, by a factor that few designs exceed (conformal prediction with normalised errors; Lei
    et al. 2018, J Am Stat Assoc 113:1094-1111, section 5.2). The factor may grow towards the
    corners.
    """
    predicted = [predicted_errors(knee, design) for design in designs]
    outward = np.array([_outward(knee, design) for design in designs])
    factors, growths = dict[str, float](), dict[str, float]()
    for name in ERRORS:
        ratios = np.array(
            [own.get(name, np.nan) / by[name] for own, by in zip(errors, predicted, strict=True)]
        )
        known = np.isfinite(ratios) & (ratios > 0.0)
        if known.any():
            logs, at = np.log(ratios[known]), outward[known]
            if len(logs) >= _FEWEST and np.ptp(at) > 0.0:
                growths[name] = max(float(np.polyfit(at, logs, 1)[0]), 0.0)
            left = np.sort(logs - growths.get(name, 0.0) * at)
            # The rank that is above the quantile with the confidence, as far as there is one.
            rank = min(int(binom.ppf(_CONFIDENCE, len(left), _QUANTILE)) + 1, len(left))
            factors[name] = float(np.exp(left[rank - 1]))
    return {_KEY: factors, _GROWTH: growths}


def _outward(knee: ContactSurrogate, design: Design) -> float:
    """Return the mean square of the scaled parameters [1]: 0 in the middle, 1 at a corner."""
    return float(np.mean(knee.parameters.scaled(design) ** 2))


def _box() -> FloatArray:
    """Return the scaled variables (N, 6) [1] at which the errors of a design are predicted."""
    return 2.0 * unit_design("sobol", _INPUTS, 6, np.random.default_rng(0)) - 1.0


def standard_errors(knee: ContactSurrogate, z: FloatArray) -> FloatArray:
    """Return the standard errors over the box, of height [um] and force ratios [%], at z (P,)."""
    inputs = with_parameters(_box(), z)
    squares = [
        np.column_stack([r.standard_error(inputs) for r in part.regressors if r.outputs])[:, :3]
        ** 2
        for part in knee.by_name.values()
    ]
    return np.asarray(np.sqrt(np.mean(squares, axis=(0, 1))) * _SIZES)


def predicted_errors(knee: ContactSurrogate, design: Design) -> dict[str, float]:
    """Return errors of a design as fits predict them, up to factors; over gait, the height's."""
    sizes = standard_errors(knee, knee.parameters.scaled(design)).tolist()
    return dict.fromkeys(ERRORS, sizes[0]) | dict(zip(ERRORS, sizes, strict=False))


def expected_errors(knee: ContactSurrogate, design: Design) -> dict[str, float]:
    """Return the error that few designs like this one exceed, by `ERRORS`."""
    factors = knee.header.get(_KEY, {})
    if not factors:
        return {}
    predicted, growths = predicted_errors(knee, design), knee.header.get(_GROWTH, {})
    outward = _outward(knee, design)
    return {
        name: float(factor * np.exp(growths.get(name, 0.0) * outward) * predicted[name])
        for name, factor in factors.items()
    }


def errors_for_page(knee: ContactSurrogate) -> dict[str, Any] | None:
    """Return what a page computes the expected errors of a design from; None if none are known."""
    factors, growths = knee.header.get(_KEY, {}), knee.header.get(_GROWTH, {})
    columns = dict(zip(ERRORS, range(len(_SIZES)), strict=False))
    errors = [
        {
            "words": ERRORS[name].words,
            "unit": ERRORS[name].unit,
            "limit": ERRORS[name].limit,
            "column": columns.get(name, 0),
            "size": _SIZES[columns.get(name, 0)],
            "factor": factor,
            "growth": growths.get(name, 0.0),
        }
        for name, factor in factors.items()
    ]
    return {"box": _box(), "errors": errors} if errors else None


def told_errors(
    errors: Mapping[str, float], which: str = "expected ", *, above: bool = False
) -> list[str]:
    """Return the errors of a design in words, with what is accepted; `above`, only larger ones."""
    return [
        f"{which}error of {kind.words}: {errors[name]:.2g} {kind.unit}, accepted {kind.limit:g}"
        + ", exceeded" * (errors[name] > kind.limit)
        for name, kind in ERRORS.items()
        if name in errors and (not above or errors[name] > kind.limit)
    ]


def doubts(expected: Mapping[str, float]) -> list[str]:
    """Return which expected errors exceed the accepted ones, in words."""
    return told_errors(expected, above=True)


def largest_share(expected: Mapping[str, float]) -> float:
    """Return the largest of expected errors over the accepted ones [1]; 0 without any."""
    return max((size / ERRORS[name].limit for name, size in expected.items()), default=0.0)


def worst(errors: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float | None]]:
    """Return RMS and largest value of each error over designs, by `ERRORS`."""
    found: dict[str, dict[str, float | None]] = {}
    for name in ERRORS:
        sizes = np.array([each[name] for each in errors if np.isfinite(each.get(name, np.nan))])
        found[name] = {
            "rms": float(np.sqrt((sizes**2).mean())) if len(sizes) else None,
            "largest": float(sizes.max()) if len(sizes) else None,
            "accepted": ERRORS[name].accepted,
        }
    return found


def exceeded(knee: ContactSurrogate) -> list[str]:
    """Return which errors at held-out designs exceed the accepted ones, in words."""
    found = []
    for name, row in knee.header.get("errors", {}).items():
        if name in ERRORS and row["rms"] is not None and row["rms"] > row["accepted"]:
            kind = ERRORS[name]
            found.append(
                f"error of {kind.words}: {row['rms']:.2g} {kind.unit} (RMS, accepted "
                f"{row['accepted']:g})"
            )
    return found


def output_errors(knee: ContactSurrogate, outputs: Iterable[str]) -> dict[str, float]:
    """Return the RMS error at held-out designs of those outputs that have one [%], by name."""
    errors = knee.header.get("errors", {})
    found = {name: errors.get(error_of(name), {}).get("rms") for name in outputs}
    return {name: error for name, error in found.items() if error is not None}
