"""The layer itself as the original model: finite-element contact of the femur on the tibia."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree

from foundation.base.checks import FloatArray, check_in, check_number, frozen
from foundation.base.flags import Flag
from foundation.base.loads import COMPARTMENTS, SpringState
from foundation.base.pose import Pose
from foundation.finite_element.arguments import (
    check_compartments,
    check_layer,
    checked_candidates,
)
from foundation.finite_element.charts import tibial_chart
from foundation.finite_element.compartment import CompartmentContact, PatchState
from foundation.finite_element.compliance_store import ComplianceStore, Kept, condense
from foundation.finite_element.condensed_layer import MeshedLayer, meshed_layer
from foundation.finite_element.femoral_layer import LEAST_SPACING, femoral_layers
from foundation.finite_element.flags import all_flags, refusals
from foundation.finite_element.layer import ElasticLayer
from foundation.finite_element.size import LayerSize, check_memory, size_of
from foundation.finite_element.triangle_values import TriangleValues
from foundation.surface_contact import NodalContact, PressurePlaces
from foundation.surfaces.compartments import check_labels
from foundation.surfaces.femur_patches import PLANE_REACH, femur_patches
from foundation.surfaces.mesh import TriangleMesh
from foundation.surfaces.smooth_surface import smooth_surface

PRECISIONS = ("float64", "float32")

#: Width of the layer beyond a compartment that is meshed with it [m]: what is farther away is moved
#: by less than 1e-4 of the indentation.
_BEYOND = 6e-3


class FiniteElementContact(NodalContact):
    """Contact of a femoral surface, rigid or with a layer, with a linear-elastic layer.

    The layer of each compartment is meshed by hexahedra and condensed once to the normal
    displacements of its bearing surface; at a pose, the nodal forces solve a complementarity
    problem (docs/finite_element.md). Loads are the gradient of the elastic energy: the forces act
    along the normals of the femur, without friction. Loads raise `PoseError` where two layers
    overlap so far that their compliance is not positive definite; flags name a compartment and what
    limits its loads (docs/finite_element.md).

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
        self.store = ComplianceStore(folder, check_in("precision", precision, PRECISIONS))
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
            femur, smooth_surface(femur), curved=True, reach=PLANE_REACH * radius
        )

    def _meshed(self, side: int) -> MeshedLayer:
        own, at = self.compartments == side, self.tibia.centroids
        inside = own & self.candidates
        around = own | (np.asarray(KDTree(at[own]).query(at)[0]) < _BEYOND)
        layer = self.layer
        chart = tibial_chart(self.tibia, own, upright=layer.base.upright, axes=layer.axes)
        return meshed_layer(self.tibia, inside, around, chart, layer, self.spacing, self.growth)

    def with_spacing(self, spacing: float) -> Self:
        """Return the same model with another distance of the nodes [m].

        The thicknesses of the elements are in proportion: `growth` becomes its power of the ratio.
        """
        ratio = spacing / self.spacing
        return self._like(
            spacing=spacing,
            femur_spacing=self.femur_spacing * ratio,
            growth=min(self.growth**ratio, 2.0),
        )

    def with_material(
        self, youngs_modulus: float | None = None, poissons_ratio: float | None = None
    ) -> Self:
        """Return the same model with another material of the tibial layer.

        Parameters
        ----------
        youngs_modulus : float, optional
            Young's modulus [Pa]; by default that of the layer.
        poissons_ratio : float, optional
            Poisson's ratio [1]; by default that of the layer.

        Raises
        ------
        InputError
            If a value is out of range.
        """
        given = {"youngs_modulus": youngs_modulus, "poissons_ratio": poissons_ratio}
        changes = {name: value for name, value in given.items() if value is not None}
        return self._like(layer=replace(self.layer, **changes))

    def _like(self, **changes: Any) -> Self:
        arguments: dict[str, Any] = {
            "layer": self.layer,
            "femur_layer": self.femur_layer,
            "spacing": self.spacing,
            "femur_spacing": self.femur_spacing,
            "growth": self.growth,
            "compartments": self.compartments,
            "compartment_names": self.compartment_names,
            "candidates": self.candidates,
            "precision": self.store.precision,
            "folder": self.store.folder,
            "search_depth": self._reach,
        }
        return type(self)(self.femur, self.tibia, **(arguments | changes))

    def _compliance(self, side: int) -> FloatArray:
        layer = self.layers[side]
        return self.store.get(layer.digest, len(layer.candidates), lambda: layer.body)

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
        """SHA-256 of everything that determines the loads."""
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

    def _states(
        self, pose: Pose, sides: Sequence[int], *, jacobian: bool = False, energy: bool = False
    ) -> list[PatchState]:
        return [self.contacts[side].state(pose, self._femur, jacobian=jacobian) for side in sides]

    def _flags(self, pose: Pose, side: int, state: PatchState) -> tuple[Flag, ...]:
        return all_flags(self.compartment_names[side], self.contacts[side], state)

    def _refusals(self, pose: Pose, side: int, state: PatchState) -> tuple[Flag, ...]:
        return refusals(self.compartment_names[side], self.contacts[side], state)

    def indentation(self, pose: Pose, compartment: str) -> float:
        """Return the largest overlap of a compartment with the femur [m], 0 out of contact.

        Parameters and exceptions as of `compartment_loads`; found without the forces.
        """
        return self.contacts[self._index(compartment)].indentation(pose, self._femur)

    def spring_state(self, pose: Pose) -> SpringState:
        """Return overlap and pressure at the middle of every tibial triangle."""
        found = np.zeros((2, len(self.tibia.faces)))
        for values, state in zip(
            self.triangle_values, self._states(pose, self._sides), strict=True
        ):
            found[0, values.triangles] = values.interpolated(state.overlaps_in_contact)
            found[1, values.triangles] = values.interpolated(state.pressures)
        return SpringState(frozen(found[0]), frozen(found[1]))

    def pressure_places(self, compartment: str) -> PressurePlaces:
        """Return the candidate nodes of a compartment; InputError if the name is unknown.

        The pressures of the triangles, interpolated between the nodes, have corners at the nodes.
        """
        side = self._index(compartment)
        layer, values = self.layers[side], self.triangle_values[side]
        return PressurePlaces(
            layer.points,
            layer.normals,
            layer.areas,
            values.triangles,
            values.corners,
            values.shares,
        )

    def place_state(self, pose: Pose, compartment: str) -> SpringState:
        """Return overlap (C,) [m] and pressure (C,) [Pa] at the candidate nodes of a compartment.

        The overlap is that of the undeformed surfaces, in contact or not; it is 0 where the
        surfaces are apart. Exceptions as of `compartment_loads`.
        """
        (state,) = self._states(pose, [self._index(compartment)])
        return SpringState(frozen(state.overlaps), frozen(state.pressures))

    @cached_property
    def triangle_values(self) -> tuple[TriangleValues, ...]:
        """Interpolation from the nodes to the triangles of each compartment."""
        return tuple(
            TriangleValues(
                self.tibia, np.flatnonzero((self.compartments == side) & self.candidates), layer
            )
            for side, layer in enumerate(self.layers)
        )
