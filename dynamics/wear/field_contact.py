"""Pressure fields of a trained surrogate on a tibial mesh, for `dynamics.wear.cycle_wear`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dynamics.wear.cycle_wear import Surface
from foundation.base.errors import InputError
from foundation.base.pose import Pose


class FieldModel(Protocol):
    """Surrogate with pressure fields (`surrogates.ContactSurrogate`)."""

    def pressure_field(self, pose: Pose) -> Any:
        """Return the `pressure` (F,) [Pa] of the tibial triangles at a pose, and its `flags`."""
        ...


@dataclass(frozen=True, eq=False)
class FieldContact:
    """A surrogate with pressure fields as a `SpringContact`."""

    model: FieldModel
    tibia: Surface
    #: 0 for medial and 1 for lateral triangles (F,) of the samples' mesh.
    compartments: NDArray[np.int8]

    def __post_init__(self) -> None:
        count = len(self.tibia.areas)
        if np.shape(self.compartments) != (count,):
            raise InputError(
                f"compartments: expected shape ({count},), found {np.shape(self.compartments)}"
            )

    def spring_state(self, pose: Pose) -> Any:
        """Return the field at a pose, with the `pressure` (F,) [Pa] of the triangles."""
        found = self.model.pressure_field(pose)
        if len(found.pressure) != len(self.tibia.areas):
            raise InputError(
                f"tibia: expected the mesh of the fields with {len(found.pressure)} triangles, "
                f"found {len(self.tibia.areas)}"
            )
        return found
