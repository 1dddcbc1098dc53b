"""Fields of samples: indentation and pressure of the tibial triangles in contact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from foundation.checks import FloatArray, IntArray, check_array, check_fields
from foundation.errors import InputError
from foundation.pose import Pose


@dataclass(frozen=True, eq=False)
class FieldSamples:
    """Contact of one compartment at sampled poses; only triangles in contact are kept.

    Parameters
    ----------
    poses : (N, 6) float64
        Poses [rad, m].
    loads : (N, 12) float64
        Loads of the compartment, in the order of `foundation.loads.LOAD_COLUMNS` [SI].
    starts : (N + 1,) int64
        Place of the first triangle of each pose in the arrays below, and their length.
    triangle : (K,) int64
        Triangles in contact.
    indentation, pressure : (K,) float64
        Overlap [m] and pressure [Pa] in the middle of these triangles.

    Raises
    ------
    InputError
        If an array is malformed.
    """

    poses: FloatArray
    loads: FloatArray
    starts: IntArray
    triangle: IntArray
    indentation: FloatArray
    pressure: FloatArray

    def __post_init__(self) -> None:
        count, touched = len(self.poses), len(self.triangle)
        check_fields(
            self, poses=(None, 6), loads=(count, 12), indentation=(touched,), pressure=(touched,)
        )
        steps = np.diff(self.starts)
        if len(steps) != count or steps.min(initial=0) < 0 or self.starts[-1] != touched:
            raise InputError(
                f"starts: expected {count + 1} rising places up to {touched}, found {self.starts}"
            )

    @classmethod
    def of(
        cls,
        state: Callable[[Pose], Any],
        poses: ArrayLike,
        loads: ArrayLike,
        compartments: ArrayLike,
        side: int,
    ) -> Self:
        """Return the fields of a contact model at poses.

        Parameters
        ----------
        state : callable
            `spring_state` of the model: a pose -> `indentation` (F,) [m] and `pressure` (F,) [Pa].
        poses : (N, 6) array_like
            Poses [rad, m].
        loads : (N, 12) array_like
            Loads of the compartment at the poses [SI].
        compartments : (F,) array_like
            Compartment of each triangle, 0 medial and 1 lateral.
        side : int
            The compartment.

        Raises
        ------
        InputError
            If an array is malformed.
        """
        places = check_array("poses", poses, (None, 6))
        own = np.asarray(compartments) == side
        parts: list[tuple[IntArray, FloatArray, FloatArray]] = []
        for place in places:
            found = state(Pose.from_array(place))
            at = np.flatnonzero(own & (found.pressure > 0.0))
            parts.append((at, found.indentation[at], found.pressure[at]))
        starts = np.cumsum([0, *(len(at) for at, _, _ in parts)])
        none = np.empty(0)
        joined = [np.concatenate([none, *(part[k] for part in parts)]) for k in range(3)]
        return cls(
            places, check_array("loads", loads, (len(places), 12)), starts,
            joined[0].astype(np.int64), *joined[1:],
        )  # fmt: skip

    def rows(self) -> IntArray:
        """Return the sample (K,) of each triangle in contact."""
        return np.repeat(np.arange(len(self.poses)), np.diff(self.starts))

    def largest(self) -> FloatArray:
        """Return the largest indentation of each sample (N,) [m], 0 without contact."""
        found = np.zeros(len(self.poses))
        np.maximum.at(found, self.rows(), self.indentation)
        return found
