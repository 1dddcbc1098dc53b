"""Region of its box in which a surrogate can be trusted, judged on held-out samples of the box."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from foundation.checks import FloatArray
from foundation.loads import COMPARTMENTS
from pipeline.config.schema import FeasibilityConfig
from pipeline.reports.inputs import RunFiles
from pipeline.stages.assessment import feasible
from pipeline.store.samples import loads_of, poses_of, usable
from surrogates.families.cross_validation import NORMAL_95
from surrogates.formulations.knee import beyond
from surrogates.formulations.whole_knee import AnyCompartment

#: A force is wrong if its error exceeds this part of the largest load and this many standard
#: errors; it is far off if its error exceeds the last part of the largest load.
_WRONG, _ERRORS, _FAR = 0.02, 3.0, 0.1


def domain_content(files: RunFiles) -> dict[str, Any] | None:
    """Return the numbers of held-out samples with a flag, and of wrong answers without a flag.

    None for a run without the file of its surrogate.
    """
    if files.knee is None:
        return None
    feasibility = FeasibilityConfig.model_validate(
        {k: tuple(v) if isinstance(v, list) else v for k, v in files.config["feasibility"].items()}
    )
    return {
        "wrong_percent_of_largest": 100.0 * _WRONG,
        "standard_errors": _ERRORS,
        "far_off_percent_of_largest": 100.0 * _FAR,
        "compartments": {
            name: _judged(files.knee.compartment(name), usable(files.held_out, name), feasibility)
            for name in COMPARTMENTS
        },
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
        "flagged": flagged.sum(),
        "feasible": kept.sum(),
        "feasible_flagged": (flagged & kept).sum(),
        "wrong": wrong.sum(),
        "wrong_without_flag": (wrong & ~flagged).sum(),
        "far_off": far.sum(),
        "far_off_without_flag": (far & ~flagged).sum(),
        "covered_without_flag_percent": 100.0 * float(covered.mean()) if covered.size else None,
    }


def is_flagged(variables: FloatArray) -> np.ndarray:
    """Return whether poses are outside the domain (N,), by their variables (N, 7) [1]."""
    return np.asarray(beyond(variables).any(axis=1))
