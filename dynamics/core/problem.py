"""A simulation of the knee, and ligaments, as structs of the library."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.core.library import CONSTANTS, CORE, Struct, address
from surrogates.core.packing import packed_path

#: Roles of a coordinate.
PRESCRIBED, INERTIAL = (int(CONSTANTS[name]) for name in ("PRESCRIBED", "INERTIAL"))
#: Number of inputs over time, six prescribed coordinates, then the applied loads, and the loads.
INPUTS, AXIAL, AP, TORQUE, ADDUCTION = (
    int(CONSTANTS[name]) for name in ("INPUTS", "AXIAL", "AP", "TORQUE", "ADDUCTION")
)
#: Codes of the laws in `LigamentArguments.kind`.
LINEAR, QUADRATIC, TOE = (int(CONSTANTS[name]) for name in ("LINEAR", "QUADRATIC", "TOE"))


class LigamentArguments(NamedTuple):
    """Bundles as arrays with one row per bundle."""

    #: (B, 3) [m], as `tibial`.
    femoral: FloatArray
    tibial: FloatArray
    #: (B,) [m].
    rest_length: FloatArray
    #: (B,) [N/m, N/m² or N by kind].
    stiffness: FloatArray
    #: Strain at which the toe of the law ends (B,).
    transition: FloatArray
    kind: NDArray[np.int64]

    def packed(self) -> Struct:
        """Return the struct `ligaments`."""
        fields = self._asdict()
        fields |= {"bundles": len(self.rest_length), "kinds": fields.pop("kind")}
        return Struct("ligaments", fields)


@dataclass(frozen=True, eq=False)
class Problem:
    """Simulation without contact, (6,) by coordinates [rad, m, kg, s, N] (struct `simulation`)."""

    breaks: FloatArray  # (B,)
    pieces: FloatArray  # (4, B - 1, 10)
    roles: NDArray[np.int64]  # (6,), as the next four
    inertia: FloatArray
    damping: FloatArray
    stiffness: FloatArray
    gap: FloatArray
    neutral_breaks: FloatArray  # (K,)
    neutral_pieces: FloatArray  # (4, K - 1, 5), as of `surrogates.sampling.space.ReferencePath`
    line: FloatArray  # (2,)
    reference: FloatArray  # (6,)
    offset: FloatArray  # (6,)
    factor: float
    ligaments: LigamentArguments

    @cached_property
    def packed(self) -> Struct:
        """The struct `simulation`."""
        fields = dict(vars(self))
        neutral = packed_path(fields.pop("neutral_breaks"), fields.pop("neutral_pieces"))
        fields |= {"neutral": neutral, "knots": len(self.breaks)}
        return Struct("simulation", fields | {"bundles": fields.pop("ligaments").packed()})

    def inputs(self, times: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return values and rates (N, 10) of the inputs at times (N,) [s]."""
        values, rates = np.empty((2, len(times), INPUTS))
        CORE.inputs_over_time(
            self.packed.address, len(times), address(times), address(values), address(rates)
        )
        return values, rates

    def pose(self, time: float, state: FloatArray) -> FloatArray:
        """Return the pose coordinates (6,) [rad, m] of a state (n,)."""
        pose = np.empty(6)
        CORE.pose_at(self.packed.address, time, address(state), address(pose))
        return pose

    def forces(
        self, pose: FloatArray, loads: FloatArray, wrench: FloatArray, by_pose: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return Q (6,) [N m, N] and dQ/dq (6, 6) of contact, applied loads (4,), restraints."""
        # `wrench` (6,) and `by_pose` (6, 6) are of both compartments at the pose (6,) plus the
        # offset.
        force, jacobian = np.empty(6), np.empty((6, 6))
        CORE.forces_at(
            self.packed.address, address(pose), address(loads), address(wrench), address(by_pose),
            1, address(force), address(jacobian),
        )  # fmt: skip
        return force, jacobian

    def forces_by_time(
        self, pose: FloatArray, rates: FloatArray, jacobian: FloatArray
    ) -> FloatArray:
        """Return the time derivative of Q (6,) at constant state, of rates (10,) of inputs [SI]."""
        change = np.empty(6)
        CORE.forces_by_time(
            self.packed.address, address(pose), address(rates), address(jacobian), address(change)
        )
        return change

    def equations(
        self, time: float, state: FloatArray, wrench: FloatArray, by_pose: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return f (n,) of y' = f(t, y), its slopes (n, n) and by time (n,) [rad, m, s, N]."""
        n = len(state)
        f, by_state, by_time = np.empty(n), np.empty((n, n)), np.empty(n)
        CORE.assemble(
            self.packed.address, time, address(state), address(wrench), address(by_pose), 1,
            address(f), address(by_state), address(by_time),
        )  # fmt: skip
        return f, by_state, by_time
