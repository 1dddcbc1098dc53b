"""Compliance of a condensed layer without the compliance of a flat layer: smooth between nodes."""

from __future__ import annotations

import numpy as np

from foundation import kernels
from foundation.checks import FloatArray, IntArray
from foundation.finite_element.condensed_layer import MeshedLayer
from foundation.finite_element.flat_layer import PER_STEP, deficit_table, own_part, strength

#: Offsets in the grid up to which entries are replaced by those of a fit, and up to which entries
#: are fitted: elements of this size do not resolve the singular part nearer than that.
_REPLACED, _FITTED = 2, 5
#: Weight of the coefficients in a fit without enough entries, beside the entries [1].
_RIDGE = 1e-9


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


def regular_part(layer: MeshedLayer, cells: IntArray, compliance: FloatArray) -> FloatArray:
    """Return the compliance between candidates less that of a flat layer of the mean thickness.

    Entries of nodes next to each other come from a quadratic fit to entries around them.

    Parameters
    ----------
    layer : MeshedLayer
        The layer.
    cells : (C, 2) int64
        Row and column of each candidate in the grid.
    compliance : (C, C) float64
        Compliance between the candidates [m/N].
    """
    material = layer.layer
    regular = np.array(compliance, dtype=np.float64)
    kernels.subtract_flat(
        deficit_table(material.poissons_ratio),
        PER_STEP,
        strength(material.youngs_modulus, material.poissons_ratio),
        layer.points,
        layer.thickness,
        own_parts(layer),
        regular,
    )
    return _refitted(regular, cells)


def _offsets(reach: int) -> IntArray:
    steps = np.arange(-reach, reach + 1)
    return np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1).reshape(-1, 2)


def _monomials(offsets: IntArray) -> FloatArray:
    a, b = offsets.T / _FITTED
    return np.stack([np.ones(len(a)), a, b, a * a, a * b, b * b], axis=1)


def _refitted(regular: FloatArray, cells: IntArray) -> FloatArray:
    """Return the regular part (C, C) with entries next to the diagonal from fits."""
    low = cells.min(axis=0) - _FITTED
    number = np.full(np.ptp(cells, axis=0) + 2 * _FITTED + 1, -1, dtype=np.int64)
    number[tuple((cells - low).T)] = np.arange(len(cells))
    around = _offsets(_FITTED)
    far = np.abs(around).max(axis=1) > _REPLACED
    found = number[tuple(np.moveaxis(cells[:, None] - low + around, 2, 0))]
    rows = np.arange(len(cells))[:, None]
    ring = found[:, far]
    known = ring >= 0
    values = np.where(known, regular[rows, ring], 0.0)
    basis = _monomials(around[far])
    normal = np.einsum("cr,ra,rb->cab", known.astype(np.float64), basis, basis, optimize=True)
    fitted = np.linalg.solve(normal + _RIDGE * np.eye(6), (values @ basis)[:, :, None])[:, :, 0]
    inner = fitted @ _monomials(around[~far]).T
    near = found[:, ~far]
    row, place = np.nonzero(near >= 0)
    column = near[row, place]
    regular[row, column] = inner[row, place]
    # Both members of a pair have a fit.
    regular[row, column] = 0.5 * (inner[row, place] + regular[column, row])
    return np.asarray(0.5 * (regular + regular.T))
