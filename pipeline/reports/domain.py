"""Where in its box a surrogate can be trusted, judged on held-out samples of the whole box."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from foundation.checks import FloatArray
from foundation.loads import COMPARTMENTS
from pipeline.config.schema import FeasibilityConfig
from pipeline.reports.accuracy_figures import domain_panel
from pipeline.reports.inputs import RunFiles
from pipeline.reports.pictures import Picture
from pipeline.reports.tables import cycles
from pipeline.stages.assessment import feasible
from pipeline.store.samples import loads_of, poses_of, usable
from surrogates.families.cross_validation import NORMAL_95
from surrogates.formulations.knee import beyond
from surrogates.formulations.whole_knee import AnyCompartment
from surrogates.sampling.space import VARIABLES, SampleSpace

#: A force is wrong that is off by more than this part of the largest load and by more than so many
#: standard errors; far off, by more than that part.
_WRONG, _ERRORS, _FAR = 0.02, 3.0, 0.1
#: Pairs of the box's variables that the poses are shown over.
_PAIRS = ((0, 3), (4, 1))
_DEGREE, _LENGTH = ("°", 180.0 / np.pi), ("mm", 1e3)


def domain_content(files: RunFiles) -> dict[str, Any] | None:
    """Return how many held-out samples are flagged, and what is wrong without a flag.

    None of a run without a surrogate's file.
    """
    if files.knee is None:
        return None
    feasibility = FeasibilityConfig.model_validate(
        {k: tuple(v) if isinstance(v, list) else v for k, v in files.config["feasibility"].items()}
    )
    parts = {}
    for name in COMPARTMENTS:
        rows = usable(files.held_out, name)
        parts[name] = _judged(files.knee.compartment(name), rows, feasibility)
    return {
        "wrong_percent_of_largest": 100.0 * _WRONG,
        "standard_errors": _ERRORS,
        "far_off_percent_of_largest": 100.0 * _FAR,
        "compartments": parts,
    }


def _judged(
    surrogate: AnyCompartment, rows: pd.DataFrame, feasibility: FeasibilityConfig
) -> dict[str, Any]:
    poses, truth = poses_of(rows), loads_of(rows)
    loads, _, variables = surrogate.evaluate_batch(poses)
    flagged = is_flagged(variables)
    error = np.abs(loads - truth)[:, :3]
    largest = float(surrogate.space.load[1])
    expected = surrogate.standard_error(poses)[:, :3]
    wrong = ((error > _WRONG * largest) & ~(error <= _ERRORS * expected)).any(axis=1)
    far = (error > _FAR * largest).any(axis=1)
    kept = rows.index.isin(feasible(rows, feasibility).index)
    known = np.isfinite(expected) & ~flagged[:, None]
    covered = error[known] <= NORMAL_95 * expected[known]
    return {
        "points": len(rows),
        "flagged": int(flagged.sum()),
        "feasible": int(kept.sum()),
        "feasible_flagged": int((flagged & kept).sum()),
        "wrong": int(wrong.sum()),
        "wrong_without_flag": int((wrong & ~flagged).sum()),
        "far_off": int(far.sum()),
        "far_off_without_flag": int((far & ~flagged).sum()),
        "covered_without_flag_percent": 100.0 * float(covered.mean()) if covered.size else None,
    }


def is_flagged(variables: FloatArray) -> np.ndarray:
    """Return which poses are outside the domain (N,), by their variables (N, 7)."""
    return np.asarray(beyond(variables).any(axis=1))


def domain_pictures(files: RunFiles) -> list[Picture]:
    """Return the held-out poses over pairs of the box's variables, trusted and flagged.

    The gait cycle goes through them.
    """
    if files.knee is None:
        return []
    cycle = next(iter(cycles(files).values()))
    shown = []
    for name in COMPARTMENTS:
        surrogate = files.knee.compartment(name)
        rows = usable(files.held_out, name)
        flagged = is_flagged(surrogate.evaluate_batch(poses_of(rows))[2])
        points = _offsets(surrogate.space, poses_of(rows))
        path = _offsets(surrogate.space, poses_of(cycle))
        for pair in _PAIRS:
            labels = [f"{VARIABLES[k]}{' from the path' * (k > 0)} [{_unit(k)[0]}]" for k in pair]
            uri = domain_panel(points[:, pair], flagged, path[:, pair], name, labels)
            text = f"Poses of the {name} compartment over {VARIABLES[pair[0]]} and "
            shown.append(Picture(uri, f"{text}{VARIABLES[pair[1]]}: trusted and flagged"))
    return shown


def _offsets(space: SampleSpace, poses: FloatArray) -> FloatArray:
    """Return flexion and offsets from the path (N, 5) in units for people."""
    scaled, _ = space.scaled(poses, np.zeros(len(poses)))
    centre, half = space.centre_and_half
    raw = centre + half * scaled
    return np.column_stack([_unit(k)[1] * raw[:, k] for k in range(5)])


def _unit(k: int) -> tuple[str, float]:
    return _DEGREE if k < 3 else _LENGTH
