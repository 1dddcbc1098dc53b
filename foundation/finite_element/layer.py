"""Elastic layer of one body: material and base."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from foundation.base.checks import FloatArray, check_array, check_fields, check_number, frozen
from foundation.base.errors import InputError
from foundation.finite_element.surface_grid import SurfaceGrid
from foundation.surfaces.femur_patches import LineTracer
from foundation.surfaces.smooth_surface import flat_surface
from foundation.surfaces.thickness import check_place, check_solid, filled_from_nearest
from foundation.surfaces.triangle_mesh import UNIT_NORMAL, TriangleMesh

#: Least and largest thickness of a layer [m].
_THINNEST, _THICKEST = 0.1e-3, 0.1
#: Distance within which surface and solid count as the same surface [m].
_TOLERANCE = 0.5e-3


class Base(Protocol):
    """Base of a layer."""

    #: Whether the columns of the mesh run along the lines of the chart, not along the normals.
    upright: bool
    #: Whether the sides of the layer along its rim do not move either.
    held_sides: bool

    def below(self, grid: SurfaceGrid, surface: TriangleMesh) -> FloatArray:
        """Return the point of the base (C, 3) [m] below each node of a grid on the surface."""
        ...

    def below_worn(self, depth: FloatArray) -> Base:
        """Return the same base below a surface lowered by (V,) [m] at its vertices."""
        ...


@dataclass(frozen=True)
class PlaneBase:
    """The plane of the points x with x · normal = height; the layer lies above the plane.

    Parameters
    ----------
    height : float
        Distance of the plane from the origin [m].
    normal : (3,) float64
        Unit vector out of the base into the layer [1]; by default superior, for the plane
        y = `height`.
    """

    height: float = 0.0
    normal: tuple[float, float, float] = (0.0, 1.0, 0.0)
    upright, held_sides = True, False

    def __post_init__(self) -> None:
        check_number("height of the base", self.height, unit="m")
        normal = check_array("normal", self.normal, (3,))
        if abs(np.linalg.norm(normal) - 1.0) > UNIT_NORMAL:
            raise InputError(f"normal: expected a unit vector, found {normal.tolist()}")
        object.__setattr__(self, "normal", tuple(normal.tolist()))

    def below(self, grid: SurfaceGrid, surface: TriangleMesh) -> FloatArray:
        """Return the point of the base (C, 3) [m] below each node of a grid on the surface.

        Along the lines of the chart. Raises `InputError` if the layer is thinner than 0.1 mm or
        thicker than 100 mm somewhere.
        """
        normal = np.array(self.normal)
        heights = grid.points @ normal
        lowest, highest = float(heights.min()), float(heights.max())
        y = "y" if self.normal == (0.0, 1.0, 0.0) else "height"
        if lowest - self.height < _THINNEST:
            raise InputError(
                f"{surface.name}: the base is the plane {y} = {1e3 * self.height:g} mm, but the "
                f"surface reaches down to {y} = {1e3 * lowest:.2f} mm: the base overlaps the "
                f"surface; expected a layer of at least {1e3 * _THINNEST:g} mm"
            )
        if highest - self.height > _THICKEST:
            raise InputError(
                f"{surface.name}: the base is the plane {y} = {1e3 * self.height:g} mm, but the "
                f"surface reaches up to {y} = {1e3 * highest:.2f} mm; expected a layer of at most "
                f"{1e3 * _THICKEST:g} mm: give metres, not millimetres"
            )
        depth = (heights - self.height) / (grid.lines @ normal)
        return grid.points - depth[:, None] * grid.lines

    def below_worn(self, depth: FloatArray) -> PlaneBase:
        """Return the same base below a surface lowered by (V,) [m] at its vertices."""
        return self


@dataclass(frozen=True, eq=False)
class ThicknessBase:
    """A given thickness along minus the normals, as of cartilage.

    Cartilage thins out at its rim, into the bone: the sides of the layer do not move.

    Parameters
    ----------
    thickness : float or (V,) float64
        Thickness [m], the same everywhere or one per vertex of the surface.
    """

    thickness: float | FloatArray
    upright, held_sides = False, True

    def __post_init__(self) -> None:
        values = np.atleast_1d(check_array("thickness", self.thickness))
        check_array("thickness", values, (None,), at_least=_THINNEST, unit="m")
        # The largest of no thickness is not finite.
        check_number("thickness", values.max(initial=-np.inf), at_most=_THICKEST, unit="m")
        object.__setattr__(self, "thickness", frozen(values))

    def below(self, grid: SurfaceGrid, surface: TriangleMesh) -> FloatArray:
        """Return the point of the base (C, 3) [m] below each node of a grid on the surface.

        Raises `InputError` if the number of thicknesses is not that of the vertices.
        """
        values = np.atleast_1d(self.thickness)
        if len(values) == 1:
            depth = np.full(len(grid.points), values[0])
        elif len(values) == len(surface.vertices):
            depth = (grid.weights * values[surface.faces[grid.facet]]).sum(axis=1)
        else:
            raise InputError(
                f"thickness: expected one per vertex of {surface.name} ({len(surface.vertices)}), "
                f"found {len(values)}"
            )
        return grid.points - depth[:, None] * grid.normals

    def below_worn(self, depth: FloatArray) -> ThicknessBase:
        """Return the same base below a surface lowered by (V,) [m] at its vertices.

        A single thickness is nominal and remains.
        """
        single = np.size(self.thickness) == 1
        return self if single else ThicknessBase(self.thickness - depth)


@dataclass(frozen=True, eq=False)
class SolidBase:
    """The underside of a closed solid of which the bearing surface is a part.

    Parameters
    ----------
    solid : TriangleMesh
        Closed solid [m], frame of the surface, normals outwards.
    worn : float
        Largest depth by which the surface is lowered into the solid [m].
    """

    solid: TriangleMesh
    worn: float = 0.0
    upright, held_sides = True, False

    def below(self, grid: SurfaceGrid, surface: TriangleMesh) -> FloatArray:
        """Return the point of the base (C, 3) [m] below each node of a grid on the surface.

        Along the lines of the chart. At the rim, where a line misses the solid, the base lies as
        deep as under the nearest node with an underside. Raises `MeshError` if the solid is open,
        inside out, in another unit or elsewhere (`foundation.surfaces.thickness`).
        """
        check_solid(surface, self.solid)
        tracer = LineTracer(flat_surface(self.solid), curved=False)
        starts = grid.points - _TOLERANCE * grid.lines
        inside = tracer.exits(starts, grid.lines, 2.0 * _TOLERANCE + self.worn).facet >= 0
        check_place(surface, self.solid, ~inside[~grid.border], _TOLERANCE)
        reach = float(np.linalg.norm(np.ptp(self.solid.vertices, axis=0)))
        hits = tracer.exits(starts, -grid.lines, reach)
        valid = inside & (hits.facet >= 0)
        depth = filled_from_nearest(grid.points, _TOLERANCE + hits.distance, valid)
        return grid.points - depth[:, None] * grid.lines

    def below_worn(self, depth: FloatArray) -> SolidBase:
        """Return the same base below a surface lowered by (V,) [m] at its vertices."""
        return SolidBase(self.solid, self.worn + float(depth.max()))


#: Largest deviation of a rotation matrix from orthogonality.
_UNIT = 1e-9


@dataclass(frozen=True, eq=False)
class ElasticLayer:
    """A linear-elastic layer between a bearing surface and a base on which it does not move.

    Parameters
    ----------
    youngs_modulus : float
        Young's modulus [Pa].
    poissons_ratio : float
        Poisson's ratio [1].
    base : Base
        Where the layer ends, see `foundation.finite_element.layer`.
    axes : (3, 3) float64, optional
        Anterior, superior and lateral axis of the component with the layer, as rows of a rotation
        matrix [1], along which the tibial layer is meshed; by default those of the frame.
    """

    youngs_modulus: float
    poissons_ratio: float
    base: Base
    axes: FloatArray | None = None

    def __post_init__(self) -> None:
        check_number("youngs_modulus", self.youngs_modulus, above=0.0, unit="Pa")
        check_number("poissons_ratio", self.poissons_ratio, above=-1.0, at_most=0.4999)
        if not hasattr(self.base, "below"):
            raise InputError(
                f"base: expected PlaneBase, SolidBase or ThicknessBase, found {self.base!r}"
            )
        check_fields(self, axes=(3, 3))
        if self.axes is not None and not _is_rotation(self.axes):
            raise InputError(
                f"axes: expected rows of a rotation matrix, found {self.axes.tolist()}"
            )


def _is_rotation(axes: FloatArray) -> bool:
    return np.allclose(axes @ axes.T, np.eye(3), atol=_UNIT) and float(np.linalg.det(axes)) > 0.0
