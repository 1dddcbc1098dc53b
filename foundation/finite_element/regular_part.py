"""Compliance of a condensed layer without the compliance of a flat layer: smooth between nodes."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from foundation.base.checks import FloatArray
from foundation.core.library import CORE, address, addresses
from foundation.finite_element.condensed_layer import MeshedLayer
from foundation.layer_theory.flat_layer import PER_STEP, deficit_table, own_part, strength

#: Weights of a node, its neighbours and the neighbours beyond along a grid line. The filter leaves
#: cubics as they are and removes what changes its sign from node to node.
_WEIGHTS = (0.625, 0.25, -0.0625)
#: The same at the second line from the border.
_BESIDE_BORDER = (0.5, 0.25)


def own_parts(layer: MeshedLayer) -> FloatArray:
    """Return `own_part` of each candidate (C,) [1/m], the grid being the lattice."""
    grid = layer.mesh.grid
    beside, points = grid.neighbours[layer.candidates], grid.points
    edges = []
    for axis in range(2):
        ahead, back = beside[:, axis, 0], beside[:, axis, 1]
        one_sided = (ahead < 0) | (back < 0)
        ahead = np.where(ahead < 0, layer.candidates, ahead)
        back = np.where(back < 0, layer.candidates, back)
        edges.append((points[ahead] - points[back]) * np.where(one_sided, 1.0, 0.5)[:, None])
    return own_part(*edges)


def regular_part(layer: MeshedLayer, compliance: FloatArray) -> FloatArray:
    """Return the compliance (C, C) less that of a flat layer [m/N], smooth over the grid."""
    material = layer.layer
    regular = np.array(compliance, dtype=np.float64)
    table, own = deficit_table(material.poissons_ratio), own_parts(layer)
    points, thickness = layer.points, layer.thickness
    CORE.subtract_flat(
        address(table), len(table), PER_STEP,
        strength(material.youngs_modulus, material.poissons_ratio),
        len(points), *addresses(points, thickness, own, regular),
    )  # fmt: skip
    # Elements do not resolve the singular part between nodes next to each other.
    smoothing = _filter(layer, 0) @ _filter(layer, 1)
    half = smoothing @ regular
    return np.asarray(smoothing @ half.T)


def _filter(layer: MeshedLayer, axis: int) -> sparse.csr_array:
    """Return the filter along grid lines of one direction, (C, C) [1]."""
    beside = layer.neighbours[:, axis].astype(np.int64)
    own = np.arange(len(beside))
    inner = (beside >= 0).all(axis=1)
    beyond = np.stack([beside[beside[:, 0], 0], beside[beside[:, 1], 1]], axis=1)
    deep = inner & (beyond >= 0).all(axis=1)
    middle = np.where(deep, _WEIGHTS[0], np.where(inner, _BESIDE_BORDER[0], 1.0))
    rows, columns, values = [own], [own], [middle]
    for k in range(2):
        rows += [own[inner], own[deep]]
        columns += [beside[inner, k], beyond[deep, k]]
        values += [
            np.where(deep, _WEIGHTS[1], _BESIDE_BORDER[1])[inner],
            np.full(int(deep.sum()), _WEIGHTS[2]),
        ]
    parts = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return sparse.csr_array(parts, shape=(len(own), len(own)))
