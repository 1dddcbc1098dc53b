"""What every contact model over the surfaces of a knee offers, whatever its layer is made of.

`foundation.elastic_foundation.model.ElasticFoundation`,
`foundation.finite_element.model.FiniteElementContact` and
`foundation.fitted_surfaces.model.FittedSurfaceContact` are such models; a trained surrogate, which
has no surfaces, is not.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from typing import Protocol, runtime_checkable

import numpy as np
from numpy import int8
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_number
from foundation.base.loads import ContactLoads, SpringState
from foundation.base.pose import Pose
from foundation.surfaces.triangle_mesh import TriangleMesh

#: Most rows of a task of `batch_loads`, and least tasks of a thread.
_MOST_ROWS, _FEWEST_TASKS = 64, 4


def batch_loads(
    loads_at: Callable[[Pose], FloatArray], poses: ArrayLike, threads: int, compartments: int = 2
) -> FloatArray:
    """Return what a function gives at many poses, computed in threads.

    Parameters
    ----------
    loads_at : callable
        Takes a pose and returns the loads of all compartments, (C, 12) [N, N m, m², Pa, m].
    poses, threads
        As of `SurfaceContact.evaluate_batch` [rad, m], with the same result and exceptions.
    compartments : int
        Number C of the compartments.
    """
    rows = check_array("poses", poses, (None, 6))
    check_number("threads", threads, at_least=1)
    size = min(_MOST_ROWS, max(1, ceil(len(rows) / (_FEWEST_TASKS * threads))))

    def compute(start: int) -> list[FloatArray]:
        return [loads_at(Pose.from_array(row)) for row in rows[start : start + size]]

    with ThreadPoolExecutor(threads) as pool:
        parts = pool.map(compute, range(0, len(rows), size))
        found = np.array([loads for part in parts for loads in part])
        return found.reshape(len(rows), compartments, 12)


@runtime_checkable
class SurfaceContact(Protocol):
    """Contact of the surfaces of femur and tibia as a function of the pose alone.

    The loads act on the femur, in the tibial frame, moments about the tibial origin (see
    `foundation.base.loads`). Results do not depend on evaluation history.
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
        """Compartment (F,) of each tibial triangle, its place in `compartment_names` [1]."""
        ...

    @property
    def compartment_names(self) -> tuple[str, ...]:
        """Names of the C compartments."""
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
            Loads in the order of `foundation.base.loads.LOAD_COLUMNS` [N, N m, m², Pa, m].
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
        """Return the loads at many poses, computed in threads.

        Parameters
        ----------
        poses : (N, 6) float64
            Pose coordinates [rad, m].
        threads : int
            Number of threads; the loads do not depend on this number.

        Returns
        -------
        (N, C, 12) float64
            Loads of each compartment in the order of `foundation.base.loads.LOAD_COLUMNS`
            [N, N m, m², Pa, m].

        Raises
        ------
        InputError
            If a pose is not finite or `threads` is below 1.
        """
        ...

    def stored_energy(self, pose: Pose, compartment: str | None = None) -> float:
        """Return the elastic energy of a compartment, or of the whole knee [J]."""
        ...

    def spring_state(self, pose: Pose) -> SpringState:
        """Return indentation and pressure at the middle of every tibial triangle."""
        ...
