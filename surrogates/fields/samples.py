"""Fields of samples: indentation and pressure of the places in contact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, IntArray, check_array, check_fields
from foundation.base.errors import InputError
from foundation.base.pose import Pose


@dataclass(frozen=True, eq=False)
class FieldSamples:
    """Overlapping places (middles of triangles, or nodes) of one compartment at sampled poses."""

    #: (N, 6) [rad, m].
    poses: FloatArray
    #: Start of each pose in the arrays below, and their length (N + 1,).
    starts: IntArray
    #: Places that overlap or bear pressure (K,).
    place: IntArray
    #: (K,) [m].
    indentation: FloatArray
    #: (K,) [Pa].
    pressure: FloatArray

    def __post_init__(self) -> None:
        count, touched = len(self.poses), len(self.place)
        check_fields(self, poses=(None, 6), indentation=(touched,), pressure=(touched,))
        steps = np.diff(self.starts)
        if len(steps) != count or steps.min(initial=0) < 0 or self.starts[-1] != touched:
            raise InputError(
                f"starts: expected {count + 1} rising places up to {touched}, found {self.starts}"
            )

    @classmethod
    def of(cls, state: Callable[[Pose], Any], poses: ArrayLike, chosen: ArrayLike) -> Self:
        """Return fields of a model's `state` at poses (N, 6) [rad, m], of `chosen` places."""
        places, own = check_array("poses", poses, (None, 6)), np.asarray(chosen, dtype=np.int64)
        parts: list[tuple[IntArray, FloatArray, FloatArray]] = []
        for place in places:
            found = state(Pose.from_array(place))
            depth, pressure = found.indentation[own], found.pressure[own]
            at = np.flatnonzero((depth > 0.0) | (pressure > 0.0))
            parts.append((at, depth[at], pressure[at]))
        starts = np.cumsum([0, *(len(at) for at, _, _ in parts)])
        none = np.empty(0)
        joined = [np.concatenate([none, *(part[k] for part in parts)]) for k in range(3)]
        return cls(places, starts, joined[0].astype(np.int64), *joined[1:])

    def rows(self) -> IntArray:
        """Return the sample (K,) of each place that overlaps."""
        return np.repeat(np.arange(len(self.poses)), np.diff(self.starts))

    def largest(self) -> FloatArray:
        """Return the largest indentation of each sample (N,) [m], 0 without contact."""
        found = np.zeros(len(self.poses))
        np.maximum.at(found, self.rows(), self.indentation)
        return found
