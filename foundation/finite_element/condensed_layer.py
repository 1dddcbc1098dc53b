"""The layer of one compartment, condensed to the nodes at which the femur may touch."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.core.library import LANES, Record, integers
from foundation.finite_element.charts import Chart
from foundation.finite_element.condensation import ElasticBody
from foundation.finite_element.layer import ElasticLayer
from foundation.finite_element.layer_mesh import LayerMesh, layer_mesh
from foundation.finite_element.surface_grid import lay_grid
from foundation.surfaces.tree import build_tree, node_groups
from foundation.surfaces.triangle_mesh import TriangleMesh

#: Distance from the femur up to which nodes take part in the search for contact [m]. The surface
#: beside a patch rises by less.
MARGIN = 0.5e-3
#: Name of the elements in digests; a change that alters a compliance needs another name.
ELEMENTS = "incompatible modes 1"
#: Fewest candidate nodes of a compartment.
_FEWEST = 25


@dataclass(frozen=True, eq=False)
class MeshedLayer:
    """Mesh of the layer under one compartment, and its candidate nodes (C,)."""

    #: It may reach beyond the compartment.
    mesh: LayerMesh
    #: Material and base.
    layer: ElasticLayer
    #: Bearing surface of the grid [m].
    surface: TriangleMesh
    #: Plane coordinates of the grid.
    chart: Chart
    #: Nodes (C,) of the grid at which the femur may touch, in the order of their bed.
    candidates: IntArray
    #: Distance of the grid lines [m].
    spacing: float

    @cached_property
    def points(self) -> FloatArray:
        """Positions of the candidates, (C, 3) [m]."""
        return self.mesh.grid.points[self.candidates]

    @cached_property
    def normals(self) -> FloatArray:
        """Unit outward normals at the candidates, (C, 3) [1]."""
        return self.mesh.grid.normals[self.candidates]

    @cached_property
    def thickness(self) -> FloatArray:
        """Thickness of the layer below each candidate, (C,) [m]."""
        grid = self.mesh.grid
        return np.linalg.norm(grid.points - self.mesh.nodes[: len(grid.points)], axis=1)[
            self.candidates
        ]

    @cached_property
    def body(self) -> ElasticBody:
        """The elastic body, with the normal displacements of the candidates retained."""
        mesh, layer = self.mesh, self.layer
        return ElasticBody(
            mesh.nodes,
            mesh.hexahedra,
            mesh.fixed,
            mesh.surface[self.candidates],
            self.normals,
            layer.youngs_modulus,
            layer.poissons_ratio,
        )

    @cached_property
    def bed(self) -> Record:
        """The candidates as a bed, the struct of `foundation/core/contact.h`."""
        return node_bed(self.points, self.normals, MARGIN)

    @cached_property
    def number(self) -> IntArray:
        """Number (N,) of each node of the grid among the candidates, -1 for the others."""
        number = np.full(len(self.mesh.grid.points), -1, dtype=np.int64)
        number[self.candidates] = np.arange(len(self.candidates))
        return number

    @cached_property
    def neighbours(self) -> NDArray[np.intc]:
        """Candidates along and against the grid lines of each, (C, 2, 2) [1], or -1."""
        found = self.mesh.grid.neighbours[self.candidates]
        return integers(np.where(found >= 0, self.number[found], -1))

    @cached_property
    def regular_neighbours(self) -> NDArray[np.intc]:
        """Neighbours (C, 2, 2) [1] that are not on the rim, where distances are unequal."""
        found = self.neighbours
        return integers(np.where((found >= 0) & self.at_rim[found], -1, found))

    @cached_property
    def quads(self) -> NDArray[np.intc]:
        """Quadrilaterals between candidates, (Q, 4) [1]."""
        quads = self.number[self.mesh.grid.quads]
        return integers(quads[(quads >= 0).all(axis=1)])

    @cached_property
    def quads_at(self) -> NDArray[np.intc]:
        """Quadrilaterals around each candidate, (C, 4) [1], -1 for none."""
        found = np.full((len(self.candidates), 4), -1, dtype=np.intc)
        for k in range(4):
            found[self.quads[:, k], k] = np.arange(len(self.quads))
        return found

    @cached_property
    def areas(self) -> FloatArray:
        """Area of the surface that belongs to each candidate, (C,) [m²]."""
        return self.mesh.grid.areas[self.candidates]

    @cached_property
    def at_rim(self) -> NDArray[np.bool_]:
        """Whether a candidate lies on the rim of the layer, (C,)."""
        return self.mesh.grid.border[self.candidates]

    @cached_property
    def at_end(self) -> NDArray[np.bool_]:
        """Whether the layer continues beyond a candidate without candidates, (C,)."""
        beside = self.mesh.grid.neighbours[self.candidates].reshape(-1, 4)
        return np.asarray(((beside >= 0) & (self.number[beside] < 0)).any(axis=1))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that determines the compliance."""
        body, content = self.body, hashlib.sha256()
        for array in (body.nodes, body.hexahedra, body.retained, body.directions):
            content.update(np.ascontiguousarray(array).tobytes())
        content.update(f"{ELEMENTS} {body.youngs_modulus!r} {body.poissons_ratio!r}".encode())
        return content.hexdigest()


def meshed_layer(
    surface: TriangleMesh,
    inside: NDArray[np.bool_],
    around: NDArray[np.bool_],
    chart: Chart,
    layer: ElasticLayer,
    spacing: float,
    growth: float,
) -> MeshedLayer:
    """Mesh the layer under the triangles `around` (F,); the femur may touch those `inside` (F,)."""
    # Cells are square inside; beyond, they grow by the factor `growth`.
    grid = lay_grid(surface, around, chart, spacing, fine=inside, growth=growth)
    mesh = layer_mesh(grid, layer.base.below(grid, surface), spacing, growth, surface.name)
    chosen = np.flatnonzero(inside[grid.facet])
    if len(chosen) < _FEWEST:
        raise InputError(
            f"{surface.name}: {len(chosen)} nodes {1e3 * spacing:g} mm apart fit on the "
            f"compartment, expected at least {_FEWEST}; decrease {{name}}",
            "spacing",
        )
    candidates = chosen[neighbourhood_order(grid.points[chosen])]
    return MeshedLayer(mesh, layer, surface, chart, candidates, spacing)


def neighbourhood_order(points: FloatArray) -> IntArray:
    """Return the order (C,) in which points (C, 3) [m] of a group of the bed follow each other."""
    return build_tree(points, points, LANES).order


def node_bed(points: FloatArray, normals: FloatArray, margin: float) -> Record:
    """Return a bed of nodes at points (C, 3) [m] with normals, listed up to a margin [m]."""
    tree = build_tree(points, points, LANES)
    leaves = tree.count > 0
    first, count = tree.first[leaves], tree.count[leaves]
    elements = np.arange(len(points))[:, None]
    return node_groups(
        points, normals, elements, first, count, bulge=np.full(len(points), margin), margin=margin,
        count_compartments=1, compartments=np.array([0, len(first)]),
    )  # fmt: skip
