"""Poses outside the trained domain of a surrogate: their treatments and flags."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.flags import Flag, FlagKind, worded
from foundation.core.library import FARTHEST, TOLERANCE
from surrogates.formulations.domain import Domain
from surrogates.sampling.space import VARIABLES, SampleSpace

#: Treatments of a pose outside the trained domain. The loads are those of the nearest pose of the
#: domain and carry flags: "clamp" does no more, "warning" warns, "error" raises.
OUTSIDE = ("clamp", "warning", "error")
#: Kind of the flag of a pose that is beyond the range of a variable; a root of the load below its
#: range tells a height that is too large.
_KINDS = {
    "flexion": FlagKind.OUTSIDE_FLEXION,
    "adduction": FlagKind.OUTSIDE_ADDUCTION,
    "rotation": FlagKind.OUTSIDE_ROTATION,
    "anterior": FlagKind.OUTSIDE_ANTERIOR,
    "lateral": FlagKind.OUTSIDE_LATERAL,
    "root_load": FlagKind.OUTSIDE_LOAD,
}


class OutsideDomainError(InputError):
    """A pose is outside the trained domain; the message names the coordinate and the distance."""


class OutsideDomainWarning(UserWarning):
    """A pose is outside the trained domain and was held at the border."""


def beyond(variables: ArrayLike) -> NDArray[np.bool_]:
    """Return which scaled variables (N, ...) [1], or extrapolations, are outside the domain."""
    # written so that NaN counts as outside
    return ~(np.abs(variables) <= 1.0 + TOLERANCE)


def compartment_flags(
    name: str, space: SampleSpace, domain: Domain, x: FloatArray, loads: FloatArray
) -> list[list[Flag]]:
    """Return the flags of poses, from variables and extrapolations x (N, 7), loads (N, 12) [SI]."""
    half = space.centre_and_half[1]
    flags: list[list[Flag]] = [[] for _ in x]
    values: tuple[float, ...]
    for row, k in np.argwhere(beyond(x[:, :6])).tolist():
        kind, variable = _KINDS[VARIABLES[k]], float(x[row, k])
        if kind is FlagKind.OUTSIDE_LOAD and variable < -1.0:
            kind, values = FlagKind.OUTSIDE_SUPERIOR, (-1e3 * FARTHEST * (1.0 + variable),)
        elif kind is FlagKind.OUTSIDE_LOAD:
            load = float(loads[row, 1])
            values = load, load - float(space.load[1])
        else:
            factor = 180.0 / np.pi if k < 3 else 1e3
            values = (float((abs(variable) - 1.0) * half[k] * factor),)
        flags[row].append(Flag(kind, name, values))
    rows = np.flatnonzero(beyond(x[:, 6]))
    if len(rows):
        for row, flag in zip(rows.tolist(), domain.flags(name, x[rows], loads[rows]), strict=True):
            flags[row].append(flag)
    return flags


def treat(flags: Sequence[Flag], outside: str, calls: int = 1) -> None:
    """Warn of flags, or raise `OutsideDomainError`, `calls` calls away from the user's line."""
    if not flags:
        return
    if outside == "error":
        raise OutsideDomainError(f"pose: {worded(flags)}")
    if outside == "warning":
        warnings.warn(worded(flags), OutsideDomainWarning, stacklevel=2 + calls)
