"""The layer itself as the original model: finite-element contact of the femur on the tibia."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property, partial, reduce
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree

from foundation import kernels
from foundation.base.checks import FloatArray, check_in, check_number, frozen
from foundation.base.loads import COMPARTMENTS, ContactLoads, SpringState
from foundation.base.pose import Pose
from foundation.compartment_choice import CompartmentChoice
from foundation.finite_element.arguments import (
    check_compartments,
    check_layer,
    checked_candidates,
)
from foundation.finite_element.charts import tibial_chart
from foundation.finite_element.compartment import CompartmentContact
from foundation.finite_element.compliance_store import ComplianceStore
from foundation.finite_element.condensation import SOLVERS
from foundation.finite_element.condensed_layer import MeshedLayer, meshed_layer
from foundation.finite_element.femoral_layer import LEAST_SPACING, femoral_layers
from foundation.finite_element.flags import all_flags, refusals
from foundation.finite_element.layer import ElasticLayer
from foundation.finite_element.preparation import Kept, condense
from foundation.finite_element.size import LayerSize, check_memory, size_of
from foundation.finite_element.triangle_values import TriangleValues
from foundation.surface_contact import batch_loads
from foundation.surfaces.compartments import check_labels
from foundation.surfaces.femur_patches import femur_patches
from foundation.surfaces.mesh import TriangleMesh
from foundation.surfaces.smooth_surface import smooth_surface

PRECISIONS = ("float64", "float32")

#: Width of the layer beyond a compartment that is meshed with it [m]: what is farther away is moved
#: by less than 1e-4 of the indentation.
_BEYOND = 6e-3
#: Radius within which the femur's bounding planes are valid, in radii of the bed's groups.
_PLANE_REACH = 3.5


class FiniteElementContact(CompartmentChoice):
    """Contact of a femoral surface, rigid or with a layer, with a linear-elastic layer.

    The layer of each compartment is meshed by hexahedra and condensed once to the normal
    displacements of its bearing surface; at a pose, the nodal forces solve a complementarity
    problem (docs/finite_element.md). Loads are the gradient of the elastic energy: the forces act
    along the normals of the femur, without friction.

    Parameters
    ----------
    femur, tibia : TriangleMesh
        Articular surfaces [m], femoral and tibial frame, normals out of the bone or component.
    layer : ElasticLayer
        Tibial layer.
    femur_layer : ElasticLayer, optional
        Femoral layer; by default the femur is rigid.
    spacing : float
        Distance of the nodes on the bearing surface [m].
    femur_spacing : float, optional
        Distance of the nodes on the femoral surface [m]; by default `spacing`, at least 1 mm.
    growth : float
        Ratio of the sizes of elements that follow each other below the surface, and beside the
        triangles that the femur may touch [1].
    compartments : (F,) int8, optional
        Compartment of each tibial triangle, its place in `compartment_names`; by default 0
        everywhere for one compartment, and for two compartments from
        `foundation.surfaces.compartments.find_compartments`.
    compartment_names : sequence of str
        Names of the compartments.
    candidates : (F,) bool, optional
        Tibial triangles that the femur may touch; by default all. The layer below the others is
        meshed as well, with cells that grow with the distance.
    precision : {"float64", "float32"}
        Numbers in which the compliance is kept.
    solver : {"substructures", "superlu"}
        Solver of the condensation, see `foundation.finite_element.condensation`.
    folder : str or Path, optional
        Folder in which the compliances are kept, a file each, for later runs and other processes;
        by default they are kept in memory.
    search_depth : float
        Largest overlap of the search [m]; nodes that overlap more count as out of contact.

    Raises
    ------
    InputError
        If an argument is out of its range, the sizes do not agree, the normals of a compartment
        point down, the layer cannot be meshed, or its condensation needs more memory than the
        machine has.
    """

    def __init__(
        self,
        femur: TriangleMesh,
        tibia: TriangleMesh,
        layer: ElasticLayer,
        *,
        femur_layer: ElasticLayer | None = None,
        spacing: float = 0.5e-3,
        femur_spacing: float | None = None,
        growth: float = 1.1,
        compartments: ArrayLike | None = None,
        compartment_names: Sequence[str] = COMPARTMENTS,
        candidates: ArrayLike | None = None,
        precision: str = "float64",
        solver: str = "substructures",
        folder: str | Path | None = None,
        search_depth: float = 20e-3,
    ) -> None:
        check_number("spacing", spacing, at_least=0.1e-3, at_most=5e-3, unit="m")
        check_number("growth", growth, at_least=1.0, at_most=2.0)
        check_number("search_depth", search_depth, above=0.0, at_most=0.1, unit="m")
        check_layer("layer", layer)
        if femur_layer is not None:
            check_layer("femur_layer", femur_layer)
        self.femur, self.tibia, self.layer, self.femur_layer = femur, tibia, layer, femur_layer
        self.spacing, self.growth, self._reach = spacing, growth, search_depth
        labels, self.compartment_names = check_labels(tibia, compartments, compartment_names)
        self.compartments = frozen(labels)
        names = self.compartment_names
        self.candidates = frozen(checked_candidates(labels, candidates, names))
        check_compartments(tibia, labels, self.candidates, spacing, names)
        self.store = ComplianceStore(
            folder,
            check_in("solver", solver, SOLVERS),
            check_in("precision", precision, PRECISIONS),
        )
        self.layers = tuple(self._meshed(side) for side in range(len(names)))
        self.femur_spacing = max(spacing, LEAST_SPACING) if femur_spacing is None else femur_spacing
        self.femur_layers = femoral_layers(
            femur, self.layers, femur_layer, self.femur_spacing, growth, self.store
        )
        self.contacts = tuple(
            CompartmentContact(
                meshed, partial(self._compliance, side), search_depth, self.femur_layers[side]
            )
            for side, meshed in enumerate(self.layers)
        )
        check_memory(self.size.memory, f"a layer has {max(self.size.candidates):,} nodes")
        radius = max(float(meshed.bed.radius.max()) for meshed in self.layers)
        self._femur = femur_patches(
            femur, smooth_surface(femur), curved=True, reach=_PLANE_REACH * radius
        )
        self._handle: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_handle": None}

    def _meshed(self, side: int) -> MeshedLayer:
        own, at = self.compartments == side, self.tibia.centroids
        inside = own & self.candidates
        around = own | (np.asarray(KDTree(at[own]).query(at)[0]) < _BEYOND)
        chart = tibial_chart(self.tibia, own, upright=self.layer.base.upright)
        return meshed_layer(
            self.tibia, inside, around, chart, self.layer, self.spacing, self.growth
        )

    def with_spacing(self, spacing: float) -> FiniteElementContact:
        """Return the same model with another distance of the nodes [m].

        The thicknesses of the elements are in proportion: `growth` becomes its power of the ratio.
        """
        ratio = spacing / self.spacing
        return FiniteElementContact(
            self.femur,
            self.tibia,
            self.layer,
            femur_layer=self.femur_layer,
            spacing=spacing,
            femur_spacing=self.femur_spacing * ratio,
            growth=min(self.growth**ratio, 2.0),
            compartments=self.compartments,
            compartment_names=self.compartment_names,
            candidates=self.candidates,
            precision=self.store.precision,
            solver=self.store.solver,
            folder=self.store.folder,
            search_depth=self._reach,
        )

    def _compliance(self, side: int) -> FloatArray:
        layer = self.layers[side]
        return self.store.get(layer.digest, len(layer.candidates), lambda: layer.body)

    def femoral_handle(self) -> Any:
        """Return the femur for the kernels."""
        if self._handle is None:
            self._handle = kernels.handle(self._femur)
        return self._handle

    @property
    def size(self) -> LayerSize:
        """Numbers of nodes and unknowns, memory and estimated times."""
        return size_of(self._all_layers, self.store.precision)

    @property
    def _all_layers(self) -> list[MeshedLayer]:
        """Tibial layers, and the femoral ones if there are any."""
        return [*self.layers, *(f.layer for f in self.femur_layers if f is not None)]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of whatever decides on the loads."""
        content = hashlib.sha256()
        for mesh in (self.femur, self.tibia):
            content.update(mesh.vertices.tobytes() + mesh.faces.tobytes())
            content.update(b"" if mesh.vertex_normals is None else mesh.vertex_normals.tobytes())
        for meshed in self._all_layers:
            content.update(meshed.digest.encode())
        content.update(self.store.precision.encode())
        return content.hexdigest()

    def prepare(self, progress: Callable[[str], None] | None = None) -> None:
        """Condense the layers that are not kept yet, side by side; `progress` takes a sentence."""
        layers = [
            Kept(meshed, meshed.digest, partial(self._compliance, side))
            for side, meshed in enumerate(self.layers)
        ]
        layers += [Kept(f.layer, f.digest, f.regular) for f in self.femur_layers if f is not None]
        condense(layers, self.store, progress)

    def evaluate(self, pose: Pose) -> ContactLoads:
        """Return the loads at a pose; see `foundation.base.loads` for frames and signs.

        Results do not depend on evaluation history; several threads may call this method.

        Parameters
        ----------
        pose : Pose
            Pose of the femur.

        Returns
        -------
        ContactLoads
            Loads per compartment and in total; `flags` names a compartment and what limits its
            loads (docs/finite_element.md).

        Raises
        ------
        PoseError
            If two layers overlap so far that their compliance is not positive definite.
        """
        return self._run(pose, jacobian=False)[0]

    def loads(self, pose: Pose) -> ContactLoads:
        """Return the loads at a pose (`dynamics.protocol.ContactModel`)."""
        return self.evaluate(pose)

    def loads_and_jacobian(self, pose: Pose) -> tuple[ContactLoads, FloatArray]:
        """Return the loads and the derivative of the total wrench.

        Parameters
        ----------
        pose : Pose
            Pose of the femur.

        Returns
        -------
        ContactLoads
            Loads per compartment and in total.
        (6, 6) float64
            Row: component of the total wrench [N, N m]; column: pose coordinate [rad, m].
        """
        return self._run(pose, jacobian=True)

    def _run(self, pose: Pose, *, jacobian: bool) -> tuple[ContactLoads, FloatArray]:
        femur = self.femoral_handle()
        parts = [side.loads(pose, femur, jacobian=jacobian) for side in self.contacts]
        flags = [
            flag
            for name, side, part in zip(self.compartment_names, self.contacts, parts, strict=True)
            for flag in all_flags(name, side, part[2])
        ]
        loads = ContactLoads.trusted_parts(
            tuple(part[0] for part in parts), self.compartment_names, tuple(flags)
        )
        return loads, reduce(np.add, [part[1] for part in parts])

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
            Largest overlap [m] and largest strain [1].

        Raises
        ------
        InputError
            If `compartment` is another name.
        """
        side = self.contacts[self._index(compartment)]
        loads, jacobian, state = side.loads(pose, self.femoral_handle(), jacobian=True)
        return loads, jacobian, side.depth(state)

    def indentation(self, pose: Pose, compartment: str) -> float:
        """Return the largest overlap of a compartment with the femur [m], 0 out of contact.

        Parameters and exceptions as of `compartment_loads`; found without the forces.
        """
        return self.contacts[self._index(compartment)].indentation(pose, self.femoral_handle())

    def compartment_flags(self, pose: Pose, compartment: str) -> tuple[str, ...]:
        """Return why the loads of a compartment are no answer at a pose; see `evaluate`.

        Parameters
        ----------
        pose : Pose
            Pose of the femur.
        compartment : str
            Compartment.

        Returns
        -------
        tuple of str
            A reason where contact reaches the end of the nodes of the compartment.
        """
        index = self._index(compartment)
        state = self.contacts[index].loads(pose, self.femoral_handle(), jacobian=False)[2]
        return refusals(compartment, self.contacts[index], state)

    def evaluate_batch(self, poses: ArrayLike, *, threads: int = 1) -> FloatArray:
        """Return the loads (N, C, 12) [N, N m, m², Pa, m] at poses (N, 6) [rad, m].

        Parameters and exceptions as of `foundation.surface_contact.SurfaceContact.evaluate_batch`.
        """
        femur = self.femoral_handle()
        self.prepare()

        def loads_at(pose: Pose) -> FloatArray:
            return np.stack([side.loads(pose, femur, jacobian=False)[0] for side in self.contacts])

        return batch_loads(loads_at, poses, threads, len(self.compartment_names))

    def stored_energy(self, pose: Pose, compartment: str | None = None) -> float:
        """Return the elastic energy of the layers [J].

        Parameters
        ----------
        pose : Pose
            Pose of the femur.
        compartment : str, optional
            Compartment; by default the whole knee.
        """
        chosen = self._all if compartment is None else self._only(self._index(compartment))
        return sum(
            side.energy(pose, self.femoral_handle()) for side in compress(self.contacts, chosen)
        )

    def spring_state(self, pose: Pose) -> SpringState:
        """Return overlap and pressure at the middle of every tibial triangle."""
        state = np.zeros((2, len(self.tibia.faces)))
        for side, contact in enumerate(self.contacts):
            pressure, overlap = contact.pressures(pose, self.femoral_handle())
            values = self.triangle_values[side]
            state[0, values.triangles] = values.interpolated(overlap)
            state[1, values.triangles] = values.interpolated(pressure)
        return SpringState(frozen(state[0]), frozen(state[1]))

    @cached_property
    def triangle_values(self) -> tuple[TriangleValues, ...]:
        """Interpolation from the nodes to the triangles of each compartment."""
        return tuple(
            TriangleValues(
                self.tibia, np.flatnonzero((self.compartments == side) & self.candidates), layer
            )
            for side, layer in enumerate(self.layers)
        )
