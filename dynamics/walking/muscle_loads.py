"""Muscle forces of a leg from its joint moments, and their load on the knee.

The muscles are tension-only members of a structure with the joint rotations as displacements
(Kolesnikov 2004): the minimum of Σ F²/(2 k) with balanced sagittal moments and F >= 0. The
stiffness k is that of "stress", k ∝ A² with the cross-section A, the least sum of squared stresses
(Pedotti et al. 1978, Math Biosci 38:57-76; with cubes Crowninshield & Brand 1981, J Biomech
14:793-801), or of "elastic", k ∝ A/l with the fibre length l, the muscle as an elastic rod.
docs/walking.md compares the compression of the knee with instrumented implants.
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
from foundation.base.checks import FloatArray, check_array, check_in, check_number
from foundation.base.errors import InputError

#: Stiffnesses by which the muscles share the moments.
SHARINGS = ("stress", "elastic")


@dataclass(frozen=True, eq=False)
class MuscleLoads:
    """Forces of n muscles at N instants.

    Parameters
    ----------
    names : tuple of str
        Names of the muscles.
    forces : (N, n) float64
        Tensions [N], >= 0.
    stresses : (N, n) float64
        Tension over cross-section [Pa].
    moments : (N, 3) float64
        Moments about hip, knee and ankle, positive in extension and plantarflexion [N m].
    knee_force : (N, 3) float64
        Force of the muscles that cross the knee on the leg below, tibial frame: anterior, superior,
        lateral [N]. Muscles pull the leg up, against the femur.
    knee_moment : (N, 3) float64
        Moment of these forces about the knee centre: adduction, internal rotation, extension [N m].
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
        Muscles, scaled to the body.
    hip, knee, ankle : (N,) array_like
        Flexion of hip and knee, dorsiflexion of the ankle [rad].
    moments : (N, 3) array_like
        Internal moments: extension of hip and knee, plantarflexion of the ankle [N m].
    sharing : {"stress", "elastic"}
        Stiffness of the muscles.
    least_stress : float
        Lower limit of all muscle stresses, a co-contraction [Pa], >= 0; the muscles share the
        remaining moments.

    Raises
    ------
    InputError
        If an argument is invalid, or no tensions balance the moments of an instant; the message
        names instant and joint.
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
    """Return the stiffnesses over their mean; their scale does not affect the forces."""
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
            f"moments: expected moments that the muscles can balance, found {moments[joint]:g} N m "
            f"at the {JOINTS[joint]} at instant {instant}, of which {abs(missing[joint]):g} N m "
            "remain unbalanced"
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
