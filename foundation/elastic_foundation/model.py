"""The original model: elastic-foundation contact of the femur on the tibia."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_in, check_number, frozen
from foundation.base.errors import InputError
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import COMPARTMENTS, MEAN_PRESSURE, PEAK_PRESSURE, ContactLoads
from foundation.base.loads import (
    SpringState as SpringState,
)
from foundation.base.pose import Pose, twist_jacobian
from foundation.elastic_foundation.laws import LayerLaw, SeriesLaw, SpringLaw
from foundation.elastic_foundation.springs import (
    AT_REST,
    DEPTH,
    STRAIN,
    Springs,
    SpringSums,
    confinement_flags,
    curved_bed,
    flat_bed,
    law_on_bed,
    layers_on_bed,
    motion,
    soft_layers,
)
from foundation.surface_contact import SurfaceContact, pressed_through
from foundation.surfaces.compartments import check_labels
from foundation.surfaces.femur_patches import PLANE_REACH, LineTracer, facet_order, femur_patches
from foundation.surfaces.smooth_surface import flat_surface, smooth_surface
from foundation.surfaces.surface_shape import is_closed
from foundation.surfaces.tree import SurfaceTree
from foundation.surfaces.triangle_mesh import TriangleMesh
from foundation.surfaces.worn_surface import lowered_surface, vertex_depths


@dataclass(frozen=True)
class Dissipation:
    """Damping (Hunt & Crossley 1975, J Appl Mech 42:440-445) and friction between femur and bed."""

    #: Factor c of p = p_elastic (1 + c d') with the rate of indentation d', p >= 0 [s/m].
    damping: float = 0.0
    #: Coefficient of Coulomb friction [1].
    friction: float = 0.0
    #: Speed vt of the regularisation |v| / sqrt(|v|² + vt²) of friction [m/s].
    transition_speed: float = 1e-3

    def __post_init__(self) -> None:
        check_number("damping", self.damping, at_least=0.0, unit="s/m")
        check_number("friction", self.friction, at_least=0.0)
        check_number("transition_speed", self.transition_speed, above=0.0, unit="m/s")

    @property
    def resisting(self) -> bool:
        """Whether there is damping or friction."""
        return self.damping > 0.0 or self.friction > 0.0


#: Peak over mean pressure, and length of a line in the femur over the distance of its start from
#: the surface, above which a spring is flagged [1] (measured over flexion and gait at 50 to 3000 N:
#: up to 3.6 and 2.3 on sound meshes of three knees and an implant, 5 to 12 and 4 to 190 at rounded
#: edges and a spike); shorter lines [m] are within the shape of the facets.
_PROPORTION, _SIDEWAYS, _SHORT = 3.0, 3.0, 0.2e-3
#: Depth below a facet where its wall begins, and farthest end of the wall [m].
_BELOW, _REACH = 1e-6, 0.1
#: Number of pieces of the femur among which the nearest point is sought.
_NEAR = 20


def is_lone(peak: float, mean: float) -> bool:
    """Return whether a peak pressure [Pa] is out of proportion to the mean: usual is twice."""
    return peak > _PROPORTION * mean


def steep_side(
    name: str, femur: SurfaceTree, pose: Pose, place: FloatArray, length: float
) -> tuple[Flag, ...]:
    """Return the flag of a compartment whose deepest spring, at (3,) [m], runs sideways."""
    # The indentation of a spring is the length of its line in the femur; the surface is nearer
    # where the line is far from perpendicular to it, as on an edge or a spike of the tibia, and a
    # spring behind the wall of a closed shell is outside the femur.
    if length <= _SHORT:
        return ()
    start = (place - pose.translation) @ pose.rotation_matrix
    nearest, _ = femur.nearest_points(start[None], _NEAR)
    distance = float(np.linalg.norm(nearest[0] - start))
    if length <= _SIDEWAYS * distance:
        return ()
    values = (*(1e3 * place).tolist(), 1e3 * length, 1e3 * distance)
    return (Flag(FlagKind.STEEP_SIDE, name, values),)


def wall_thickness(femur: TriangleMesh) -> float:
    """Return the median thickness of a closed femur along its normals [m]; infinite if open."""
    if not is_closed(femur):
        return float("inf")
    tracer = LineTracer(flat_surface(femur), curved=False)
    inward = -femur.normals
    return float(
        np.median(tracer.exits(femur.centroids + _BELOW * inward, inward, _REACH).distance)
    )


def corner_values(mesh: TriangleMesh, values: ArrayLike, *, curved: bool) -> FloatArray:
    """Return values at corners, (F, 3) [any unit], from one per triangle or vertex."""
    # On curved surfaces, corners at a vertex share the mean over its triangles by area, so that
    # loads are continuous in the pose; otherwise corners of a triangle share one value.
    excess, faces = check_array("femur_excess", values, (None,)), mesh.faces
    if len(excess) not in (len(faces), len(mesh.vertices)):
        raise InputError(
            f"femur_excess: expected one per femoral triangle ({len(faces)}) or vertex "
            f"({len(mesh.vertices)}), found {len(excess)}"
        )
    by_facet = len(excess) == len(faces)
    if not curved:
        per_facet = excess if by_facet else excess[faces].mean(axis=1)
        return np.repeat(per_facet[:, None], 3, axis=1)
    if by_facet:
        count, places = len(mesh.vertices), faces.ravel()
        areas = np.repeat(mesh.areas, 3)
        total = np.bincount(places, weights=areas, minlength=count)
        weighted = np.bincount(places, weights=areas * np.repeat(excess, 3), minlength=count)
        excess = weighted / np.where(total > 0.0, total, 1.0)
    return excess[faces]


#: Shapes of both surfaces between their vertices.
SURFACES = ("curved", "flat")


class ElasticFoundation(SurfaceContact):
    """Elastic-foundation contact between two triangulated condyle surfaces.

    The tibial surface is a bed of independent springs along its normals; the indentation of a
    spring is the distance along minus the normal to the exit from the femur.
    See `foundation.elastic_foundation.springs` for the positions of the springs and
    docs/theory.md for the equations.

    Parameters
    ----------
    femur, tibia : TriangleMesh
        Articular surfaces [m], femoral and tibial frame, normals out of the bone or component.
    law : SpringLaw
        Spring law; a thickness array has one value per tibial triangle or per tibial vertex.
    surface : {"curved", "flat"}
        Shape of both surfaces between their vertices: smooth patches, with a quadratic field of
        indentation on each tibial triangle; or plane facets, with one spring per triangle at its
        centroid (the rule of OpenSim-JAM, Smith et al. 2016, J Biomech Eng 138:021017).
    conservative : bool
        False: the force of a spring acts along its own normal (the customary bed), which has no
        potential. True: the loads are the gradient of the stored energy, the sum of A times the
        integral of p over the indentation.
    dissipation : Dissipation, optional
        Damping and friction; none by default.
    compartments : (F,) int8, optional
        Compartment of each tibial triangle, its place in `compartment_names`; by default 0
        everywhere for one compartment, and for two compartments from
        `foundation.surfaces.compartments.find_compartments`.
    compartment_names : sequence of str
        Names of the compartments.
    search_depth : float
        Largest indentation of the search [m].
    femur_excess : (T,) or (V,) float64, optional
        Thickness of the femoral layer at each femoral triangle or vertex beyond that of the last
        layer of the law [m].

    Raises
    ------
    InputError
        If an argument is out of its range, the sizes do not agree, `conservative` is True for a
        law without an energy (the modified law, see `ModifiedLaw`), or `femur_excess` comes with
        a modified law, with `conservative`, or leaves no thickness.
    """

    def __init__(
        self,
        femur: TriangleMesh,
        tibia: TriangleMesh,
        law: SpringLaw,
        *,
        surface: str = "curved",
        conservative: bool = False,
        dissipation: Dissipation | None = None,
        compartments: ArrayLike | None = None,
        compartment_names: Sequence[str] = COMPARTMENTS,
        search_depth: float = 20e-3,
        femur_excess: ArrayLike | None = None,
    ) -> None:
        self.femur = femur
        self.tibia = tibia
        self.surface = check_in("surface", surface, SURFACES)
        self.conservative = conservative
        self.dissipation = dissipation or Dissipation()
        self.search_depth = check_number(
            "search_depth", search_depth, above=0.0, at_most=0.1, unit="m"
        )
        labels, self.compartment_names = check_labels(tibia, compartments, compartment_names)
        self.compartments = frozen(labels)
        curved = surface == "curved"
        if curved:
            self._bed = curved_bed(tibia, smooth_surface(tibia), self.compartments)
        else:
            self._bed = flat_bed(tibia, self.compartments)
        patches = smooth_surface(femur) if curved else flat_surface(femur)
        self._femur = femur_patches(
            femur,
            patches,
            curved=curved,
            reach=PLANE_REACH * float(self._bed.arrays.radius.max()),
        )
        #: Excess at the corners of the femoral facets, in the order of the patches, (F, 3) [m].
        self._excess: FloatArray | None = None
        if femur_excess is not None:
            self._excess = corner_values(femur, femur_excess, curved=curved)[facet_order(patches)]
        self._set_law(law)

    def _set_law(self, law: SpringLaw) -> None:
        """Lay the layers of a law under the bed."""
        layers = self._layers = layers_on_bed(law, self.tibia, self._bed)
        self.law = law
        self._soft_layers = soft_layers(law, layers.thicknesses)
        sloped = bool(layers.offsets.any())
        if self.conservative and sloped:
            raise InputError(
                "conservative: this law has no stored energy, its pressures depend on the deepest "
                "point of the patch (f is finite); use f = inf or conservative = False"
            )
        if self._excess is not None:
            self._check_excess(float(self._excess.min()), sloped)
        self._springs = Springs(
            self._femur,
            self._bed.arrays,
            law_on_bed(layers, self._excess),
            self.search_depth,
            self.conservative,
        )

    def _check_excess(self, least: float, unfit: bool) -> None:
        """Raise an error unless the springs can have a femoral layer of varying thickness."""
        if unfit or self.conservative:
            raise InputError(
                "femur_excess: expected a linear or logarithmic law and conservative = False with "
                f"a femoral layer of varying thickness, found {type(self.law).__name__} and "
                f"conservative = {self.conservative}"
            )
        thinnest = float(self._layers.thicknesses[-1].min()) + least
        if not thinnest > 0.0:
            raise InputError(
                "femur_excess: expected a layer of the law that is thicker than the excess takes "
                f"away, found {1e3 * thinnest:.3g} mm where the layer is thinnest"
            )

    def with_law(self, law: SpringLaw, *, excess_scale: float = 1.0) -> ElasticFoundation:
        """Return a bed of another spring law over the same surfaces.

        Parameters
        ----------
        law : SpringLaw
            The law, with a thickness [m] as the constructor expects.
        excess_scale : float
            Factor of `femur_excess` [1].
        """
        other = copy(self)
        if self._excess is not None:
            other._excess = excess_scale * self._excess
        other._set_law(law)
        return other

    def with_material(
        self, youngs_modulus: float | None = None, poissons_ratio: float | None = None
    ) -> ElasticFoundation:
        """Return the same bed of another material.

        Parameters
        ----------
        youngs_modulus : float, optional
            E [Pa]; by default that of the bed.
        poissons_ratio : float, optional
            nu [1]; by default that of the bed.

        Raises
        ------
        InputError
            If a value is out of range, or the law has two layers (use `with_law`).
        """
        if not isinstance(self.law, LayerLaw):
            raise InputError(
                f"law: expected a law of one layer, found {type(self.law).__name__}; use with_law"
            )
        constants = {"youngs_modulus": youngs_modulus, "poissons_ratio": poissons_ratio}
        changes = {name: value for name, value in constants.items() if value is not None}
        return self.with_law(replace(self.law, **changes))

    def loads_in_motion(self, pose: Pose, rates: ArrayLike) -> ContactLoads:
        """Return the loads of a moving femur, with damping and friction.

        Parameters
        ----------
        pose : Pose
            Pose of the femur.
        rates : (6,) float64
            Rates of the pose coordinates [rad/s, m/s].
        """
        return self._contact_loads(pose, self._states(pose, self._sides, rates=rates))

    def spring_state(self, pose: Pose) -> SpringState:
        """Return indentation and pressure at the middle of every tibial triangle."""
        state = np.zeros((2, len(self.tibia.faces)))
        self._springs.evaluate(pose, self._chosen(self._sides), field=state)
        ordered = np.zeros_like(state)
        ordered[:, self._bed.triangle] = state
        return SpringState(frozen(ordered[0]), frozen(ordered[1]))

    def _states(
        self,
        pose: Pose,
        sides: Sequence[int],
        *,
        jacobian: bool = False,
        energy: bool = False,
        rates: ArrayLike | None = None,
    ) -> list[SpringSums]:
        moving, law = AT_REST, self.dissipation
        if rates is not None:
            twist = twist_jacobian(pose) @ check_array("rates", rates, (6,))
            moving = motion(twist, law.damping, law.friction, law.transition_speed)
        sums, by_twist = self._springs.evaluate(
            pose, self._chosen(sides), moving, jacobian=jacobian, energy=energy
        )
        by_pose = by_twist @ twist_jacobian(pose) if jacobian else by_twist
        return [SpringSums(sums[side], by_pose[side]) for side in sides]

    def _flags(self, pose: Pose, side: int, state: SpringSums) -> tuple[Flag, ...]:
        name = self.compartment_names[side]
        return (
            *pressed_through(name, float(state.sums[STRAIN])),
            *confinement_flags(name, self._soft_layers, state.sums),
            *self._refusals(pose, side, state),
        )

    def _refusals(self, pose: Pose, side: int, state: SpringSums) -> tuple[Flag, ...]:
        name, loads = self.compartment_names[side], state.loads
        if state.sums[DEPTH] > self._wall:
            values = 1e3 * float(state.sums[DEPTH]), 1e3 * self._wall
            return (Flag(FlagKind.THROUGH_WALL, name, values),)
        if not is_lone(loads[PEAK_PRESSURE], loads[MEAN_PRESSURE]):
            return ()
        field = np.zeros((2, len(self.tibia.faces)))
        self._springs.evaluate(pose, self._chosen([side]), field=field)
        indentations = field[0]
        deepest = int(np.argmax(indentations))
        place = self.tibia.centroids[self._bed.triangle[deepest]]
        return steep_side(name, self._femur_tree, pose, place, float(indentations[deepest]))

    def worn(self, depth: ArrayLike) -> ElasticFoundation:
        """Return the contact with the tibial triangles lowered by `depth` (F,) [m], >= 0."""
        return ElasticFoundation(
            self.femur,
            lowered_surface(self.tibia, depth, self.layer_thickness),
            _thinned(self.law, np.asarray(depth), vertex_depths(self.tibia, depth)),
            surface=self.surface,
            conservative=self.conservative,
            dissipation=self.dissipation,
            compartments=self.compartments,
            compartment_names=self.compartment_names,
            search_depth=self.search_depth,
        )

    @property
    def layer_thickness(self) -> FloatArray:
        """Thickness of the tibial layer at each triangle (F,) [m]."""
        law, faces = self.law, self.tibia.faces
        law = law.first if isinstance(law, SeriesLaw) else law
        thickness = np.asarray(getattr(law, "thickness", np.inf))
        by_vertex = thickness.size == len(self.tibia.vertices)
        return (
            thickness[faces].mean(axis=1) if by_vertex else np.broadcast_to(thickness, len(faces))
        )

    @cached_property
    def _wall(self) -> float:
        return wall_thickness(self.femur)

    @cached_property
    def _femur_tree(self) -> SurfaceTree:
        return SurfaceTree(self.femur.vertices[self.femur.faces])

    def _chosen(self, sides: Sequence[int]) -> NDArray[np.bool_]:
        """Return the choice (C,) of compartments."""
        chosen = np.zeros(len(self.compartment_names), dtype=np.bool_)
        chosen[list(sides)] = True
        return chosen


def _thinned(law: SpringLaw, by_triangle: FloatArray, by_vertex: FloatArray) -> SpringLaw:
    """Return the law with a smaller tibial thickness; a single one is nominal and remains."""
    if isinstance(law, SeriesLaw):
        return replace(law, first=_thinned(law.first, by_triangle, by_vertex))
    thickness = np.asarray(getattr(law, "thickness", np.inf))
    depths = by_triangle if len(by_triangle) == thickness.size else by_vertex
    return law.mapped(lambda before: before - depths)
