"""Springs coupled by the surface compliance of the elastic layer they stand for (docs/theory.md).

A pressure on one place of a layer moves the surface beside it too. The springs of a patch therefore
share the compliance of a flat layer between the nodes of a lattice, and find their forces together:
a linear complementarity problem of some dozen unknowns. The lattice is fitted to the overlap of the
surfaces, so that it has as many nodes on a small patch as on a large one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foundation import kernels
from foundation.base.checks import FloatArray
from foundation.base.errors import PoseError
from foundation.base.loads import MEAN_PRESSURE
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import CoupledLaw, SpringLaw, coupled_laws
from foundation.kernels.sums import DEPTH, STRAIN
from foundation.layer_theory.flat_layer import PER_STEP, deficit_table, strength
from foundation.layer_theory.single_thread import one_thread

#: Width of Hertz's patch over the root of a central second moment of the overlap, of a paraboloid,
#: and a margin for wider patches.
_PATCH_WIDTH = 2.0 * np.sqrt(6.0) * 0.86
#: Distance of the edge found from nodal pressures outside the true edge, in edges of the cells.
EDGE_OFFSET = 0.05
#: Places of the nodes in the cells of the lattices that loads are averaged over.
_PLACES = ((0.0, 0.0), (0.5, 0.5))

#: Largest strain of a patch that no lattice resolves, such as a sliver within a triangle.
_LIGHT = 0.02

#: Handles of femur, bed and law for the kernels.
Handles = tuple[Any, Any, Any]


class CoupledSprings:
    """Springs of a bed that share the compliance of the layers they stand for.

    Parameters
    ----------
    laws : tuple of CoupledLaw
        Law of each layer; the number of nodes across a patch is that of the first.
    thickness : (L, F) float64
        Effective thickness of each layer at each element of the bed [m].
    conservative : bool
        Whether the loads are the gradient of the energy with the lattice held, instead of acting
        along the normals of the bed.
    """

    def __init__(
        self, laws: tuple[CoupledLaw, ...], thickness: FloatArray, *, conservative: bool
    ) -> None:
        tables = np.stack([deficit_table(law.poissons_ratio) for law in laws])
        strengths = np.array([strength(law.modulus, law.poissons_ratio) for law in laws])
        ratios = np.array([law.poissons_ratio for law in laws])
        self._layers = (tables, PER_STEP, strengths, ratios, np.ascontiguousarray(thickness))
        scale = float(_PATCH_WIDTH) / laws[0].nodes_across
        self._lattices = (scale, np.array(_PLACES), EDGE_OFFSET)
        self._conservative = conservative

    def evaluate(
        self, pose: Pose, handles: Handles, compartment: int, reach: float, jacobian: bool,
        work: Any, sums: FloatArray, by_twist: FloatArray,
    ) -> bool:  # fmt: skip
        """Write sums (SUMS,) and Jacobian by twist (6, 6) of a compartment.

        As `kernels.evaluate_contact` [N, N m, m², Pa, m, 1, J]; `work` is scratch memory. Returns
        whether the lattice resolves the patch; a light touch of less extent than the triangles has
        no nodes, and is one of independent springs.

        Raises
        ------
        PoseError
            If the compliance between the nodes is not positive definite.
        """
        return self._evaluate(
            pose, handles, compartment, reach, jacobian, work, sums, by_twist, np.empty((2, 0))
        )

    def field(
        self, pose: Pose, handles: Handles, compartment: int, reach: float, work: Any
    ) -> FloatArray | None:
        """Return indentation [m] and pressure [Pa] at the middle of each element, (2, F).

        Arguments and exceptions as of `evaluate`; None if the lattice does not resolve the patch.
        """
        field = np.zeros((2, self._layers[-1].shape[1]))
        unused = np.empty(kernels.SUMS), np.empty((6, 6))
        resolved = self._evaluate(pose, handles, compartment, reach, False, work, *unused, field)
        return field if resolved else None

    def _evaluate(
        self, pose: Pose, handles: Handles, compartment: int, reach: float, jacobian: bool,
        work: Any, sums: FloatArray, by_twist: FloatArray, field: FloatArray,
    ) -> bool:  # fmt: skip
        femur, bed, _ = handles
        with one_thread():
            solved = kernels.evaluate_coupled(
                pose.rotation_matrix, pose.translation, femur, bed, work, compartment, reach,
                self._layers, self._lattices, self._conservative, jacobian, field.size > 0, sums,
                by_twist, field,
            )  # fmt: skip
        if solved and (sums[MEAN_PRESSURE] > 0.0 or sums[DEPTH] == 0.0):
            return True
        if sums[STRAIN] > _LIGHT:
            raise PoseError(
                "the compliance of the layer is not positive definite on the patch of contact: "
                "expected less overlap of the surfaces or a thicker layer, found an overlap of "
                f"{1e3 * sums[DEPTH]:.3g} mm, {sums[STRAIN]:.3g} times the thickness"
            )
        return False


def coupled_springs(
    law: SpringLaw, thicknesses: FloatArray, *, conservative: bool
) -> CoupledSprings | None:
    """Return what couples the springs of a law with thicknesses (L, F) [m]; None if nothing."""
    laws = coupled_laws(law)
    if not laws:
        return None
    factors = np.array([[each.thickness_factor] for each in laws])
    return CoupledSprings(laws, factors * thicknesses, conservative=conservative)
