"""Errors of the surrogate at designs: measured where it was not fitted, expected elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from pipeline.config.schema import Config
from pipeline.design_space.drawn_designs import parameters_of
from pipeline.stages import infeasibility
from pipeline.store.samples import loads_of, poses_of, usable
from surrogates.parametric.parameters import Design
from surrogates.parametric.smooth_array import SmoothArray
from surrogates.parametric.surrogate import ParametricSurrogate

#: Errors that the surrogate of a design is accepted with: RMS of the height at a load [µm], of the
#: AP and ML force over the axial load [%], and errors over a gait cycle (`design_gait`).
ACCEPTED = {
    "height_um": 4.0,
    "ap_ratio_percent": 0.1,
    "ml_ratio_percent": 0.4,
    "gait_force_percent": 0.3,
    "ap_travel_percent": 1.0,
    "wear_percent": 1.0,
    "peak_percent": 3.0,
}
#: Least error for a logarithm, over the accepted one.
_LEAST = 1e-3
#: Standard deviations between the mean and the expected error that few designs exceed.
_FEW = 2.0
#: Fewest designs for a linear function of P parameters: for each of its terms.
_DESIGNS_PER_TERM = 2
#: Key of the header of a surrogate with its expected errors.
_KEY = "expected_errors"


def sample_errors(
    config: Config, knee: ParametricSurrogate, values: Mapping[str, float], rows: pd.DataFrame
) -> dict[str, float]:
    """Return the errors at the feasible samples of one design, by the first keys of `ACCEPTED`.

    All compartments together; NaN without feasible samples.
    """
    own = knee.at(values)
    found = []
    for name in own.compartments:
        chosen = usable(rows, name)
        poses, loads = poses_of(chosen), loads_of(chosen)
        inside = infeasibility(loads, config.feasibility, 0.0) == ""
        poses, loads = poses[inside], loads[inside]
        at, predicted = own.compartment(name).at_load(poses, loads[:, 1])
        ratios = (predicted - loads)[:, [0, 2]] / loads[:, 1:2]
        found.append(np.column_stack([1e6 * (at - poses)[:, 4], 100.0 * ratios]))
    misses = np.concatenate(found)
    if not len(misses):
        return dict.fromkeys(list(ACCEPTED)[:3], np.nan)
    sizes = np.sqrt((misses**2).mean(axis=0))
    return dict(zip(list(ACCEPTED)[:3], sizes.tolist(), strict=True))


def fitted_errors(z: FloatArray, errors: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Return the entry of a header with the errors expected at a design.

    The logarithm of an error is a linear function of the parameters, or a constant of few designs,
    plus two standard deviations of what it leaves.

    Parameters
    ----------
    z : (N, P) float64
        Scaled parameters of designs that the surrogate was not fitted to [1].
    errors : sequence of mapping
        Errors of each design by `ACCEPTED`.
    """
    found: dict[str, Any] = {}
    for name, accepted in ACCEPTED.items():
        sizes = np.array([each.get(name, np.nan) for each in errors])
        known = np.isfinite(sizes)
        if known.sum() < 2:
            continue
        logs = np.log(np.maximum(sizes[known], _LEAST * accepted))
        points = z[known]
        enough = len(points) >= _DESIGNS_PER_TERM * (z.shape[1] + 1)
        fit = SmoothArray.fit(points, logs[:, None], highest=1 if enough else 0)
        left = logs - np.array([fit.at(row)[0] for row in points])
        freedom = max(len(points) - len(fit.exponents), 1)
        above = _FEW * float(np.sqrt((left**2).sum() / freedom))
        arrays = {key: array.tolist() for key, array in fit.to_arrays().items()}
        found[name] = {**arrays, "above": above}
    return {_KEY: found}


def expected_errors(knee: ParametricSurrogate, design: Design) -> dict[str, float]:
    """Return the error that few designs like this one exceed, by `ACCEPTED`."""
    z = knee.parameters.scaled(design)
    found = {}
    for name, stored in knee.header.get(_KEY, {}).items():
        fit = SmoothArray(
            np.array(stored["exponents"], dtype=np.int64), np.array(stored["coefficients"])
        )
        found[name] = float(np.exp(fit.at(z)[0] + stored["above"]))
    return found


def doubts(expected: Mapping[str, float]) -> list[str]:
    """Return which expected errors exceed the accepted ones, in words."""
    return [
        f"expected {_WORDS[name]} of {expected[name]:.2g}{_UNITS[name]} (accepted {limit:g}"
        f"{_UNITS[name]})"
        for name, limit in ACCEPTED.items()
        if expected.get(name, 0.0) > limit
    ]


def told_errors(errors: Mapping[str, float], which: str = "expected ") -> list[str]:
    """Return errors by `ACCEPTED` in words, with what is accepted."""
    return [
        f"{which}{_WORDS[name]}: {errors[name]:.2g}{_UNITS[name]}, accepted "
        f"{accepted:g}{_UNITS[name]}{', exceeded' if errors[name] > accepted else ''}"
        for name, accepted in ACCEPTED.items()
        if name in errors
    ]


def largest_share(expected: Mapping[str, float]) -> float:
    """Return the largest of expected errors over the accepted ones [1]; 0 without any."""
    return max((size / ACCEPTED[name] for name, size in expected.items()), default=0.0)


def worst(errors: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float | None]]:
    """Return RMS and largest value of each error over designs, by `ACCEPTED`."""
    found: dict[str, dict[str, float | None]] = {}
    for name in ACCEPTED:
        sizes = np.array([each[name] for each in errors if np.isfinite(each.get(name, np.nan))])
        found[name] = {
            "rms": float(np.sqrt((sizes**2).mean())) if len(sizes) else None,
            "largest": float(sizes.max()) if len(sizes) else None,
            "accepted": ACCEPTED[name],
        }
    return found


def exceeded(knee: ParametricSurrogate) -> list[str]:
    """Return which errors at held-out designs exceed the accepted ones, in words."""
    found = []
    for name, row in knee.header.get("errors", {}).items():
        if name in ACCEPTED and row["rms"] is not None and row["rms"] > row["accepted"]:
            unit, limit = _UNITS[name], row["accepted"]
            found.append(
                f"{_WORDS[name]} of {row['rms']:.2g}{unit} (RMS, accepted {limit:g}{unit})"
            )
    return found


def scaled_designs(config: Config, designs: pd.DataFrame) -> FloatArray:
    """Return the scaled parameters (N, P) [1] of a table of designs."""
    parameters = parameters_of(config)
    return parameters.scaled_rows(designs[list(parameters.names)].to_numpy(float))


_WORDS = {
    "height_um": "error of the height",
    "ap_ratio_percent": "error of the AP force over the axial load",
    "ml_ratio_percent": "error of the ML force over the axial load",
    "gait_force_percent": "error of the forces of gait",
    "ap_travel_percent": "error of the AP travel",
    "wear_percent": "error of the wear",
    "peak_percent": "error of the peak pressure",
}
_UNITS = {name: " um" if name.endswith("_um") else " %" for name in ACCEPTED}
