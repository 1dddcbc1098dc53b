"""The contacts of a plant: generalised forces of all joint surfaces on its free coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dynamics.musculoskeletal.joint_contact import JointContact
from dynamics.musculoskeletal.plant import Plant
from foundation.base.checks import FloatArray
from foundation.base.loads import ContactLoads


class ContactForces(NamedTuple):
    """All contacts at an instant, as forces (F,) [N m, N] on the F free coordinates."""

    #: Generalised forces (F,) [N m, N].
    forces: FloatArray
    #: Derivative with respect to the secondary coordinates (F, S) [N m, N per rad, m].
    columns: FloatArray
    #: Derivative of the stored energy by the secondary coordinates (S,) [J/rad, J/m]; zero where it
    #: was not asked for.
    energy_gradient: FloatArray
    #: Loads of each contact.
    loads: tuple[ContactLoads, ...]


class PlantContacts:
    """Contacts in the joints of a plant."""

    def __init__(self, plant: Plant, contacts: Sequence[JointContact]) -> None:
        self.plant, self.contacts = plant, tuple(contacts)
        self.names = tuple(contact.name for contact in self.contacts)
        self._places = [plant.motion.index(c.coordinates) for c in self.contacts]
        self._free = plant.motion.index(plant.free)
        self._secondary = plant.motion.index(plant.secondary)

    def at(self, frame: int, values: FloatArray, *, energy: bool = False) -> ContactForces:
        """Return the contacts at a frame and secondary coordinates (S,) [rad, m]."""
        count = len(self.plant.motion.names)
        q = self.plant.motion.values[frame].copy()
        q[self._secondary] = values
        forces, gradient = np.zeros(count), np.zeros(count)
        columns, loads = np.zeros((count, count)), []
        for contact, places in zip(self.contacts, self._places, strict=True):
            found = contact.evaluate(q[places], energy=energy)
            forces[places] += found.forces
            columns[np.ix_(places, places)] += found.jacobian
            gradient[places] += found.energy_gradient if energy else 0.0
            loads.append(found.loads)
        return ContactForces(
            forces[self._free],
            columns[np.ix_(self._free, self._secondary)],
            gradient[self._secondary],
            tuple(loads),
        )
