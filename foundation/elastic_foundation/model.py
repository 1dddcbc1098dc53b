"""The original model: elastic-foundation contact of the femur on the tibia."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
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
from foundation.elastic_foundation.confinement import confinement_flags, soft_layers
from foundation.elastic_foundation.coupled_springs import coupling_of
from foundation.elastic_foundation.dissipation import Dissipation as Dissipation
from foundation.elastic_foundation.femoral_thickness import corner_values
from foundation.elastic_foundation.kernel_sums import DEPTH, STRAIN, SpringSums
from foundation.elastic_foundation.laws import LayerLaw, SpringLaw
from foundation.elastic_foundation.spring_bed import curved_bed, flat_bed, law_on_bed, layers_on_bed
from foundation.elastic_foundation.springs import AT_REST, Springs, motion
from foundation.elastic_foundation.steep_sides import is_lone, steep_side, wall_thickness
from foundation.surface_contact import SurfaceContact, pressed_through
from foundation.surfaces.compartments import check_labels
from foundation.surfaces.femur_patches import PLANE_REACH, facet_order, femur_patches
from foundation.surfaces.mesh import TriangleMesh
from foundation.surfaces.nearest_points import SurfaceTree
from foundation.surfaces.smooth_surface import flat_surface, smooth_surface

#: Shapes of both surfaces between their vertices.
SURFACES = ("curved", "flat")


class ElasticFoundation(SurfaceContact):
    """Elastic-foundation contact between two triangulated condyle surfaces.

    The tibial surface is a bed of springs along its normals, independent or coupled (`CoupledLaw`);
    the indentation of a spring is the distance along minus the normal to the exit from the femur.
    See `foundation.elastic_foundation.spring_bed` for the positions of the springs and
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
        layer of the law [m], see `foundation.elastic_foundation.femoral_thickness`.

    Raises
    ------
    InputError
        If an argument is out of its range, the sizes do not agree, `conservative` is True for a
        law without an energy (the modified law, see `ModifiedLaw`), a coupled law comes with
        flat surfaces or with dissipation, or `femur_excess` comes with a modified or coupled law,
        with `conservative`, or leaves no thickness.
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
        coupling, sloped = coupling_of(law, layers.thicknesses), bool(layers.offsets.any())
        if coupling is not None and (self.surface != "curved" or self.dissipation.resisting):
            raise InputError(
                'surface and dissipation: expected "curved" and None with the coupled law, found '
                f'"{self.surface}" and {self.dissipation}'
            )
        if self.conservative and sloped:
            raise InputError(
                "conservative: this law has no stored energy, its pressures depend on the deepest "
                "point of the patch (f is finite); use f = inf or conservative = False"
            )
        if self._excess is not None:
            self._check_excess(float(self._excess.min()), coupling is not None or sloped)
        self._springs = Springs(
            self._femur,
            self._bed.arrays,
            law_on_bed(layers, self._excess),
            coupling,
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

        Raises
        ------
        InputError
            As the constructor.
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
        given = {"youngs_modulus": youngs_modulus, "poissons_ratio": poissons_ratio}
        changes = {name: value for name, value in given.items() if value is not None}
        return self.with_law(replace(self.law, **changes))

    def loads_in_motion(self, pose: Pose, rates: ArrayLike) -> ContactLoads:
        """Return the loads of a moving femur, with damping and friction.

        Parameters
        ----------
        pose : Pose
            Pose of the femur.
        rates : (6,) float64
            Rates of the pose coordinates [rad/s, m/s].

        Raises
        ------
        InputError
            If the rates are not six finite numbers.
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
        alone, middles = replace(self._springs, coupling=None), np.zeros((2, len(self.tibia.faces)))
        alone.evaluate(pose, self._chosen([side]), field=middles)
        lengths = middles[0]
        deepest = int(np.argmax(lengths))
        place = self.tibia.centroids[self._bed.triangle[deepest]]
        return steep_side(name, self._femur_tree, pose, place, float(lengths[deepest]))

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
