"""Ligaments as tension-only bundles on straight lines between femur and tibia.

With the length l, the rest length l0 and the strain e = l/l0 - 1, the tension of a taut bundle is

- "linear": F = k (l - l0), k [N/m] (Lehtoranta 2011, eq. 45);
- "quadratic": F = k (l - l0)², k [N/m²] (Machado et al. 2010);
- "toe": F = k e² / (2 t) up to the strain t, then F = k (e - t/2), k [N] (Wismans et al. 1980,
  J Biomech 13:677-685; Blankevoort & Huiskes 1991, J Biomech Eng 113:263-269).

Bundles that wrap around bone are longer than their line; take their strain, not their rest length,
from a model with wrapping. Attachments are those of a right knee, in the frames of the bones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dynamics.core.problem import LINEAR, QUADRATIC, TOE, LigamentArguments
from foundation.base.checks import (
    FloatArray,
    check_array,
    check_fields,
    check_in,
    check_number,
    check_numbers,
)
from foundation.base.pose import Pose
from foundation.core.library import CORE, Struct, address

#: Laws of a bundle, and the unit of the stiffness.
LIGAMENT_KINDS = {"linear": "N/m", "quadratic": "N/m²", "toe": "N"}
_CODES = {"linear": LINEAR, "quadratic": QUADRATIC, "toe": TOE}
#: Usual strain at which the toe of the law ends.
TRANSITION_STRAIN = 0.06


@dataclass(frozen=True, eq=False)
class Ligament:
    """One bundle of a ligament.

    Parameters
    ----------
    name : str
        Name of the bundle.
    femoral : (3,) float64
        Attachment in the femoral frame [m].
    tibial : (3,) float64
        Attachment in the tibial frame [m].
    rest_length : float
        Length at which the bundle becomes taut [m], > 0.
    stiffness : float
        Stiffness of the law [N/m, N/m² or N, see `LIGAMENT_KINDS`], >= 0.
    kind : {"linear", "quadratic", "toe"}
        The law.
    transition_strain : float
        Strain at which the toe ends [1], > 0; unused by the other laws.
    """

    name: str
    femoral: FloatArray
    tibial: FloatArray
    rest_length: float
    stiffness: float
    kind: str
    transition_strain: float = TRANSITION_STRAIN

    def __post_init__(self) -> None:
        of = f"ligament {self.name}:"
        check_fields(self, f"{of} ", femoral=(3,), tibial=(3,))
        kind = check_in(f"{of} kind", self.kind, LIGAMENT_KINDS)
        check_numbers(self, f"{of} ", above=0.0, rest_length="m", transition_strain="")
        check_numbers(self, f"{of} ", at_least=0.0, stiffness=LIGAMENT_KINDS[kind])

    @classmethod
    def at_reference_strain(
        cls,
        name: str,
        femoral: ArrayLike,
        tibial: ArrayLike,
        strain: float,
        stiffness: float,
        kind: str = "toe",
        *,
        pose: Pose | None = None,
        transition_strain: float = TRANSITION_STRAIN,
    ) -> Self:
        """Return a bundle with a known strain at a reference pose, l0 = l / (1 + strain).

        Rest lengths cannot be measured in place and are usually stated this way (Blankevoort et al.
        1991).

        Parameters
        ----------
        name, stiffness, kind, transition_strain
            As of the class.
        femoral, tibial : (3,) array_like
            Attachments in the femoral and the tibial frame [m].
        strain : float
            Strain at the reference pose [1], > -1; negative where the bundle is slack.
        pose : Pose, optional
            The reference pose; by default zero, where the two frames coincide.

        Raises
        ------
        InputError
            If a value is out of its range, or the two attachments coincide at that pose.
        """
        of = f"ligament {name}:"
        reference = pose or Pose()
        femur = check_array(f"{of} femoral", femoral, (3,))
        tibia = check_array(f"{of} tibial", tibial, (3,))
        line = reference.rotation_matrix @ femur + reference.translation - tibia
        rest_length = math.hypot(*line) / (1.0 + check_number(f"{of} strain", strain, above=-1.0))
        return cls(name, femur, tibia, rest_length, stiffness, kind, transition_strain)


def pack(ligaments: Sequence[Ligament]) -> LigamentArguments:
    """Return bundles as arrays."""
    return LigamentArguments(
        np.array([bundle.femoral for bundle in ligaments], dtype=np.float64).reshape(-1, 3),
        np.array([bundle.tibial for bundle in ligaments], dtype=np.float64).reshape(-1, 3),
        np.array([bundle.rest_length for bundle in ligaments], dtype=np.float64),
        np.array([bundle.stiffness for bundle in ligaments], dtype=np.float64),
        np.array([bundle.transition_strain for bundle in ligaments], dtype=np.float64),
        np.array([_CODES[bundle.kind] for bundle in ligaments], dtype=np.int64),
    )


def ligament_strains(ligaments: Sequence[Ligament], poses: ArrayLike) -> FloatArray:
    """Return the strains (n, B) [1] of B bundles at poses (n, 6) [rad, m]; negative if slack."""
    lengths, _ = _measured(ligaments, check_array("poses", poses, (None, 6)))
    strains: FloatArray = lengths / pack(ligaments).rest_length - 1.0
    return strains


def ligament_forces(ligaments: Sequence[Ligament], poses: Pose | ArrayLike) -> FloatArray:
    """Return the tensions of bundles.

    Parameters
    ----------
    ligaments : sequence of Ligament
        The B bundles.
    poses : Pose or (n, 6) float64
        One pose, or the coordinates of many [rad, m].

    Returns
    -------
    (B,) or (n, B) float64
        Tensions [N], >= 0.
    """
    rows = poses.array[None] if isinstance(poses, Pose) else check_array("poses", poses, (None, 6))
    _, tensions = _measured(ligaments, rows)
    return tensions[0] if isinstance(poses, Pose) else tensions


def _measured(ligaments: Sequence[Ligament], poses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the lengths [m] and the tensions [N] of bundles at poses (n, 6), each (n, B)."""
    lengths, tensions = np.empty((2, len(poses), len(ligaments)))
    bundles = _packed(tuple(ligaments))
    CORE.measure_ligaments(
        bundles.address, len(poses), address(poses), address(lengths), address(tensions)
    )
    return lengths, tensions


@lru_cache
def _packed(ligaments: tuple[Ligament, ...]) -> Struct:
    """Return the struct `ligaments` of bundles."""
    return pack(ligaments).packed()
