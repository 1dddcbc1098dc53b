"""The answer that all models are compared with: finite elements, extrapolated in the spacing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.loads import AXIAL_FORCE, CENTRE
from foundation.finite_element.resolution import extrapolated
from pipeline.studies.contact_models.measurement import Measured

#: Groups of columns that need a truth.
AT_POSES, OVER_CYCLE = "at given poses", "over the gait cycle"
#: What is extrapolated for each group, the loads first.
_GROUPS = {
    AT_POSES: ("pose_loads", "pose_jacobians"),
    OVER_CYCLE: ("cycle_loads", "cycle_poses", "wear_volume"),
}


@dataclass(frozen=True, eq=False)
class Truth:
    """Loads (N, 2, 12) [N, ..., m], gait cycle and wear, of the extrapolated finite elements.

    Groups of columns that are not in `extrapolated` are those of the finer elements as they are,
    and their own error is not known.
    """

    #: Loads of the compartments at the given poses, (N, 2, 12) [N, N m, m², Pa, m].
    loads: FloatArray
    #: Whether a compartment is in contact, with both spacings, (N, 2).
    touching: NDArray[np.bool_]
    #: Derivative of the total wrench at the given poses, (N, 6, 6) [N, N m; rad, m].
    jacobians: FloatArray
    #: Poses of the cycle that the finite elements drive, (M, 6) [rad, m].
    cycle_poses: FloatArray
    #: Loads of the compartments over that cycle, (2, M, 12) [N, N m, m², Pa, m].
    cycle_loads: FloatArray
    #: Worn volume of the cycle, medial and lateral, (2,) [m³].
    wear: FloatArray
    #: Measurements with the finer elements.
    fine: Measured
    #: Groups ("at given poses", "over the gait cycle") with an answer of the coarser elements.
    extrapolated: frozenset[str]


def truth_of(fine: Measured, coarse: Measured | None) -> Truth:
    """Return the extrapolation (Richardson 1911) of the measurements with both spacings.

    Where either is out of contact or without an answer, nothing is extrapolated.
    """
    given = {} if coarse is None else coarse.arrays
    known = frozenset(group for group, names in _GROUPS.items() if given.keys() >= set(names))
    values: dict[str, FloatArray] = {}
    for group, names in _GROUPS.items():
        other = given if group in known else fine.arrays
        values |= {name: _towards(other[name], fine.arrays[name]) for name in names}
        apart = ~_both_touch(fine.arrays[names[0]], other[names[0]])
        values[names[0]][apart] = fine.arrays[names[0]][apart]
    other = given if AT_POSES in known else fine.arrays
    touching = _both_touch(fine.arrays["pose_loads"], other["pose_loads"])
    return Truth(
        loads=values["pose_loads"],
        touching=touching,
        jacobians=values["pose_jacobians"],
        cycle_poses=values["cycle_poses"],
        cycle_loads=values["cycle_loads"],
        wear=values["wear_volume"],
        fine=fine,
        extrapolated=known,
    )


def _towards(coarse: FloatArray, fine: FloatArray) -> FloatArray:
    found = extrapolated(coarse, fine)
    return np.where(np.isfinite(found), found, fine)


def _both_touch(one: FloatArray, other: FloatArray) -> NDArray[np.bool_]:
    return np.asarray((one[..., AXIAL_FORCE] > 0.0) & (other[..., AXIAL_FORCE] > 0.0))


def touching_too(truth: Truth, loads: FloatArray) -> NDArray[np.bool_]:
    """Return where a model (N, 2, 12) [SI] is in contact as the truth is, (N, 2)."""
    return truth.touching & np.isfinite(loads[..., CENTRE]).all(axis=-1)
