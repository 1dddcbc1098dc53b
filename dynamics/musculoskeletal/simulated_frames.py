"""Results of COMAK and forward simulations at each frame of a motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from foundation.base.checks import FloatArray
from foundation.base.flags import Flag
from foundation.base.loads import ContactLoads


class ContactFlag(NamedTuple):
    """A flag of a contact at a frame and instant [s], as for a pose outside a domain."""

    frame: int
    time: float
    contact: str
    flag: Flag


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulatedFrames:
    """Secondary coordinates (N, S) [rad, m], muscles and contacts at N frames."""

    #: Instants (N,) [s].
    time: FloatArray
    #: Names of the S secondary coordinates, the M muscles and the contacts.
    secondary: tuple[str, ...]
    muscles: tuple[str, ...]
    contacts: tuple[str, ...]
    #: Secondary coordinates and their speeds (N, S) [rad, m; per s].
    values: FloatArray
    speeds: FloatArray
    #: Activations (N, M) [1]; zero for muscles with given forces.
    activations: FloatArray
    #: Muscle forces (N, M) [N].
    muscle_forces: FloatArray
    #: Loads of each contact at each frame.
    loads: tuple[tuple[ContactLoads, ...], ...]

    @property
    def contact_flags(self) -> tuple[ContactFlag, ...]:
        """Flags of the contacts in the final poses of all frames."""
        return tuple(
            ContactFlag(frame, time, name, flag)
            for frame, (time, loads) in enumerate(zip(self.time.tolist(), self.loads, strict=True))
            for name, own in zip(self.contacts, loads, strict=True)
            for flag in own.flags
        )
