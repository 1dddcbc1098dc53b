"""The trained surrogate of a knee: both compartments, ready for a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foundation.checks import FloatArray, check_in
from foundation.loads import COMPARTMENTS, ContactLoads
from foundation.pose import Pose
from surrogates.formulations import CompartmentSurrogate

_TO_PEOPLE = {
    "flexion": (180.0 / np.pi, "deg"),
    "adduction": (180.0 / np.pi, "deg"),
    "rotation": (180.0 / np.pi, "deg"),
    "anterior": (1e3, "mm"),
    "superior": (1e3, "mm"),
    "lateral": (1e3, "mm"),
}


@dataclass(frozen=True, eq=False)
class KneeSurrogate:
    """Surrogate of a knee's contact; implements `dynamics.protocol.ContactModel`.

    Parameters
    ----------
    medial, lateral : CompartmentSurrogate
        Surrogate of each compartment.
    header : mapping
        What the file of the surrogate tells of it: names, family, errors, provenance.
    """

    medial: CompartmentSurrogate
    lateral: CompartmentSurrogate
    header: Mapping[str, Any] = field(default_factory=dict)

    def loads(self, pose: Pose) -> ContactLoads:
        """Return the loads at a pose, flagged where the pose is outside the trained domain."""
        return self.loads_and_jacobian(pose)[0]

    def loads_and_jacobian(self, pose: Pose) -> tuple[ContactLoads, FloatArray]:
        """Return the loads and d(total wrench)/d(pose coordinates), (6, 6) [N, N m per rad, m]."""
        coordinates = pose.array
        medial, medial_jacobian, medial_x = self.medial.evaluate(coordinates)
        lateral, lateral_jacobian, lateral_x = self.lateral.evaluate(coordinates)
        flags = self._outside("medial", medial_x) + self._outside("lateral", lateral_x)
        loads = ContactLoads.trusted(medial, lateral, flags)
        return loads, medial_jacobian + lateral_jacobian

    def compartment(self, name: str) -> CompartmentSurrogate:
        """Return the surrogate of one compartment, "medial" or "lateral"."""
        surrogate: CompartmentSurrogate = getattr(self, check_in("name", name, COMPARTMENTS))
        return surrogate

    def _outside(self, compartment: str, x: FloatArray) -> tuple[str, ...]:
        """Say by how much the scaled variables leave the box they were trained in."""
        if np.abs(x).max() <= 1.0 + 1e-9:
            return ()
        surrogate = self.compartment(compartment)
        centre, half = surrogate.centre_and_half
        flags = []
        for k in np.flatnonzero(np.abs(x) > 1.0 + 1e-9):
            name = surrogate.variables[k]
            if name == "root_load":
                load = (centre[k] + half[k] * x[k]) ** 2
                text = f"axial load of {load:.0f} N, {load - surrogate.space.load[1]:.0f} N"
            else:
                factor, unit = _TO_PEOPLE[name]
                beyond = (abs(x[k]) - 1.0) * half[k] * factor
                text = f"{name} by {beyond:.3g} {unit}"
            flags.append(f"{compartment}: outside the trained domain, {text} beyond")
        return tuple(flags)
