"""The layer of one compartment, condensed to the nodes at which the femur may touch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.base.files import replacing
from foundation.base.threads import one_thread
from foundation.core.library import LANES, Record, integers
from foundation.finite_element.condensation import ElasticBody, compliance
from foundation.finite_element.layer import ElasticLayer
from foundation.finite_element.layer_mesh import LayerMesh, layer_mesh
from foundation.finite_element.surface_grid import Chart, lay_grid
from foundation.surfaces.tree import build_tree, node_groups
from foundation.surfaces.triangle_mesh import TriangleMesh

#: Distance from the femur up to which nodes take part in the search for contact [m]. The surface
#: beside a patch rises by less.
MARGIN = 0.5e-3
#: Name of the elements in digests; a change that alters a compliance needs another name.
ELEMENTS = "incompatible modes 1"
#: Fewest candidate nodes of a compartment.
_FEWEST = 25
#: Area of a node, in squares of the spacing, below which the node is a sliver of the rim; a corner
#: of the grid has 0.25.
_SLIVER = 0.2


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
            mesh.fixed | mesh.sides if layer.base.held_sides else mesh.fixed,
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
        nodes = self.mesh.grid.neighbours[self.candidates]
        return integers(np.where(nodes >= 0, self.number[nodes], -1))

    @cached_property
    def regular_neighbours(self) -> NDArray[np.intc]:
        """Neighbours (C, 2, 2) [1] that are not on the rim, where distances are unequal."""
        neighbours = self.neighbours
        return integers(np.where((neighbours >= 0) & self.at_rim[neighbours], -1, neighbours))

    @cached_property
    def quads(self) -> NDArray[np.intc]:
        """Quadrilaterals between candidates, (Q, 4) [1]."""
        quads = self.number[self.mesh.grid.quads]
        return integers(quads[(quads >= 0).all(axis=1)])

    @cached_property
    def quads_at(self) -> NDArray[np.intc]:
        """Quadrilaterals around each candidate, (C, 4) [1], -1 for none."""
        quads = np.full((len(self.candidates), 4), -1, dtype=np.intc)
        for k in range(4):
            quads[self.quads[:, k], k] = np.arange(len(self.quads))
        return quads

    @cached_property
    def areas(self) -> FloatArray:
        """Area of the surface that belongs to each candidate, (C,) [m²]."""
        return self.mesh.grid.areas[self.candidates]

    def pressures(self, active: IntArray, forces: FloatArray) -> FloatArray:
        """Return pressures (A,) [Pa] of nodal forces (A,) [N] at the active candidates (A,)."""
        pressures = forces / self.areas[active]
        for k in np.flatnonzero(self.areas[active] < _SLIVER * self.spacing**2):
            # A sliver bears the force of the surface beside it: the mean with its neighbours.
            around = [n for n in (active[k], *self.neighbours[active[k]].flat) if n >= 0]
            pressures[k] = forces[np.isin(active, around)].sum() / self.areas[around].sum()
        return pressures

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
        for array in (body.nodes, body.hexahedra, body.fixed, body.retained, body.directions):
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


class ComplianceStore:
    """Compliances in a folder, `<digest>.npy` for each body, or in memory."""

    def __init__(self, folder: str | Path | None) -> None:
        self.folder = None if folder is None else Path(folder)
        self._kept: dict[str, FloatArray] = {}

    def __getstate__(self) -> dict[str, object]:
        # Other processes map the files; arrays without a file must travel.
        return self.__dict__ | ({"_kept": {}} if self.folder is not None else {})

    def path(self, digest: str) -> Path | None:
        """Return the file of the body with a digest; None without a folder."""
        return None if self.folder is None else self.folder / f"{digest}.npy"

    def is_kept(self, digest: str, count: int) -> bool:
        """Return whether the body with a digest and `count` retained nodes is condensed already."""
        path = self.path(digest)
        return digest in self._kept or (path is not None and _read(path, count) is not None)

    def get(
        self,
        digest: str,
        count: int,
        body: Callable[[], ElasticBody],
        change: Callable[[FloatArray], FloatArray] | None = None,
    ) -> FloatArray:
        """Return the compliance (C, C) [m/N] of a body; condense if no whole array is kept."""
        if digest not in self._kept:
            path = self.path(digest)
            if path is None:
                self._kept[digest] = self._condensed(body(), change)
            else:
                matrix = _read(path, count)
                if matrix is None:
                    _write(path, self._condensed(body(), change))
                    matrix = _read(path, count)
                if matrix is None:
                    raise InputError(
                        f"{path}: expected the compliance that was just written, found a file that "
                        "cannot be read; check disk and folder"
                    )
                self._kept[digest] = matrix
        return self._kept[digest]

    def _condensed(
        self, body: ElasticBody, change: Callable[[FloatArray], FloatArray] | None
    ) -> FloatArray:
        matrix = compliance(body)
        return np.ascontiguousarray(matrix if change is None else change(matrix))


class Kept(NamedTuple):
    """A layer, the digest of what is kept, and the function that computes this, (C, C) [m/N]."""

    layer: MeshedLayer
    digest: str
    get: Callable[[], FloatArray]


def condense(
    layers: list[Kept], store: ComplianceStore, progress: Callable[[str], None] | None
) -> None:
    """Condense the layers that a store does not keep yet, side by side; report to `progress`."""
    new = [
        entry for entry in layers if not store.is_kept(entry.digest, len(entry.layer.candidates))
    ]
    if progress is not None and new:
        unknowns = sum(3 * len(entry.layer.mesh.nodes) for entry in new)
        nodes = sum(len(entry.layer.candidates) for entry in new)
        progress(f"condensing {unknowns:,} unknowns to the normal forces at {nodes:,} nodes")
    # One thread of BLAS each, so that the bits do not depend on the number of cores.
    with one_thread, ThreadPoolExecutor() as pool:
        list(pool.map(lambda entry: entry.get(), layers))


def _read(path: Path, count: int) -> FloatArray | None:
    """Return the array (count, count) of a file, mapped; None where there is no such array."""
    try:
        # A plain array over the mapped file: a memmap is slow to index.
        array = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError):
        return None
    # The kernels read the array without checks of their indices.
    whole = array.shape == (count, count) and array.dtype == np.float64
    return array if whole and array.flags.c_contiguous else None


def _write(path: Path, array: FloatArray) -> None:
    """Write a file under another name first: an interrupted run leaves no half of a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial, partial.open("wb") as file:
            np.save(file, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(
            f"{path}: the condensed compliance cannot be written ({error.strerror}); make the "
            f"folder writable, and free {1e-9 * array.nbytes:.1g} GB on the disk"
        ) from error


#: Seconds of the condensation per candidate squared and per unknown, of one core (measured).
_PER_CANDIDATE_SQUARED, _PER_UNKNOWN = 5e-7, 8e-5
#: Arrays of candidates squared that the condensation needs at a time, in double precision.
_ARRAYS = 4.0
#: Bytes of an unknown in the condensation.
_BYTES_PER_UNKNOWN = 200.0
#: Part of the memory of the machine that a condensation may take.
_USABLE = 0.9


@dataclass(frozen=True)
class LayerSize:
    """Size of the layers of a knee."""

    #: Nodes that may come into contact, per layer: medial and lateral, tibial layers first.
    candidates: tuple[int, ...]
    #: Of the mesh of each layer.
    unknowns: tuple[int, ...]
    #: Of the condensation of all layers side by side [bytes].
    memory: float
    #: Of the compliances, which all processes share [bytes].
    storage: float
    #: Estimate for the condensation on one core [s].
    seconds: float


def size_of(layers: list[MeshedLayer]) -> LayerSize:
    """Return the size of layers."""
    candidates = tuple(len(layer.candidates) for layer in layers)
    unknowns = tuple(3 * len(layer.mesh.nodes) for layer in layers)
    return LayerSize(
        candidates,
        unknowns,
        memory=_memory(candidates) + _BYTES_PER_UNKNOWN * sum(unknowns),
        storage=float(sum(8 * c * c for c in candidates)),
        seconds=sum(
            _PER_CANDIDATE_SQUARED * c * c + _PER_UNKNOWN * u
            for c, u in zip(candidates, unknowns, strict=True)
        ),
    )


def check_area(name: str, area: float, spacing: float) -> None:
    """Raise an InputError, before anything is meshed, if too many nodes fit on an area [m²]."""
    nodes = area / spacing**2
    check_memory(
        _memory([nodes]), f"a {name} compartment of {1e4 * area:.3g} cm² has {nodes:,.0f} nodes"
    )


def check_memory(needed: float, what: str) -> None:
    """Raise an InputError about `what` if it needs more memory [bytes] than there is."""
    available = machine_memory()
    if available is not None and needed > _USABLE * available:
        raise InputError(
            f"{{name}}: {what}, and the condensation needs {1e-9 * needed:,.1f} GB of memory "
            f"(expected at most {_USABLE:.0%} of the {1e-9 * available:.1f} GB of this machine); "
            "increase {name}, or check the unit of the surfaces",
            "spacing",
        )


def machine_memory() -> float | None:
    """Return the memory of this machine [bytes]; None where the system does not tell."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows
        return None


def _memory(candidates: Sequence[float]) -> float:
    """Return the memory of the dense arrays of layers with numbers of candidates [bytes]."""
    return sum(8.0 * _ARRAYS * count * count for count in candidates)
