"""Solutions of COMAK: of a frame, and of all frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, IntArray
from foundation.base.loads import ContactLoads

_UNKNOWN = np.zeros(0)


class Solution(NamedTuple):
    """State of a frame.

    Parameters
    ----------
    values, speeds : (S,) float64
        Secondary coordinates and their rates [rad, m; per s].
    activations : (M,) float64
        Activations [1].
    reserves : (F,) float64
        Forces of the reserves [N m, N].
    error : float
        Largest error of acceleration [rad/s², m/s²].
    iterations : int
        Iterations that were needed.
    loads : tuple of ContactLoads
        Loads of each contact.
    tensions : (M,) float64
        Muscle forces [N].
    surplus : (F,) float64
        Accelerations of the free coordinates beyond the wanted ones [rad/s², m/s²].
    """

    values: FloatArray
    speeds: FloatArray
    activations: FloatArray
    reserves: FloatArray
    error: float
    iterations: int
    loads: tuple[ContactLoads, ...]
    tensions: FloatArray = _UNKNOWN
    surplus: FloatArray = _UNKNOWN


@dataclass(frozen=True, eq=False)
class ComakResult:
    """Result of a COMAK simulation of N frames.

    Parameters
    ----------
    time : (N,) float64
        Instants [s].
    free, secondary, muscles, contacts : tuple of str
        Names of free and secondary coordinates, muscles and contacts.
    values, speeds : (N, S) float64
        Secondary coordinates and their rates [rad, m; per s].
    activations : (N, M) float64
        Activations [1].
    muscle_forces : (N, M) float64
        Muscle forces [N].
    reserves : (N, F) float64
        Forces of the reserves on the free coordinates [N m, N].
    surplus : (N, F) float64
        Accelerations of the free coordinates beyond the wanted ones [rad/s², m/s²]; NaN where the
        solution of the previous frame is kept.
    errors : (N,) float64
        Largest error of acceleration of each frame [rad/s², m/s²].
    iterations : (N,) int64
        Iterations of each frame.
    costs : (N,) float64
        Cost of muscles and reserves.
    loads : tuple of tuple of ContactLoads
        Loads of each contact at each frame.
    outside : (N, S) bool
        Whether a secondary coordinate is outside the range of a recorded plant.
    flags : tuple of str
        A flag for each frame that did not converge, and for each coordinate that is outside.
    """

    time: FloatArray
    free: tuple[str, ...]
    secondary: tuple[str, ...]
    muscles: tuple[str, ...]
    contacts: tuple[str, ...]
    values: FloatArray
    speeds: FloatArray
    activations: FloatArray
    muscle_forces: FloatArray
    reserves: FloatArray
    surplus: FloatArray
    errors: FloatArray
    iterations: IntArray
    costs: FloatArray
    loads: tuple[tuple[ContactLoads, ...], ...]
    outside: NDArray[np.bool_]
    flags: tuple[str, ...]

    def solution(self, frame: int) -> Solution:
        """Return the solution of a frame, after which `Comak.solve` can solve another."""
        return Solution(
            self.values[frame],
            self.speeds[frame],
            self.activations[frame],
            self.reserves[frame],
            float(self.errors[frame]),
            int(self.iterations[frame]),
            self.loads[frame],
            self.muscle_forces[frame],
            self.surplus[frame],
        )

    @property
    def contact_flags(self) -> tuple[str, ...]:
        """Flags of the contacts in the final poses, such as one outside a surrogate's domain.

        Each begins with the instant and the name of the contact.
        """
        frames = zip(self.time.tolist(), self.loads, strict=True)
        return tuple(
            f"{time:g} s: {name}: {flag}"
            for time, loads in frames
            for name, own in zip(self.contacts, loads, strict=True)
            for flag in own.flags
        )


def halfway(at: Solution, wanted: Solution) -> Solution:
    """Return the mean of two solutions: iterations that go to and fro between kinks end there."""
    return wanted._replace(
        values=0.5 * (at.values + wanted.values),
        activations=0.5 * (at.activations + wanted.activations),
        reserves=0.5 * (at.reserves + wanted.reserves),
    )
