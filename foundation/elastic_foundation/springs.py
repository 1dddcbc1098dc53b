"""Springs of a bed, independent or coupled, at a pose of the femur: what the library computes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.errors import PoseError
from foundation.base.loads import MEAN_PRESSURE
from foundation.base.pose import Pose
from foundation.core.library import CONTACT_SUMS, CORE, SCRATCH, Record, address
from foundation.elastic_foundation.kernel_sums import DEPTH, STRAIN

#: Largest strain of a patch that no lattice resolves, such as a sliver within a triangle.
_LIGHT = 0.02


def motion(
    twist: FloatArray | None = None,
    damping: float = 0.0,
    friction: float = 0.0,
    transition_speed: float = 1.0,
) -> Record:
    """Return the struct `dissipation` of a twist (6,) [m/s, rad/s]; None at rest."""
    moving = twist is not None and (damping > 0.0 or friction > 0.0)
    return Record(
        "dissipation",
        moving=moving,
        twist=np.zeros(6) if twist is None else twist,
        damping=damping,
        friction=friction,
        transition_speed=transition_speed,
    )


AT_REST = motion()


@dataclass(frozen=True, eq=False)
class Springs:
    """Femur, bed, law and coupling, structs of `foundation/core/contact.h`."""

    femur: Record
    bed: Record
    law: Record
    coupling: Record | None
    #: Largest indentation of the search [m].
    reach: float
    #: Whether loads are the gradient of the energy instead of along the bed's normals.
    conservative: bool

    @cached_property
    def _size(self) -> int:
        coupling = 0 if self.coupling is None else self.coupling.address
        return int(CORE.contact_scratch(self.bed.address, coupling))

    def evaluate(
        self,
        pose: Pose,
        chosen: NDArray[np.bool_],
        moving: Record = AT_REST,
        *,
        jacobian: bool = False,
        energy: bool = False,
        field: FloatArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return sums (C, CONTACT_SUMS) and Jacobians by the twist (C, 6, 6) [SI], if `chosen`."""
        # `field` (2, F), zero before, receives indentation and pressure at the middle of each
        # element. Light touches that no lattice resolves are borne by independent springs.
        # `PoseError` means that the compliance of coupled springs is not positive definite.
        sums, slopes = np.zeros((len(chosen), CONTACT_SUMS)), np.zeros((len(chosen), 6, 6))
        rotation, translation = pose.rotation_matrix, pose.translation
        shared = self.femur.address, self.bed.address
        place = address(rotation), address(translation)
        scratch = SCRATCH.of(self._size)
        if self.coupling is not None:
            chosen = chosen.copy()
            for side in map(int, np.flatnonzero(chosen)):
                own = None if field is None else np.zeros_like(field)
                solved = CORE.coupled_contact(
                    *shared, self.coupling.address, *place, side, self.reach, self.conservative,
                    address(sums[side]), address(slopes[side]) if jacobian else 0,
                    0 if own is None else address(own), scratch,
                )  # fmt: skip
                chosen[side] = not _resolved(sums[side], solved)
                if own is not None and field is not None and not chosen[side]:
                    field += own
            if not chosen.any():
                return sums, slopes
        kept, by_twist = sums[~chosen], slopes[~chosen]
        CORE.spring_contact(
            *shared, self.law.address, moving.address, *place, address(chosen), self.reach,
            self.conservative, energy or self.coupling is not None, address(sums),
            address(slopes) if jacobian else 0, 0 if field is None else address(field), scratch,
        )  # fmt: skip
        if self.coupling is not None:
            sums[~chosen], slopes[~chosen] = kept, by_twist
        return sums, slopes


def _resolved(sums: FloatArray, solved: int) -> bool:
    """Return whether a lattice resolves a patch with sums (CONTACT_SUMS,) [SI]."""
    if solved and (sums[MEAN_PRESSURE] > 0.0 or sums[DEPTH] == 0.0):
        return True
    if sums[STRAIN] > _LIGHT:
        raise PoseError(
            "the compliance of the layer is not positive definite on the patch of contact: "
            "expected less overlap of the surfaces or a thicker layer, found an overlap of "
            f"{1e3 * sums[DEPTH]:.3g} mm, {sums[STRAIN]:.3g} times the thickness"
        )
    return False
