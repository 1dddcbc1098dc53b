"""The coarse outline of a condyle's surface, and how far the surface departs from it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.core.library import CONSTANTS
from surrogates.fields.condyle_surface import ORDER, spline_derivatives, spline_values

#: Spacing of the outline [m]: about the size of a block of triangles.
_SPACING = 2.4e-3
#: Distance that the surface may add between the points at which the departure is measured [m].
_BETWEEN = 5e-6
#: Relative size of singular values that count as zero.
_RANK = 1e-8


class Outline(NamedTuple):
    """Bicubic spline on a coarser grid than the surface, to skip triangles out of reach."""

    frame: FloatArray
    coefficients: FloatArray
    known: NDArray[np.bool_]
    #: (I - 3, J - 3, 4): largest distance of the surface from the outline [m], and half the largest
    #: second derivative of its height over a place [1/m], within the reach of a group of places;
    #: the same of a block. In a cell that is not known, the distance is 1 within the reach of known
    #: cells and -1 elsewhere.
    limits: FloatArray


def outline_of(
    frame: FloatArray,
    coefficients: FloatArray,
    known: NDArray[np.bool_],
    sizes: tuple[float, float],
) -> Outline:
    """Return the outline for groups and blocks of places of `sizes`, (9,), (G, H) [m]."""
    ratio = max(1, round(_SPACING / frame[8]))
    coarse_frame = np.array(frame)
    coarse_frame[8] *= ratio
    shape = [-(-n // ratio) for n in known.shape]
    pairs = list(zip(known.shape, shape, strict=True))
    fine = [_at_half_cells(n, 1.0, n)[0] for n in known.shape]
    along, across = (_at_half_cells(n, 1.0 / ratio, size) for n, size in pairs)
    values = fine[0] @ coefficients @ fine[1].T
    inverse = [np.linalg.pinv(each[0], rcond=_RANK) for each in (along, across)]
    found = inverse[0] @ values @ inverse[1].T
    touched = _around_cells(known)
    t = frame[6] + 0.5 * frame[8] * np.arange(len(values))
    away = np.where(touched, np.abs(values - along[0] @ found @ across[0].T), 0.0)
    bend = np.where(touched, _bends(found, coarse_frame, t, along, across), 0.0)
    places = [np.minimum(np.arange(2 * n + 1) // (2 * ratio), size - 1) for n, size in pairs]
    cells = tuple(np.meshgrid(*places, indexing="ij"))
    maxima = np.zeros((3, *shape))
    for largest, each in zip(maxima, (away, bend, touched.astype(np.float64)), strict=True):
        np.maximum.at(largest, cells, each)
    return _with_margin(coarse_frame, found, maxima, sizes)


def _with_margin(
    frame: FloatArray, coefficients: FloatArray, maxima: FloatArray, sizes: tuple[float, float]
) -> Outline:
    """Return the outline of cells (3, I - 3, J - 3) with a margin as wide as a block's reach."""
    reaches = [int(CONSTANTS["STRETCH"] * size / frame[8]) + 1 for size in sizes]
    margin = max(reaches)
    wider = np.array(frame)
    wider[6:8] -= margin * frame[8]
    away, bend, known = (np.pad(each, margin) for each in maxima)
    limits = []
    for reach in reaches:
        near = np.where(_widened(known, reach) > 0.0, 1.0, -1.0)
        slack = np.where(known > 0.0, _widened(away, reach) + _BETWEEN, near)
        limits += [slack, _widened(bend, reach)]
    return Outline(
        wider, np.pad(coefficients, margin), known > 0.0, np.ascontiguousarray(np.dstack(limits))
    )


def _at_half_cells(cells: int, step: float, size: int) -> tuple[FloatArray, ...]:
    """Return values, first and second derivatives of splines at half cells, (2 cells + 1, k)."""
    places = 0.5 * step * np.arange(2 * cells + 1, dtype=np.float64)
    first, values = spline_values(places, size + ORDER - 1)
    rows, columns = np.arange(len(first))[:, None], first[:, None] + np.arange(ORDER)
    found = []
    for each in (values, *spline_derivatives(places, size + ORDER - 1)):
        matrix = np.zeros((len(first), size + ORDER - 1))
        matrix[rows, columns] = each
        found.append(matrix)
    return tuple(found)


def _around_cells(known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which half cells (2 g + 1, 2 h + 1) are in or at a known cell (g, h)."""
    found = np.zeros([2 * n + 1 for n in known.shape], dtype=np.bool_)
    for i in range(3):
        for j in range(3):
            found[i : i + 2 * len(known) : 2, j : j + 2 * known.shape[1] : 2] |= known
    return found


def _bends(
    coefficients: FloatArray,
    frame: FloatArray,
    t: FloatArray,
    along: tuple[FloatArray, ...],
    across: tuple[FloatArray, ...],
) -> FloatArray:
    """Return half the largest second derivative of the height rho_s(t, z) - rho, or 0 [1/m]."""
    # Eigenvalues along the radius, the arc s and z, with dt / ds = (R / rho) (1 + (t / 2 R)²); a
    # convex condyle falls below all its tangent planes.
    radius, spacing = frame[5], frame[8]
    value, by_t, by_tt = (each @ coefficients @ across[0].T for each in along)
    by_zz = along[0] @ coefficients @ across[2].T / spacing**2
    by_tz = along[1] @ coefficients @ across[1].T / spacing**2
    by_t, by_tt = by_t / spacing, by_tt / spacing**2
    q = (t / (2.0 * radius))[:, None]
    rho = np.maximum(radius + value, 0.2 * radius)
    rate = radius / rho * (1.0 + q**2)
    slope = by_t * rate
    around = by_tt * rate**2 + by_t * rate * q / rho - 1.0 / rho
    zero = np.zeros_like(value)
    tilt, twist = -slope / rho, by_tz * rate
    rows = [[zero, tilt, zero], [tilt, around, twist], [zero, twist, by_zz]]
    matrices = np.moveaxis(np.array(rows), (0, 1), (-2, -1))
    return np.asarray(0.5 * np.maximum(np.linalg.eigvalsh(matrices)[..., -1], 0.0))


def _widened(values: FloatArray, reach: int) -> FloatArray:
    """Return the largest values within a reach of cells."""
    for axis in range(2):
        padded = np.pad(values, [(reach, reach) if k == axis else (0, 0) for k in range(2)])
        count = values.shape[axis]
        shifts = [np.take(padded, np.arange(k, k + count), axis) for k in range(2 * reach + 1)]
        values = np.max(shifts, axis=0)
    return values
