"""Forces of the muscles of a leg from the moments at its joints, and their load on the knee.

There are more muscles than joints. They are taken as the tension-only members of a structure whose
displacements are the rotations of the joints (Kolesnikov 2004, activation by stiffness): a muscle
is loaded in proportion to its stiffness k and the shortening that the rotations ask of it, or
slack. That is the minimum of Σ F²/(2 k) with the moments balanced and F >= 0. Two stiffnesses:

- "stress": k ∝ A² with the cross-section A, the least sum of squared stresses (Pedotti et al. 1978,
  Math Biosci 38:57-76; with cubes Crowninshield & Brand 1981, J Biomech 14:793-801). The default:
  on a textbook stride the compression of the knee peaks at 2.4 times body weight, near the 2.61 of
  instrumented implants (Kutzner et al. 2010, J Biomech 43:2164-2173).
- "elastic": k ∝ A/l with the length l of the fibres, the muscle as an elastic rod. It loads more of
  the muscles with two joints, and the knee with 3.3 times body weight.

Moments are those of the sagittal plane: the muscles are not asked to balance the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from dynamics.mechanics.unilateral.structures import InfeasibleLoadError, solve_structure
from dynamics.walking.muscle_paths import JOINTS, MuscleGeometry, muscle_geometry
from dynamics.walking.muscles import LegMuscles, Muscle
from foundation.checks import FloatArray, check_array, check_in, check_number
from foundation.errors import InputError

#: Stiffness by which the muscles share the moments.
SHARINGS = ("stress", "elastic")


@dataclass(frozen=True, eq=False)
class MuscleLoads:
    """Forces of n muscles at N instants.

    Parameters
    ----------
    names : tuple of str
        Of the muscles.
    forces : (N, n) float64
        Tensions [N], >= 0.
    stresses : (N, n) float64
        Tension over cross-section [Pa].
    moments : (N, 3) float64
        Of the tensions about hip, knee and ankle, positive in extension and plantarflexion [N m].
    knee_force : (N, 3) float64
        Of all muscles that cross the knee on the leg below it, in the tibial frame: anterior,
        superior, lateral [N]. A muscle pulls the leg up, against the femur.
    knee_moment : (N, 3) float64
        The same about the centre of the knee [N m]: adduction, internal rotation, extension.
    tendon_force : (N,) float64
        Tension of the patellar tendon [N].
    """

    names: tuple[str, ...]
    forces: FloatArray
    stresses: FloatArray
    moments: FloatArray
    knee_force: FloatArray
    knee_moment: FloatArray
    tendon_force: FloatArray


def knee_muscle_loads(
    leg: LegMuscles,
    hip: ArrayLike,
    knee: ArrayLike,
    ankle: ArrayLike,
    moments: ArrayLike,
    *,
    sharing: str = "stress",
    least_stress: float = 0.0,
) -> MuscleLoads:
    """Return the forces of the muscles that balance the joint moments.

    Parameters
    ----------
    leg : LegMuscles
        The muscles, of the body's size.
    hip, knee, ankle : (N,) array_like
        Flexion of hip and knee, dorsiflexion of the ankle [rad].
    moments : (N, 3) array_like
        Internal moments: extension of hip and knee, plantarflexion of the ankle [N m].
    sharing : {"stress", "elastic"}
        Stiffness of the muscles.
    least_stress : float
        Stress that every muscle has at least, a co-contraction [Pa], >= 0. What exceeds it is
        shared.

    Raises
    ------
    InputError
        If an argument is not as expected, or no tensions balance the moments of an instant; the
        message names instant and joint.
    """
    geometry = muscle_geometry(leg, hip, knee, ankle)
    asked = check_array("moments", moments, (len(geometry.lengths), len(JOINTS)))
    least = check_number("least_stress", least_stress, at_least=0.0, unit="Pa")
    check_in("sharing", sharing, SHARINGS)
    areas = np.array([each.area for each in leg.muscles])
    stiffness = _stiffness(leg.muscles, sharing)
    tonus = least * areas
    rest = asked - geometry.arms @ tonus
    rows = enumerate(zip(geometry.arms, rest, strict=True))
    forces = tonus + [_balance(instant, arms, row, stiffness) for instant, (arms, row) in rows]
    return _resultants(leg, geometry, forces, areas)


def _stiffness(muscles: Sequence[Muscle], sharing: str) -> FloatArray:
    """Return the stiffnesses over their mean, since their scale does not change the forces."""
    if sharing == "stress":
        values = np.array([each.area**2 for each in muscles])
    else:
        values = np.array([each.area / each.fibre_length for each in muscles])
    return values / values.mean()


def _balance(
    instant: int, arms: FloatArray, moments: FloatArray, stiffness: FloatArray
) -> FloatArray:
    try:
        return solve_structure(arms, stiffness, moments).forces
    except InfeasibleLoadError as error:
        missing = arms @ nnls(arms, moments)[0] - moments
        joint = int(np.argmax(np.abs(missing)))
        if abs(missing[joint]) <= 1e-9 * np.abs(moments).max():
            raise
        raise InputError(
            f"moments: expected moments that muscles can balance, found {moments[joint]:g} N m at "
            f"the {JOINTS[joint]} at instant {instant}, {abs(missing[joint]):g} N m out of reach"
        ) from error


def _resultants(
    leg: LegMuscles, geometry: MuscleGeometry, forces: FloatArray, areas: FloatArray
) -> MuscleLoads:
    on_leg = np.einsum("nm,nmx->nx", forces, geometry.pulls)
    return MuscleLoads(
        names=leg.names,
        forces=forces,
        stresses=forces / areas,
        moments=np.einsum("njm,nm->nj", geometry.arms, forces),
        knee_force=on_leg[:, :3],
        knee_moment=on_leg[:, 3:],
        tendon_force=np.einsum("nm,nm->n", geometry.tendon_ratios, forces),
    )
