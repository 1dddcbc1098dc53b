"""Wear of many cycles, with the insert's surface lowered as it wears."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from dynamics.simulator.result import SimulationResult
from dynamics.wear.cycle_wear import Wear, WearLaw, bed_wear
from foundation.checks import FloatArray, check_array, check_number, frozen
from foundation.elastic_foundation.laws import SeriesLaw, SpringLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.errors import InputError
from foundation.surfaces.mesh import TriangleMesh
from foundation.surfaces.thickness import spring_normals


@dataclass(frozen=True, eq=False)
class WornInsert:
    """Wear of many cycles.

    Parameters
    ----------
    cycles : (B + 1,) float64
        Cycles done at the end of each block, from 0.
    volume : (B + 1, 2) float64
        Medial and lateral volume worn until then [m³].
    blocks : tuple of Wear
        Wear of one cycle at the start of each block.
    model : ElasticFoundation
        The contact at the end.
    wear : Wear
        Of all cycles, with the depth of each triangle, as on the surface when it was worn.
    """

    cycles: FloatArray
    volume: FloatArray
    blocks: tuple[Wear, ...]
    model: ElasticFoundation
    wear: Wear


def vertex_depths(tibia: TriangleMesh, depth: ArrayLike) -> FloatArray:
    """Return depths at the vertices, (V,) [m], that take the same volume as those of the triangles.

    Each is the mean of the triangles around it by area, which keeps the integral over the surface.

    Parameters
    ----------
    tibia : TriangleMesh
        Tibial surface [m].
    depth : (F,) float64
        Depth of each triangle [m], >= 0.

    Raises
    ------
    InputError
        If there is not one depth for each triangle, or one is negative.
    """
    depths = check_array("depth", depth, (len(tibia.faces),))
    if depths.min() < 0.0:
        raise InputError(f"depth: expected >= 0 m everywhere, found {depths.min():g} m")
    corners, count = tibia.faces.reshape(-1), len(tibia.vertices)
    areas = np.bincount(corners, np.repeat(tibia.areas, 3), count)
    worn = np.bincount(corners, np.repeat(tibia.areas * depths, 3), count)
    return np.divide(worn, areas, out=np.zeros(count), where=areas > 0.0)


def worn_model(model: ElasticFoundation, depth: ArrayLike) -> ElasticFoundation:
    """Return the contact with the tibial surface lowered along its normals.

    A tibial thickness given per triangle or vertex falls with the surface; one given as a number
    is the nominal thickness of the bed and stays.

    Parameters
    ----------
    model : ElasticFoundation
        The contact before.
    depth : (F,) float64
        Depth worn off each tibial triangle [m], >= 0.

    Raises
    ------
    InputError
        If the depths do not fit the mesh or wear through the insert, or the surface folds.
    """
    tibia = model.tibia
    lowered = vertex_depths(tibia, depth)
    normals = spring_normals(tibia)
    moved = TriangleMesh(tibia.vertices - lowered[:, None] * normals, tibia.faces, tibia.name)
    if tibia.vertex_normals is not None:
        # Known normals are kept, and turned as those estimated from the triangles turn.
        before = replace(tibia, vertex_normals=None)
        turned = normals + spring_normals(moved) - spring_normals(before)
        length = np.linalg.norm(turned, axis=1, keepdims=True)
        moved = replace(moved, vertex_normals=turned / length)
    return ElasticFoundation(
        model.femur,
        moved,
        _thinned(model.law, np.asarray(depth, dtype=np.float64), lowered),
        surface=model.surface,
        conservative=model.conservative,
        dissipation=model.dissipation,
        compartments=model.compartments,
        search_depth=model.search_depth,
    )


def extrapolate(
    model: ElasticFoundation,
    simulate_cycle: Callable[[ElasticFoundation], SimulationResult],
    law: WearLaw,
    cycles: float,
    blocks: int,
) -> WornInsert:
    """Return the wear of many cycles, the surface being lowered after each of some equal blocks.

    The wear of one cycle at the start of a block stands for the whole block, so that one block is
    linear extrapolation.

    Parameters
    ----------
    model : ElasticFoundation
        The contact of the unworn insert.
    simulate_cycle : callable
        Simulates a cycle with the contact that it is given.
    law : WearLaw
        Material of the insert.
    cycles : float
        How many in all, > 0.
    blocks : int
        How many blocks, >= 1.

    Raises
    ------
    InputError
        If an argument is out of its range, or a block wears through the insert; the message names
        the block.
    """
    check_number("cycles", cycles, above=0.0)
    count = int(check_number("blocks", blocks, at_least=1))
    each = cycles / count
    found: list[Wear] = []
    worn, depth = model, np.zeros(len(model.tibia.faces))
    for block in range(count):
        wear = bed_wear(worn, simulate_cycle(worn), law)
        found.append(wear)
        depth = depth + each * np.asarray(wear.depth)
        try:
            # Always from the unworn surface, so that no error adds up.
            worn = worn_model(model, depth)
        except InputError as error:
            raise InputError(
                f"block {block + 1} of {count}, {each:g} cycles each: {error}; take more blocks or "
                "fewer cycles"
            ) from error
    steps = each * np.array([wear.volume for wear in found])
    volume = np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
    total = Wear(volume[-1], law.density, depth)
    return WornInsert(
        frozen(np.linspace(0.0, cycles, count + 1)), frozen(volume), tuple(found), worn, total
    )


def _thinned(law: SpringLaw, by_triangle: FloatArray, by_vertex: FloatArray) -> SpringLaw:
    """Return the law with its tibial thickness lowered."""
    if isinstance(law, SeriesLaw):
        return replace(law, first=_thinned(law.first, by_triangle, by_vertex))
    thickness = np.asarray(getattr(law, "thickness", np.inf))
    depths = by_triangle if len(by_triangle) == thickness.size else by_vertex
    if (depths >= thickness).any():
        k = int(np.argmax(depths - thickness))
        raise InputError(
            f"depth: expected less than the thickness, found {1e3 * depths[k]:.3g} mm of "
            f"{1e3 * float(np.broadcast_to(thickness, depths.shape)[k]):.3g} mm"
        )
    return law.mapped(lambda before: before - depths)
