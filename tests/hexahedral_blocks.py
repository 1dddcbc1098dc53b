"""Cubes of hexahedra, their stiffness assembled element by element, and a sparse solver."""

import numpy as np

from foundation.finite_element.condensation import CORNERS, stiffness

E, NU = 10e6, 0.45


def block(cells, size=1.0, moved=0.0, seed=0):
    """Nodes (N, 3), their indices on a grid, and hexahedra of a cube; inner nodes moved."""
    line = np.linspace(0.0, size, cells + 1)
    nodes = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3)
    inner = ((nodes > 0.0) & (nodes < size)).all(axis=1)
    steps = np.random.default_rng(seed).uniform(-1.0, 1.0, nodes.shape)
    nodes = nodes + moved * size / cells * inner[:, None] * steps
    index = np.arange(len(nodes)).reshape(cells + 1, cells + 1, cells + 1)
    offsets = ((CORNERS + 1) / 2).astype(int)
    first = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), -1).reshape(-1, 1, 3)
    at = first + offsets
    return nodes, index[at[..., 0], at[..., 1], at[..., 2]], index


def assembled(nodes, hexahedra, poissons_ratio=NU):
    size = 3 * len(nodes)
    matrix = np.zeros((size, size))
    for nodes_of, own in zip(
        hexahedra, stiffness(nodes[hexahedra], E, poissons_ratio), strict=True
    ):
        unknowns = (3 * nodes_of[:, None] + np.arange(3)).ravel()
        matrix[np.ix_(unknowns, unknowns)] += own
    return matrix
