"""Motion of the planar knee: what a simulation returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dynamics.mechanics.planar_knee.contact_point import Angles
from dynamics.mechanics.planar_knee.knee import ContactState, PlanarKnee
from foundation.checks import FloatArray


@dataclass(frozen=True)
class Impact:
    """Start of a contact.

    Parameters
    ----------
    time : float
        [s].
    rate : float
        dδ/dt [m/s].
    """

    time: float
    rate: float


@dataclass(frozen=True, eq=False)
class PlanarMotion:
    """Motion of the tibia and what acts on it, at n instants.

    Parameters
    ----------
    time : (n,) float64
        [s].
    state : (n, 6) float64
        (x, y, φ, v_x, v_y, ω) of the centre of mass [m, rad, s].
    indentation, contact_force : (n,) float64
        δ [m], negative where the bodies are apart; force [N].
    ligament_length, ligament_force : (n, B) float64
        [m, N], in the order of the knee's ligaments.
    kinetic, gravitational, ligament_energy, contact_energy : (n,) float64
        Energies [J].
    pull_work, contact_loss : (n,) float64
        Work done by the pull and energy lost in the contact since the start [J].
    impacts : tuple of Impact
        Starts of contact after the first instant, in order.
    """

    time: FloatArray
    state: FloatArray
    indentation: FloatArray
    contact_force: FloatArray
    ligament_length: FloatArray
    ligament_force: FloatArray
    kinetic: FloatArray
    gravitational: FloatArray
    ligament_energy: FloatArray
    contact_energy: FloatArray
    pull_work: FloatArray
    contact_loss: FloatArray
    impacts: tuple[Impact, ...]

    @property
    def centre_of_mass(self) -> FloatArray:
        """Position of the centre of mass, (n, 2) [m]."""
        return self.state[:, :2]

    @property
    def flexion(self) -> FloatArray:
        """Angle between the shafts, 90° - φ, (n,) [rad]; zero where the knee is straight."""
        return 0.5 * np.pi - self.state[:, 2]

    @property
    def mechanical_energy(self) -> FloatArray:
        """Kinetic and all stored energy, (n,) [J]."""
        return self.kinetic + self.gravitational + self.ligament_energy + self.contact_energy

    @property
    def energy_error(self) -> FloatArray:
        """Change of mechanical energy that pull and loss do not explain, (n,) [J]."""
        change = self.mechanical_energy - self.mechanical_energy[0]
        return change - self.pull_work + self.contact_loss


class Phase(NamedTuple):
    """A contact or a flight, at the instants that fall into it."""

    #: (k,) [s].
    time: FloatArray
    #: (k, 8): x, y, φ, v_x, v_y, ω, work of the pull and loss [m, rad, s, J].
    state: FloatArray
    #: dδ/dt at the start of the contact [m/s].
    impact_rate: float


def collect_motion(
    knee: PlanarKnee, phases: Sequence[Phase], impacts: tuple[Impact, ...]
) -> PlanarMotion:
    """Return the motion of all phases in turn."""
    time = np.concatenate([phase.time for phase in phases])
    states = np.concatenate([phase.state for phase in phases])
    rates = np.concatenate([np.full(len(phase.time), phase.impact_rate) for phase in phases])
    contacts: list[ContactState] = []
    start: Angles | None = None
    for state in states:
        contacts.append(knee.contact_state(state, start))
        start = contacts[-1].point.angles
    rows = zip(time, states, contacts, rates, strict=True)
    lengths = np.array([knee.ligament_lengths((s[0], s[1], s[2])) for s in states])
    pairs = [zip(knee.ligaments, row, strict=True) for row in lengths]
    depth = np.array([each.indentation for each in contacts])
    energy = np.array([knee.energies(s, d) for s, d in zip(states, depth, strict=True)])
    return PlanarMotion(
        time=time,
        state=states[:, :6],
        indentation=depth,
        contact_force=np.array([knee.loads(*row).contact_force for row in rows]),
        ligament_length=lengths,
        ligament_force=np.array([[each.tension(at) for each, at in row] for row in pairs]),
        kinetic=energy[:, 0],
        gravitational=energy[:, 1],
        ligament_energy=energy[:, 2],
        contact_energy=energy[:, 3],
        pull_work=states[:, 6],
        contact_loss=states[:, 7],
        impacts=impacts,
    )
