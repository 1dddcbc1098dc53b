"""Motion of the planar knee: the result of a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynamics.mechanics.planar_knee.contact_point import Angles
from dynamics.mechanics.planar_knee.knee import ContactState, PlanarKnee
from dynamics.mechanics.planar_knee.ligaments import LigamentExcess, limits_passed
from foundation.base.checks import FloatArray


@dataclass(frozen=True)
class ContactStart:
    """Start of a contact.

    Parameters
    ----------
    time : float
        Instant [s].
    rate : float
        Rate of indentation dδ/dt, the impact rate [m/s].
    """

    time: float
    rate: float


@dataclass(frozen=True, eq=False)
class PlanarMotion:
    """Motion of the tibia, loads on the tibia and energies at n instants.

    Parameters
    ----------
    time : (n,) float64
        Instants [s].
    state : (n, 6) float64
        (x, y, φ, v_x, v_y, ω) of the centre of mass [m, rad, s].
    indentation, contact_force : (n,) float64
        δ [m], negative where the bodies are apart; force [N].
    indentation_rate, sliding_velocity : (n,) float64
        Normal velocity of deformation dδ/dt, > 0 in approach, and tangential velocity of the tibia
        on the femur, > 0 counterclockwise about the femur [m/s] (Machado et al. 2010, eq. 12, 13).
    femoral_contact, tibial_contact : (n, 2) float64
        Contact points in the frames of femur (global) and tibia (ξ, η) [m]; the closest points
        where the bodies are apart.
    ligament_length, ligament_force : (n, B) float64
        [m, N], in the order of the knee's ligaments.
    kinetic, gravitational, ligament_energy, contact_energy : (n,) float64
        Energies [J].
    pull_work, contact_loss : (n,) float64
        Work done by the pull and energy lost in the contact since the start [J].
    impacts : tuple of ContactStart
        Starts of contact after the first instant, in order.
    limits_passed : tuple of LigamentExcess
        Limits of strain and force that the ligaments pass.
    """

    time: FloatArray
    state: FloatArray
    indentation: FloatArray
    contact_force: FloatArray
    indentation_rate: FloatArray
    sliding_velocity: FloatArray
    femoral_contact: FloatArray
    tibial_contact: FloatArray
    ligament_length: FloatArray
    ligament_force: FloatArray
    kinetic: FloatArray
    gravitational: FloatArray
    ligament_energy: FloatArray
    contact_energy: FloatArray
    pull_work: FloatArray
    contact_loss: FloatArray
    impacts: tuple[ContactStart, ...]
    limits_passed: tuple[LigamentExcess, ...] = ()

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


def collect_motion(
    knee: PlanarKnee,
    time: FloatArray,
    states: FloatArray,
    impact_rates: Sequence[float],
    impacts: tuple[ContactStart, ...],
) -> PlanarMotion:
    """Return the motion with loads and energies.

    From instants (n,) [s]; states (n, 8) [m, rad, s, J]: x, y, φ, v_x, v_y, ω, work of the pull and
    loss; the rate dδ/dt [m/s] at the start of the contact of each instant; and the starts of
    contact.
    """
    contacts: list[ContactState] = []
    start: Angles | None = None
    for state in states:
        contacts.append(knee.contact_state(state, start))
        start = contacts[-1].point.angles
    rows = zip(time, states, contacts, impact_rates, strict=True)
    lengths = np.array([knee.ligament_lengths((s[0], s[1], s[2])) for s in states])
    pairs = [zip(knee.ligaments, row, strict=True) for row in lengths]
    depth = np.array([each.indentation for each in contacts])
    energy = np.array([knee.energies(s, d) for s, d in zip(states, depth, strict=True)])
    tensions = np.array([[each.tension(at) for each, at in row] for row in pairs])
    return PlanarMotion(
        time=time,
        state=states[:, :6],
        indentation=depth,
        contact_force=np.array([knee.loads(*row).contact_force for row in rows]),
        indentation_rate=np.array([each.rate for each in contacts]),
        sliding_velocity=np.array([each.sliding for each in contacts]),
        femoral_contact=np.array([each.point.point for each in contacts]),
        tibial_contact=np.array(
            [c.point.on_tibia((s[0], s[1], s[2])) for c, s in zip(contacts, states, strict=True)]
        ),
        ligament_length=lengths,
        ligament_force=tensions,
        kinetic=energy[:, 0],
        gravitational=energy[:, 1],
        ligament_energy=energy[:, 2],
        contact_energy=energy[:, 3],
        pull_work=states[:, 6],
        contact_loss=states[:, 7],
        impacts=impacts,
        limits_passed=limits_passed(knee.ligaments, time, lengths, tensions),
    )
