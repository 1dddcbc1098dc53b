"""The layer itself as the original model: finite-element contact of the femur on the tibia."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import Delaunay, KDTree

from foundation.base.checks import FloatArray, IntArray, check_array, check_number, frozen
from foundation.base.errors import InputError
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import (
    AREA,
    AXIAL_FORCE,
    CENTRE,
    COMPARTMENTS,
    PEAK_PRESSURE,
    SpringState,
)
from foundation.base.pose import Pose
from foundation.finite_element.compartment import CompartmentContact, PatchState
from foundation.finite_element.condensed_layer import (
    ComplianceStore,
    Kept,
    LayerSize,
    MeshedLayer,
    check_area,
    check_memory,
    condense,
    meshed_layer,
    size_of,
)
from foundation.finite_element.femoral_layer import LEAST_SPACING, femoral_layers
from foundation.finite_element.layer import ElasticLayer
from foundation.finite_element.surface_grid import tibial_chart
from foundation.surface_contact import NodalContact, PressurePlaces
from foundation.surfaces.compartments import check_labels
from foundation.surfaces.femur_patches import PLANE_REACH, femur_patches
from foundation.surfaces.smooth_surface import smooth_surface
from foundation.surfaces.triangle_mesh import MeshWarning, TriangleMesh
from foundation.surfaces.worn_surface import lowered_surface, vertex_depths


def check_layer(name: str, layer: Any) -> None:
    """Raise an InputError if the argument `name` is not an elastic layer."""
    if not isinstance(layer, ElasticLayer):
        raise InputError(f"{name}: expected an ElasticLayer, found {layer!r}")


def check_compartments(
    tibia: TriangleMesh,
    compartments: NDArray[np.int8],
    candidates: NDArray[np.bool_],
    spacing: float,
    names: tuple[str, ...],
) -> None:
    """Raise an InputError if a compartment (F,) faces down or is too large for the spacing [m]."""
    for side, name in enumerate(names):
        triangles = compartments == side
        up = float(tibia.area_vectors[triangles, 1].sum() / tibia.areas[triangles].sum())
        if up <= 0.0:
            raise InputError(
                f"{tibia.name}: the mean normal of the {name} compartment has the superior "
                f"component {up:.2f} (expected > 0, out of the layer); flip the normals, or check "
                "the axes"
            )
        check_area(name, float(tibia.areas[triangles & candidates].sum()), spacing)


def checked_candidates(
    compartments: NDArray[np.int8], candidates: ArrayLike | None, names: tuple[str, ...]
) -> NDArray[np.bool_]:
    """Return whether the femur may touch each triangle, (F,) [1], checked; all by default."""
    if candidates is None:
        return np.ones(len(compartments), dtype=np.bool_)
    chosen = check_array("candidates", candidates, (len(compartments),)) != 0.0
    for side, name in enumerate(names):
        if not (chosen & (compartments == side)).any():
            raise InputError(
                f"candidates: expected triangles of the {name} compartment, found none"
            )
    return chosen


class TriangleValues:
    """Interpolation, (T, 3) [1], from nodes of a layer to centroids of triangles above."""

    def __init__(self, tibia: TriangleMesh, triangles: IntArray, layer: MeshedLayer) -> None:
        self.triangles = triangles
        plane = layer.mesh.grid.plane[layer.candidates]
        places = layer.chart.coordinates(tibia.centroids[triangles])
        net = Delaunay(plane)
        simplex = net.find_simplex(places)
        self.corners: IntArray = net.simplices[simplex].astype(np.int64)
        transform = net.transform[simplex]
        first = np.einsum("tij,tj->ti", transform[:, :2], places - transform[:, 2])
        # Rounding leaves weights below zero on the edges of the net.
        self.shares = np.maximum(np.column_stack([first, 1.0 - first.sum(axis=1)]), 0.0)
        # Beyond the outermost nodes the nearest one counts.
        beyond = simplex < 0
        if beyond.any():
            nearest = np.asarray(KDTree(plane).query(places[beyond])[1])
            self.corners[beyond] = nearest[:, None]
            self.shares[beyond] = (1.0, 0.0, 0.0)

    def interpolated(self, values: FloatArray) -> FloatArray:
        """Return the values (T,) [Pa or m] at the triangles from those (C,) of the candidates."""
        return (self.shares * values[self.corners]).sum(axis=1)


#: Overlap over thickness up to which linear elasticity gives the peak pressure, and the error of
#: the peak pressure there [%], measured once (docs/finite_element.md).
LINEAR_STRAIN_LIMIT, _LINEAR_ERROR = 0.14, 5.0
#: Largest sharpness of a peak pressure within about 2 % of the truth (accuracy.finite_elements).
SHARPEST = 0.25

#: Poisson's ratios, and bounds of the error of force and area at an approach over the node spacing
#: in half widths of the patch (make bench ARGS=accuracy.nearly_incompressible); in between linear
#: in the logarithm of 1 - 2ν.
_RATIOS = np.array([0.48, 0.49, 0.499, 0.4999])
_FORCE_ERRORS, _AREA_ERRORS = (0.10, 0.15, 0.27, 0.65), (0.2, 0.3, 0.6, 1.3)
#: Bound of the error of the force over (spacing / half width)³ min(spacing / thickness, 1)², at any
#: ratio (measured up to 0.48); that of the area is twice as large.
_THIN = 3.8
#: Least error of the force that is flagged.
_SAID = 0.02

#: Least width of a patch whose peak pressure is resolved, in node spacings.
_RESOLVED = 2.0 / SHARPEST**0.5
#: Kinds of flags without a limit of the peak pressure as nodes get closer.
_NO_LIMIT = frozenset({FlagKind.RIM, FlagKind.UNRESOLVED_PEAK})


def refusals(name: str, contact: CompartmentContact, state: PatchState) -> tuple[Flag, ...]:
    """Return why the loads of the compartment `name` are invalid in a state."""
    femoral, flags = contact.femoral, []
    if contact.layer.at_end[state.active].any():
        flags.append(Flag(FlagKind.END_OF_NODES, name))
    if femoral is not None and femoral.layer.at_end[state.leaves_femur].any():
        flags.append(Flag(FlagKind.END_OF_FEMORAL_NODES, name))
    return tuple(flags)


def all_flags(name: str, contact: CompartmentContact, state: PatchState) -> tuple[Flag, ...]:
    """Return the refusals, and the warnings about peak pressure, rims and strain."""
    femoral, flags = contact.femoral, [*refusals(name, contact, state)]
    if contact.layer.at_rim[state.active].any():
        flags.append(Flag(FlagKind.RIM, name))
    elif state.sharpness > SHARPEST:
        flags.append(Flag(FlagKind.UNRESOLVED_PEAK, name, (_RESOLVED,)))
    if femoral is not None and femoral.layer.at_rim[state.leaves_femur].any():
        flags.append(Flag(FlagKind.FEMORAL_RIM, name))
    flags.extend(_flow(name, contact, state))
    strain = float(state.depth[1])
    if strain > LINEAR_STRAIN_LIMIT:
        numbers = strain, LINEAR_STRAIN_LIMIT, _LINEAR_ERROR
        flags.append(Flag(FlagKind.LARGE_STRAIN, name, numbers))
    return tuple(flags)


def _flow(name: str, contact: CompartmentContact, state: PatchState) -> tuple[Flag, ...]:
    """Return what the nodes miss of a thin or nearly incompressible layer at the patch's edge."""
    layer, ratio = contact.layer, contact.layer.layer.poissons_ratio
    if len(state.active) == 0:
        return ()
    half = float(np.sqrt(layer.areas[state.active].sum() / np.pi))
    per_half = layer.spacing / half
    per_thickness = min(layer.spacing / float(layer.thickness[state.active].min()), 1.0)
    force = _THIN * per_half**3 * per_thickness**2
    area = 2.0 * force
    if ratio > _RATIOS[0]:
        place, places = -np.log(1.0 - 2.0 * ratio), -np.log(1.0 - 2.0 * _RATIOS)
        force = max(force, per_half * float(np.interp(place, places, _FORCE_ERRORS)))
        area = max(area, per_half * float(np.interp(place, places, _AREA_ERRORS)))
    if force < _SAID:
        return ()
    numbers = ratio, 1e3 * layer.spacing, 1e3 * half, 100.0 * force, 100.0 * min(area, 1.0)
    return (Flag(FlagKind.COARSE_NODES, name, numbers),)


def peak_unresolved(flags: Iterable[Flag]) -> bool:
    """Return whether one of the flags of a pose says that a peak pressure is not resolved."""
    return any(flag.kind in _NO_LIMIT for flag in flags)


#: Width of the layer beyond a compartment that is meshed with it [m]: what is farther away is moved
#: by less than 1e-4 of the indentation.
_BEYOND = 6e-3


#: Width of the strip along the rim of the femur in which overlaps fade, in node spacings.
FADE = 0.5


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
        self.store = ComplianceStore(folder)
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
            femur,
            smooth_surface(femur),
            curved=True,
            reach=PLANE_REACH * radius,
            fade=FADE * spacing,
        )

    def _meshed(self, side: int) -> MeshedLayer:
        triangles, centroids = self.compartments == side, self.tibia.centroids
        inside = triangles & self.candidates
        around = triangles | (
            np.asarray(KDTree(centroids[triangles]).query(centroids)[0]) < _BEYOND
        )
        layer = self.layer
        chart = tibial_chart(self.tibia, triangles, upright=layer.base.upright, axes=layer.axes)
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
        constants = {"youngs_modulus": youngs_modulus, "poissons_ratio": poissons_ratio}
        changes: dict[str, Any] = {
            name: value for name, value in constants.items() if value is not None
        }
        return self._like(layer=replace(self.layer, **changes))

    def worn(self, depth: ArrayLike) -> Self:
        """Return the contact with the tibial triangles lowered by `depth` (F,) [m], >= 0."""
        tibia = lowered_surface(self.tibia, depth, self.layer_thickness)
        base = self.layer.base.below_worn(vertex_depths(self.tibia, depth))
        # The compliance of a worn layer serves a block of cycles, once.
        return self._like(tibia=tibia, layer=replace(self.layer, base=base), folder=None)

    @property
    def layer_thickness(self) -> FloatArray:
        """Thickness of the tibial layer at each triangle (F,) [m], the largest beyond the nodes."""
        largest = max(float(layer.thickness.max()) for layer in self.layers)
        thickness = np.full(len(self.tibia.faces), largest)
        for values, layer in zip(self.triangle_values, self.layers, strict=True):
            thickness[values.triangles] = values.interpolated(layer.thickness)
        return thickness

    def _like(self, **changes: Any) -> Self:
        arguments: dict[str, Any] = {
            "tibia": self.tibia,
            "layer": self.layer,
            "femur_layer": self.femur_layer,
            "spacing": self.spacing,
            "femur_spacing": self.femur_spacing,
            "growth": self.growth,
            "compartments": self.compartments,
            "compartment_names": self.compartment_names,
            "candidates": self.candidates,
            "folder": self.store.folder,
            "search_depth": self._reach,
        }
        return type(self)(self.femur, **(arguments | changes))

    def _compliance(self, side: int) -> FloatArray:
        layer = self.layers[side]
        return self.store.get(layer.digest, len(layer.candidates), lambda: layer.body)

    @property
    def size(self) -> LayerSize:
        """Numbers of nodes and unknowns, memory and estimated times."""
        return size_of(self._all_layers)

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

    def peaks_at_rim(self, pose: Pose, compartment: str) -> bool:
        """Return whether the peak pressure is at the rim, where it grows as nodes get closer."""
        side = self._index(compartment)
        (state,) = self._states(pose, [side])
        return bool(self.layers[side].at_rim[np.argmax(state.pressures)])

    def spring_state(self, pose: Pose) -> SpringState:
        """Return overlap and pressure at the middle of every tibial triangle."""
        fields = np.zeros((2, len(self.tibia.faces)))
        for values, state in zip(
            self.triangle_values, self._states(pose, self._sides), strict=True
        ):
            fields[0, values.triangles] = values.interpolated(state.overlaps_in_contact)
            fields[1, values.triangles] = values.interpolated(state.pressures)
        return SpringState(frozen(fields[0]), frozen(fields[1]))

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


#: Order of convergence in the spacing.
_ORDER = 2.0

Model = TypeVar("Model", bound=NodalContact)


@dataclass(frozen=True)
class SpacingError:
    """Root mean square of the estimated errors over poses and compartments in contact."""

    #: Error of the axial force, relative to the largest [1].
    force: float
    #: Error of the peak pressure, relative to the largest [1].
    peak_pressure: float
    #: Error of the area, relative to the largest [1].
    area: float
    #: Error of the centre of pressure [m].
    centre: float
    #: Number of poses.
    poses: int
    #: Poses with a flagged peak pressure: that of an edge has no limit to extrapolate to.
    unresolved: int


def extrapolated(coarse: FloatArray, fine: FloatArray, ratio: float = 2.0) -> FloatArray:
    """Return loads (..., 12) [N, N m, m², Pa, m] by Richardson's extrapolation."""
    return fine + (fine - coarse) / (ratio**_ORDER - 1.0)


def coarser(model: Model) -> Model:
    """Return the model with nodes twice as far apart, without repeated warnings about its mesh."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        return model.with_spacing(2.0 * model.spacing)


def spacing_error(model: NodalContact, poses: Sequence[Pose]) -> SpacingError:
    """Estimate the error of a model's spacing at poses, by extrapolation from twice the spacing."""
    second = coarser(model)
    loads = model.loads(poses)
    fine, coarse = loads.values, second.loads(poses).values
    error = extrapolated(coarse, fine) - fine
    touching = (fine[..., AXIAL_FORCE] > 0.0) & (coarse[..., AXIAL_FORCE] > 0.0)
    if not touching.any():
        raise InputError(
            "poses: expected poses in contact for the error of the node spacing, found none"
        )

    def relative(column: int) -> float:
        return _mean_square(error[..., column][touching]) / float(fine[..., column].max())

    moved = np.linalg.norm(error[..., CENTRE], axis=-1)[touching]
    return SpacingError(
        relative(AXIAL_FORCE),
        relative(PEAK_PRESSURE),
        relative(AREA),
        _mean_square(moved),
        len(poses),
        sum(map(peak_unresolved, loads.flags)),
    )


def _mean_square(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))
