"""Motions that a model cannot answer at any instant: which unit was likely mistaken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dynamics.protocol import ContactModel
from foundation.checks import FloatArray
from foundation.errors import InputError
from foundation.pose import COORDINATES, Pose
from pipeline.exchange.knee_motion import (
    ANGLE_UNITS,
    LENGTH_UNITS,
    KneeColumns,
    pose_columns,
    read_knee_poses,
)
from pipeline.store.samples import poses_of

#: Instants that a guess is tried at, at most.
_TRIED = 50
#: Share of them that have to be answered for a guess to be told.
_ENOUGH = 0.5
_DEGREE = np.pi / 180.0
#: Factors on the coordinates of a pose, and what was read as what.
_FACTORS = (
    (1.0, 1e-3, "mm, read as m"),
    (1.0, 1e3, "m, read as mm"),
    (_DEGREE, 1.0, "degrees, read as radians"),
    (1.0 / _DEGREE, 1.0, "radians, read as degrees"),
)


def check_some_trusted(
    model: ContactModel,
    table: pd.DataFrame,
    flags: Sequence[Mapping[str, Any]],
    motion: Path,
    columns: KneeColumns,
) -> None:
    """Check that the loads along a motion can be trusted at one instant at least.

    Parameters
    ----------
    model : ContactModel
        The surrogate or the original model.
    table : DataFrame
        Loads, as of `pipeline.exchange.loads_along.loads_along`.
    flags : sequence of mapping
        What the model had to say, likewise.
    motion : Path
        File of the motion.
    columns : KneeColumns
        How the file was read.

    Raises
    ------
    InputError
        If every instant is flagged; the message names the unit that was likely mistaken.
    """
    if not table["flagged"].all():
        return
    hint = _hint(model, poses_of(table), motion, columns) or _ranges(poses_of(table))
    raise InputError(
        f"{motion}: expected a motion in the trained domain, found all {len(table)} instants "
        f"outside ({flags[0]['message']}); {hint}. No loads are written"
    )


def _hint(model: ContactModel, poses: FloatArray, motion: Path, columns: KneeColumns) -> str:
    """Return the reading of a motion that most instants are answered with, empty without one."""
    chosen = np.unique(np.linspace(0, len(poses) - 1, _TRIED).astype(int))
    best, share = "", _ENOUGH
    for text, others in (*_by_options(motion, columns), *_by_factors(poses, motion, columns)):
        answers = [model.loads(Pose.from_array(row)) for row in others[chosen]]
        inside = float(np.mean([not answer.flags for answer in answers]))
        if inside > share:
            best, share = text, inside
    return best


def _by_options(motion: Path, columns: KneeColumns) -> Iterator[tuple[str, FloatArray]]:
    """Yield what to do and the poses that result, for other units given as options."""
    used = pose_columns(motion, columns)
    lengths = [column for name, column in used.items() if name not in COORDINATES[:3]]
    angles = [used[name] for name in COORDINATES[:3]]
    changes: list[tuple[list[str], str, dict[str, Any]]] = [
        (lengths, f"--length-unit {unit}", {"length_unit": unit}) for unit in LENGTH_UNITS
    ]
    changes += [(angles, f"--angle-unit {unit}", {"angle_unit": unit}) for unit in ANGLE_UNITS]
    for names, option, change in changes:
        try:
            _, poses = read_knee_poses(motion, replace(columns, **change))
        except InputError:
            continue  # cannot be of this unit
        yield f"check the unit of {', '.join(names)}: try `{option}`", poses


def _by_factors(
    poses: FloatArray, motion: Path, columns: KneeColumns
) -> Iterator[tuple[str, FloatArray]]:
    """Yield what to do and the poses that result, where names of columns tell a wrong unit."""
    used = pose_columns(motion, columns)
    for angle, length, mistake in _FACTORS:
        names = [
            column for name, column in used.items() if (name in COORDINATES[:3]) == (length == 1.0)
        ]
        factors = np.repeat([angle, length], 3)
        yield f"the columns {', '.join(names)} seem to be in {mistake}", poses * factors


def _ranges(poses: FloatArray) -> str:
    """Return what was read, for a reader to compare."""
    scales, units = np.repeat([1.0 / _DEGREE, 1e3], 3), ["deg"] * 3 + ["mm"] * 3
    low, high = scales * poses.min(axis=0), scales * poses.max(axis=0)
    told = [
        f"{name} {low[k]:.4g} to {high[k]:.4g} {units[k]}" for k, name in enumerate(COORDINATES)
    ]
    return (
        "check units, signs and frames (--length-unit, --angle-unit, --columns): found "
        + ", ".join(told)
    )
