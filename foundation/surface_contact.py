"""What every contact model over the surfaces of a knee offers, whatever its layer is made of.

`foundation.elastic_foundation.model.ElasticFoundation`,
`foundation.finite_element.model.FiniteElementContact` and
`foundation.fitted_surfaces.model.FittedSurfaceContact` are such models; a trained surrogate, which
has no surfaces, is not.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from numpy import int8
from numpy.typing import ArrayLike, NDArray

from foundation.checks import FloatArray
from foundation.loads import ContactLoads, SpringState
from foundation.pose import Pose
from foundation.surfaces.triangle_mesh import TriangleMesh


@runtime_checkable
class SurfaceContact(Protocol):
    """Contact of the surfaces of femur and tibia as a function of the pose alone.

    The loads act on the femur, in the tibial frame, moments about the tibial origin (see
    `foundation.loads`). Results do not depend on evaluation history.
    """

    @property
    def femur(self) -> TriangleMesh:
        """Articular surface of the femur [m], femoral frame."""
        ...

    @property
    def tibia(self) -> TriangleMesh:
        """Articular surface of the tibia [m], tibial frame."""
        ...

    @property
    def compartments(self) -> NDArray[int8]:
        """Compartment (F,) of each tibial triangle, 0 medial and 1 lateral [1]."""
        ...

    def evaluate(self, pose: Pose) -> ContactLoads:
        """Return the loads at a pose; flags report where the loads are unreliable."""
        ...

    def loads(self, pose: Pose) -> ContactLoads:
        """Return the loads at a pose, as `evaluate`."""
        ...

    def loads_and_jacobian(self, pose: Pose) -> tuple[ContactLoads, FloatArray]:
        """Return the loads and the derivative (6, 6) of the total wrench [N, N m; rad, m]."""
        ...

    def compartment_loads(
        self, pose: Pose, compartment: str
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the loads of one compartment, its Jacobian and its depth.

        Returns
        -------
        loads : (12,) float64
            Loads in the order of `foundation.loads.LOAD_COLUMNS` [N, N m, m², Pa, m].
        jacobian : (6, 6) float64
            Row: component of the wrench [N, N m]; column: pose coordinate [rad, m].
        depth : (2,) float64
            Largest indentation [m] and largest strain [1], 0 out of contact.
        """
        ...

    def indentation(self, pose: Pose, compartment: str) -> float:
        """Return the largest indentation of a compartment [m], 0 out of contact."""
        ...

    def compartment_flags(self, pose: Pose, compartment: str) -> tuple[str, ...]:
        """Return why the loads of a compartment are no answer, beside the strain of its layer."""
        ...

    def evaluate_batch(self, poses: ArrayLike, *, threads: int = 1) -> FloatArray:
        """Return the loads (N, 2, 12) [N, N m, m², Pa, m] at poses (N, 6) [rad, m]."""
        ...

    def stored_energy(self, pose: Pose, compartment: str | None = None) -> float:
        """Return the elastic energy of a compartment, or of the whole knee [J]."""
        ...

    def spring_state(self, pose: Pose) -> SpringState:
        """Return indentation and pressure at the middle of every tibial triangle."""
        ...
