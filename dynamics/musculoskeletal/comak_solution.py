"""Solutions of COMAK: of a frame, and of all frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics.musculoskeletal.simulated_frames import SimulatedFrames
from foundation.base.checks import FloatArray, IntArray
from foundation.base.loads import ContactLoads

_UNKNOWN = np.zeros(0)


class Solution(NamedTuple):
    """State of a frame: S secondary coordinates (S,) [rad, m], M muscles, F free coordinates."""

    #: Secondary coordinates and their rates (S,) [rad, m; per s].
    values: FloatArray
    speeds: FloatArray
    #: Activations (M,) [1].
    activations: FloatArray
    #: Forces of the reserves (F,) [N m, N].
    reserves: FloatArray
    #: Largest error of acceleration [rad/s², m/s²].
    error: float
    iterations: int
    loads: tuple[ContactLoads, ...]
    #: Muscle forces (M,) [N].
    tensions: FloatArray = _UNKNOWN
    #: Accelerations of the free coordinates beyond the wanted ones (F,) [rad/s², m/s²].
    surplus: FloatArray = _UNKNOWN
    #: Forces that a jump of the contact forces leaves (F,) [N m, N]; empty without one.
    imbalance: FloatArray = _UNKNOWN


@dataclass(frozen=True, eq=False, kw_only=True)
class ComakResult(SimulatedFrames):
    """Result of a COMAK simulation of N frames; further fields are those of `SimulatedFrames`.

    Parameters
    ----------
    free : tuple of str
        Names of the F free coordinates.
    reserves : (N, F) float64
        Forces of the reserves on the free coordinates [N m, N].
    surplus : (N, F) float64
        Accelerations of the free coordinates beyond the wanted ones [rad/s², m/s²]; NaN where the
        solution of the previous frame is kept.
    errors : (N,) float64
        Largest error of acceleration of each frame [rad/s², m/s²].
    converged : (N,) bool
        Whether the error is below the tolerance, or the frame is at a jump of the contact forces.
    imbalance : (N, F) float64
        Generalised forces on the free coordinates that jumps of the contact forces leave [N m, N];
        zero where the forces balance.
    iterations : (N,) int64
        Iterations of each frame.
    costs : (N,) float64
        Cost of muscles and reserves.
    outside : (N, S) bool
        Whether a secondary coordinate is outside the range of a recorded plant.
    flags : tuple of str
        A flag for each frame that did not converge, and for each coordinate that is outside.
    """

    free: tuple[str, ...]
    reserves: FloatArray
    surplus: FloatArray
    errors: FloatArray
    converged: NDArray[np.bool_]
    imbalance: FloatArray
    iterations: IntArray
    costs: FloatArray
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


def halfway(at: Solution, wanted: Solution) -> Solution:
    """Return the mean of two solutions: iterations that go to and fro between kinks end there."""
    return wanted._replace(
        values=0.5 * (at.values + wanted.values),
        activations=0.5 * (at.activations + wanted.activations),
        reserves=0.5 * (at.reserves + wanted.reserves),
    )
