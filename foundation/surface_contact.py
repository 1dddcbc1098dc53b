"""Contact of two surfaces: the methods of every original model, derived from one primitive."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from math import ceil
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy import int8
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, IntArray, check_number, frozen
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import (
    STRAIN_LIMIT,
    ContactLoads,
    SpringState,
    check_order,
    compartment_index,
)
from foundation.base.pose import Pose, pose_array
from foundation.surfaces.triangle_mesh import TriangleMesh

#: Most rows of a task of a batch, and least tasks of a thread.
_MOST_ROWS, _FEWEST_TASKS = 64, 4


class CompartmentState(Protocol):
    """Contact of one compartment at a pose."""

    @property
    def loads(self) -> FloatArray:
        """Loads (12,), see `foundation.base.loads.LOAD_COLUMNS` [N, N m, m², Pa, m]."""
        ...

    @property
    def jacobian(self) -> FloatArray:
        """Derivative (6, 6) of the wrench with respect to the pose [N, N m; rad, m]."""
        ...

    @property
    def depth(self) -> FloatArray:
        """Largest indentation [m] and largest strain [1], (2,); 0 out of contact."""
        ...

    @property
    def energy(self) -> float:
        """Elastic energy [J]."""
        ...


class PressurePlaces(NamedTuple):
    """Places of one compartment at which a contact model gives pressures."""

    #: (P, 3) [m], tibial frame.
    points: FloatArray
    #: (P, 3) [1].
    normals: FloatArray
    #: (P,) [m²].
    areas: FloatArray
    #: Tibial triangles (T,).
    triangles: IntArray
    #: Places (T, 3) whose values, times `shares` (T, 3) [1], give that of each triangle; None if
    #: the places are the middles of the triangles.
    corners: IntArray | None = None
    shares: FloatArray | None = None


class SurfaceContact(ABC):
    """Contact of the surfaces of femur and tibia as a function of the pose alone.

    The loads act on the femur, in the tibial frame, moments about the tibial origin (see
    `foundation.base.loads`). Results do not depend on evaluation history; several threads may call
    the methods. A model implements `_states`, `_flags` and `spring_state`; all other methods follow
    from these.

    Attributes
    ----------
    femur : TriangleMesh
        Articular surface of the femur [m], femoral frame.
    tibia : TriangleMesh
        Articular surface of the tibia [m], tibial frame.
    compartments : (F,) int8
        Compartment of each tibial triangle, its place in `compartment_names` [1].
    compartment_names : tuple of str
        Names of the C compartments.
    """

    femur: TriangleMesh
    tibia: TriangleMesh
    compartments: NDArray[int8]
    compartment_names: tuple[str, ...]

    @abstractmethod
    def _states(
        self, pose: Pose, sides: Sequence[int], *, jacobian: bool = False, energy: bool = False
    ) -> Sequence[Any]:
        """Return the contact of compartments, with derivatives and energy if asked for."""

    @abstractmethod
    def _flags(self, pose: Pose, side: int, state: Any) -> tuple[Flag, ...]:
        """Return where the loads of a compartment with a `CompartmentState` are unreliable."""

    def _refusals(self, pose: Pose, side: int, state: Any) -> tuple[Flag, ...]:
        """Return the flags that make the loads of a compartment invalid; none by default."""
        return ()

    @abstractmethod
    def spring_state(self, pose: Pose) -> SpringState:
        """Return indentation and pressure at the middle of every tibial triangle."""

    def peaks_at_rim(self, pose: Pose, compartment: str) -> bool:
        """Return whether the peak pressure is at a rim, where it has no limit; False by default."""
        return False

    def pressure_places(self, compartment: str) -> PressurePlaces:
        """Return the places where the model gives the pressures of a compartment.

        By default the places are the middles of the triangles of the compartment. Raises
        `InputError` if the name is unknown.
        """
        triangles = np.flatnonzero(np.asarray(self.compartments) == self._index(compartment))
        tibia = self.tibia
        return PressurePlaces(
            tibia.centroids[triangles], tibia.normals[triangles], tibia.areas[triangles], triangles
        )

    def place_state(self, pose: Pose, compartment: str) -> SpringState:
        """Return overlap (P,) [m] and pressure (P,) [Pa] at the `pressure_places`.

        Parameters and exceptions as of `compartment_loads`.
        """
        triangles = np.asarray(self.compartments) == self._index(compartment)
        state = self.spring_state(pose)
        return SpringState(state.indentation[triangles], state.pressure[triangles])

    def loads(
        self, poses: Pose | Sequence[Pose] | ArrayLike, order: int = 0, *, threads: int = 1
    ) -> ContactLoads:
        """Return the loads at one pose or at N poses, the femur at rest.

        Parameters
        ----------
        poses : Pose, (6,) or (N, 6) array_like, sequence of Pose, or DataFrame
            Poses of the femur [rad, m] (`foundation.base.pose.pose_array`).
        order : {0, 1}
            1 for the Jacobian too.
        threads : int
            Number of threads for many poses; the loads do not depend on this number.

        Returns
        -------
        ContactLoads
            Loads per compartment and in total, with the leading axis N for many poses; `flags`
            reports where the loads are unreliable.

        Raises
        ------
        InputError
            If a pose is malformed, the order is another, or `threads` is below 1.
        PoseError
            If the model has no loads at a pose; see the model.
        """
        check_order(order, 1)  # surrogates alone have second derivatives
        if isinstance(poses, Pose):
            return self._loads_at(poses, order)
        rows = pose_array(poses)
        if rows.ndim == 1:
            return self._loads_at(Pose.from_array(rows), order)
        check_number("threads", threads, at_least=1)
        self.prepare()
        size = min(_MOST_ROWS, max(1, ceil(len(rows) / (_FEWEST_TASKS * threads))))

        def compute(start: int) -> list[ContactLoads]:
            chunk = rows[start : start + size]
            return [self._loads_at(Pose.from_array(row), order) for row in chunk]

        with ThreadPoolExecutor(threads) as pool:
            results = list(chain.from_iterable(pool.map(compute, range(0, len(rows), size))))
        n, count = len(rows), len(self.compartment_names)
        jacobians = [np.array([loads.jacobian for loads in results]) for _ in range(order)]
        return ContactLoads.trusted(
            values=frozen(np.array([loads.values for loads in results]).reshape(n, count, 12)),
            compartments=self.compartment_names,
            flags=tuple(loads.flags for loads in results),
            derivatives=tuple(jacobian.reshape(n, count, 6, 6) for jacobian in jacobians),
        )

    def prepare(self) -> None:  # noqa: B027 - a model may have nothing to prepare
        """Compute once what the loads at many poses need; nothing by default."""

    def _loads_at(self, pose: Pose, order: int) -> ContactLoads:
        return self._contact_loads(pose, self._states(pose, self._sides, jacobian=order > 0), order)

    def compartment_loads(
        self, pose: Pose, compartment: str
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the loads of one compartment; the others are not evaluated.

        Parameters
        ----------
        pose : Pose
            Pose of the femur.
        compartment : str
            Compartment to evaluate, one of `compartment_names`.

        Returns
        -------
        loads : (12,) float64
            Loads in the order of `foundation.base.loads.LOAD_COLUMNS` [N, N m, m², Pa, m].
        jacobian : (6, 6) float64
            Row: component of the wrench [N, N m]; column: pose coordinate [rad, m].
        depth : (2,) float64
            Largest indentation [m] and largest strain [1], 0 out of contact.

        Raises
        ------
        InputError
            If `compartment` is another name.
        PoseError
            As `loads`.
        """
        (state,) = self._states(pose, [self._index(compartment)], jacobian=True)
        return state.loads, state.jacobian, state.depth

    def indentation(self, pose: Pose, compartment: str) -> float:
        """Return the largest indentation of a compartment [m], 0 out of contact.

        Parameters and exceptions as of `compartment_loads`.
        """
        (state,) = self._states(pose, [self._index(compartment)])
        return float(state.depth[0])

    def compartment_flags(self, pose: Pose, compartment: str) -> tuple[Flag, ...]:
        """Return why the loads of a compartment are invalid, other than by the strain of its layer.

        Parameters and exceptions as of `compartment_loads`.
        """
        side = self._index(compartment)
        (state,) = self._states(pose, [side])
        return self._refusals(pose, side, state)

    def stored_energy(self, pose: Pose, compartment: str | None = None) -> float:
        """Return the elastic energy [J].

        Parameters
        ----------
        pose : Pose
            Pose of the femur.
        compartment : str, optional
            Compartment; by default the whole knee.

        Raises
        ------
        InputError, PoseError
            As `compartment_loads`.
        """
        sides = self._sides if compartment is None else [self._index(compartment)]
        return float(sum(state.energy for state in self._states(pose, sides, energy=True)))

    def _contact_loads(
        self, pose: Pose, states: Sequence[CompartmentState], order: int = 0
    ) -> ContactLoads:
        """Return the loads of all compartments; flags are found when they are first asked for."""

        def flags() -> tuple[Flag, ...]:
            side_flags = (self._flags(pose, side, states[side]) for side in self._sides)
            return tuple(chain.from_iterable(side_flags))

        return ContactLoads.trusted(
            values=frozen(np.array([state.loads for state in states])),
            compartments=self.compartment_names,
            _flags=flags,
            derivatives=(np.array([state.jacobian for state in states]),) if order else (),
        )

    def _index(self, compartment: str) -> int:
        """Return the place of a compartment; raise `InputError` for another name."""
        return compartment_index(compartment, self.compartment_names)

    @property
    def _sides(self) -> range:
        """Places of the compartments."""
        return range(len(self.compartment_names))


class NodalContact(SurfaceContact):
    """Surface contact of nodes, whose distance, `spacing` [m], limits the accuracy of the loads."""

    spacing: float

    @abstractmethod
    def with_spacing(self, spacing: float) -> Self:
        """Return the same model with another distance of the nodes [m]."""


def pressed_through(name: str, strain: float) -> tuple[Flag, ...]:
    """Return the flag of the compartment `name` if its largest strain [1] is beyond the layer."""
    if strain <= STRAIN_LIMIT:
        return ()
    return (Flag(FlagKind.PRESSED_THROUGH, name, (strain, STRAIN_LIMIT)),)
