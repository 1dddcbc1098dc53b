"""Contact models as simulations use them.

The original model and its surrogate both implement `ContactModel` and are interchangeable in every
simulation.
"""

from __future__ import annotations

from typing import Protocol, cast, runtime_checkable

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.flags import Flag
from foundation.base.loads import COMPARTMENTS, ContactLoads
from foundation.base.pose import COORDINATE_UNITS, COORDINATES, Pose
from surrogates.core.packing import PackedContact

_SHOWN = {"rad": (180.0 / np.pi, "deg"), "m": (1e3, "mm")}


@runtime_checkable
class ContactModel(Protocol):
    """Contact between femur and tibia as a function of the pose alone.

    The loads act on the femur, in the tibial frame, moments about the tibial origin (see
    `foundation.base.loads`). Results do not depend on evaluation history, and the loads are
    continuous in the pose: an implicit integrator relies on both.
    """

    def loads(self, pose: Pose) -> ContactLoads:
        """Return the loads at a pose; flags report where the loads are unreliable."""
        ...

    def loads_and_jacobian(self, pose: Pose) -> tuple[ContactLoads, FloatArray]:
        """Return the loads and d(total wrench)/d(pose coordinates).

        Returns
        -------
        ContactLoads
            The loads; flags report where they are unreliable.
        (6, 6) float64
            Row: component of the total wrench [N, N m]; column: pose coordinate [rad, m].
        """
        ...


class CompiledContact(Protocol):
    """Contact model that the library evaluates without Python."""

    @property
    def compartments(self) -> tuple[str, ...]:
        """Names of the compartments."""
        ...

    @property
    def outside(self) -> str:
        """Treatment of poses outside the trained domain; "error" stops the loop there."""
        ...

    @property
    def packed(self) -> PackedContact:
        """The compartments for the library."""
        ...

    def fill(self, poses: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return loads (N, C, 12), jacobians (N, C, 6, 6) [SI] and variables (N, C, 7) [1]."""
        ...

    def flags_of(self, variables: FloatArray, loads: FloatArray) -> list[tuple[Flag, ...]]:
        """Return the flags of poses of variables (N, C, 7) [1] and loads (N, C, 12) [SI]."""
        ...


_MEMBERS = ("compartments", "outside", "packed", "fill", "flags_of")


def compiled_contact(model: ContactModel) -> CompiledContact | None:
    """Return a model whose medial and lateral compartments a compiled loop evaluates, or None."""
    # `isinstance` of a protocol would take a millisecond, a tenth of a gait cycle.
    if not all(hasattr(model, name) for name in _MEMBERS):
        return None
    compiled = cast(CompiledContact, model)
    return compiled if compiled.compartments == COMPARTMENTS else None


def describe_pose(pose: Pose) -> str:
    """Return a pose as text, in degrees and millimetres."""
    parts = []
    for name, unit, value in zip(COORDINATES, COORDINATE_UNITS, pose.array, strict=True):
        factor, shown = _SHOWN[unit]
        parts.append(f"{name} {factor * value:.4g} {shown}")
    return ", ".join(parts)
