"""The femoral condyle that pressed a tibial surface, as a smooth surface (docs/theory.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_fields, check_number, frozen
from foundation.base.errors import InputError
from foundation.core.library import CONSTANTS
from surrogates.core.regressor_data import StoredArrays

#: Degree of the splines plus 1: grid values that each spline spans.
ORDER = 4


def spline_values(s: FloatArray, count: int) -> tuple[NDArray[np.int64], FloatArray]:
    """Return first splines (N,) and values (N, 4) [1] of cubic B-splines at s (N,) spacings [1]."""
    first, u, v = _in_cells(s, count)
    inner = [(3.0 * w**3 - 6.0 * w**2 + 4.0) / 6.0 for w in (u, v)]
    return first, np.column_stack([v**3 / 6.0, *inner, u**3 / 6.0])


def spline_derivatives(s: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return first and second derivatives (N, 4) [1] of the splines of `spline_values`."""
    _, u, v = _in_cells(s, count)
    slopes = [-0.5 * v * v, (1.5 * u - 2.0) * u, (2.0 - 1.5 * v) * v, 0.5 * u * u]
    return np.column_stack(slopes), np.column_stack([v, 3.0 * u - 2.0, 3.0 * v - 2.0, u])


def _in_cells(s: FloatArray, count: int) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
    first = np.clip(np.floor(s).astype(np.int64), 0, count - ORDER)
    return first, s - first, 1.0 - (s - first)


#: Robust fits after the first. A point has no weight beyond this many standard deviations, and this
#: distance [m]: roughness that the grid does not resolve counts, single foreign points do not.
_ROUNDS, _TUNING, _ALLOWED = 1, 30.0, 5e-6
#: Weight of the squared third differences of the coefficients beside the squared residuals.
_SMOOTHING = 1e-3
#: Cells beside the points in which the surface still is known.
_BESIDE = 1
_LARGEST_GRID = 250_000


@dataclass(frozen=True, eq=False)
class CondyleSurface(StoredArrays):
    """Distance of a condyle's surface from an axis along the femoral z, as a bicubic B-spline."""

    #: Centre (3,) in the femoral frame [m], the direction of theta = 0 (2,) in the femoral x-y
    #: plane [1], the radius R, first t and first z of the grid, and its spacing [m]: (9,).
    frame: FloatArray
    #: Of rho - R (G, H) [m], by t = 2 R tan(theta / 2) and z.
    coefficients: FloatArray
    #: Grid cells (G - 3, H - 3) in which the surface is known; elsewhere there is no contact.
    known: NDArray[np.bool_]

    def __post_init__(self) -> None:
        check_fields(self, "surface ", frame=(9,), coefficients=(None, None))
        check_number("surface radius", float(self.frame[5]), above=0.0, unit="m")
        check_number("surface spacing", float(self.frame[8]), above=0.0, unit="m")
        length = float(np.hypot(*self.frame[3:5]))
        if abs(length - 1.0) > 1e-6:
            raise InputError(f"surface direction: expected length 1, found {length:g}")
        if min(self.coefficients.shape) < ORDER:
            raise InputError(
                f"surface coefficients: expected at least {ORDER} along both axes, found "
                f"{self.coefficients.shape}"
            )
        cells = np.asarray(self.known)
        wanted = tuple(n - ORDER + 1 for n in self.coefficients.shape)
        if cells.shape != wanted or not np.isin(cells, (0, 1)).all():
            raise InputError(f"surface known: expected {wanted} of 0 and 1, found {cells.shape}")
        object.__setattr__(self, "known", frozen(np.array(cells, dtype=np.bool_)))

    @classmethod
    def fit(cls, points: ArrayLike, spacing: float) -> tuple[Self, FloatArray]:
        """Return the surface that fits points (N, 3), and rho of these less its own (N,) [m]."""
        # P-splines (Eilers & Marx 1996, Stat Sci 11:89-121), reweighted by Tukey's biweight, so
        # that single points beside the condyle do not count. The surface is known in the cells with
        # points and beside them.
        places = check_array("points", points, (None, 3))
        if len(places) < ORDER**2:
            raise InputError(f"points: expected at least {ORDER**2}, found {len(places)}")
        frame = np.zeros(9)
        frame[:6] = _cylinder(places)
        t, z, rho = cylinder_coordinates(places, frame)
        low = np.array([t.min(), z.min()]) - _BESIDE * spacing
        high = np.array([t.max(), z.max()]) + _BESIDE * spacing
        shape = np.ceil((high - low) / spacing).astype(int) + ORDER - 1
        if shape.prod() > _LARGEST_GRID:
            raise InputError(
                f"spacing: {spacing:g} m gives a grid of {shape.prod()} values, more than "
                f"{_LARGEST_GRID}; use a larger spacing"
            )
        frame[6:] = (*low, spacing)
        coefficients, residuals = _fitted(t, z, rho - frame[5], frame, shape)
        return cls(frame, coefficients.reshape(shape), _known(t, z, frame, shape)), residuals


def cylinder_coordinates(
    points: FloatArray, frame: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return t, z and rho (N,) [m] of points (N, 3) [m] in a frame as of `CondyleSurface`."""
    arms = points - frame[:3]
    forward = arms[:, :2] @ frame[3:5]
    aside = arms[:, 1] * frame[3] - arms[:, 0] * frame[4]
    rho = np.hypot(forward, aside)
    return 2.0 * frame[5] * aside / (rho + forward), arms[:, 2], rho


def _cylinder(points: FloatArray) -> FloatArray:
    """Return centre (3,), direction (2,) and radius of the cylinder along z nearest to points."""
    x, y, z = points.T
    # |(x, y)|² = 2 x cx + 2 y cy + R² - |c|² (Kåsa 1976, IEEE Trans Instrum Meas 25:8-14)
    terms = np.column_stack([2.0 * x, 2.0 * y, np.ones(len(x))])
    (cx, cy, constant), *_ = np.linalg.lstsq(terms, x**2 + y**2, rcond=None)
    arms = points[:, :2] - (cx, cy)
    direction = (arms / np.linalg.norm(arms, axis=1, keepdims=True)).mean(axis=0)
    direction /= np.linalg.norm(direction)
    return np.array([cx, cy, z.mean(), *direction, np.sqrt(constant + cx**2 + cy**2)])


def _fitted(
    t: FloatArray, z: FloatArray, values: FloatArray, frame: FloatArray, shape: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray]:
    """Return the coefficients (G H,) and the residuals (N,) of the robust fit."""
    from scipy.sparse import diags_array, eye_array, kron  # not needed by a trained surrogate
    from scipy.sparse.linalg import splu

    design = _design(t, z, frame, shape)
    bends = [
        diags_array([-1.0, 3.0, -3.0, 1.0], offsets=[0, 1, 2, 3], shape=(n - 3, n))
        for n in shape.tolist()
    ]
    first, second = (bend.T @ bend for bend in bends)
    penalty = kron(first, eye_array(shape[1])) + kron(eye_array(shape[0]), second)
    weight = np.ones(len(values))
    for _ in range(_ROUNDS + 1):
        weighted = design.T.multiply(weight[None, :])
        matrix = (weighted @ design + _SMOOTHING * penalty).tocsc()
        coefficients = splu(matrix).solve(np.asarray(weighted @ values))
        residuals = values - design @ coefficients
        limit = _TUNING * 1.4826 * np.median(np.abs(residuals)) + _ALLOWED
        weight = np.maximum(1.0 - (residuals / limit) ** 2, 0.0) ** 2
    return coefficients, residuals


def _known(
    t: FloatArray, z: FloatArray, frame: FloatArray, shape: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return the cells (G - 3, H - 3) with places (N,) in them or in a neighbour."""
    from scipy.ndimage import binary_dilation  # not needed by a trained surrogate

    cells = np.zeros(shape - ORDER + 1, dtype=np.bool_)
    cells[tuple(_cells(t, z, frame, shape))] = True
    return np.asarray(binary_dilation(cells, np.ones((3, 3), dtype=np.bool_), iterations=_BESIDE))


def _cells(
    t: FloatArray, z: FloatArray, frame: FloatArray, shape: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the cell (2, N) of each place."""
    cells = np.floor((np.array([t, z]) - frame[6:8, None]) / frame[8]).astype(np.int64)
    return np.clip(cells, 0, (shape - ORDER)[:, None])


def _design(t: FloatArray, z: FloatArray, frame: FloatArray, shape: NDArray[np.int64]) -> Any:
    """Return the sparse matrix (N, G H) of the splines at places (N,)."""
    from scipy.sparse import csr_array

    (first, by_t), (second, by_z) = (
        spline_values((x - start) / frame[8], count)
        for x, start, count in zip((t, z), frame[6:8], shape.tolist(), strict=True)
    )
    place = np.arange(ORDER)
    columns = (first[:, None] + place)[:, :, None] * shape[1] + (second[:, None] + place)[:, None]
    content = (by_t[:, :, None] * by_z[:, None, :]).reshape(len(t), -1)
    rows = np.arange(0, content.size + 1, ORDER**2)
    size = (len(t), int(shape.prod()))
    return csr_array((content.ravel(), columns.reshape(len(t), -1).ravel(), rows), shape=size)


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
    inverse = [np.linalg.pinv(splines[0], rcond=_RANK) for splines in (along, across)]
    coarse = inverse[0] @ values @ inverse[1].T
    touched = _around_cells(known)
    t = frame[6] + 0.5 * frame[8] * np.arange(len(values))
    away = np.where(touched, np.abs(values - along[0] @ coarse @ across[0].T), 0.0)
    bend = np.where(touched, _bends(coarse, coarse_frame, t, along, across), 0.0)
    places = [np.minimum(np.arange(2 * n + 1) // (2 * ratio), size - 1) for n, size in pairs]
    cells = tuple(np.meshgrid(*places, indexing="ij"))
    maxima = np.zeros((3, *shape))
    for largest, quantity in zip(maxima, (away, bend, touched.astype(np.float64)), strict=True):
        np.maximum.at(largest, cells, quantity)
    return _with_margin(coarse_frame, coarse, maxima, sizes)


def _with_margin(
    frame: FloatArray, coefficients: FloatArray, maxima: FloatArray, sizes: tuple[float, float]
) -> Outline:
    """Return the outline of cells (3, I - 3, J - 3) with a margin as wide as a block's reach."""
    reaches = [int(CONSTANTS["STRETCH"] * size / frame[8]) + 1 for size in sizes]
    margin = max(reaches)
    wider = np.array(frame)
    wider[6:8] -= margin * frame[8]
    away, bend, known = (np.pad(maximum, margin) for maximum in maxima)
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
    matrices = []
    for derivative in (values, *spline_derivatives(places, size + ORDER - 1)):
        matrix = np.zeros((len(first), size + ORDER - 1))
        matrix[rows, columns] = derivative
        matrices.append(matrix)
    return tuple(matrices)


def _around_cells(known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which half cells (2 g + 1, 2 h + 1) are in or at a known cell (g, h)."""
    around = np.zeros([2 * n + 1 for n in known.shape], dtype=np.bool_)
    for i in range(3):
        for j in range(3):
            around[i : i + 2 * len(known) : 2, j : j + 2 * known.shape[1] : 2] |= known
    return around


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
    value, by_t, by_tt = (matrix @ coefficients @ across[0].T for matrix in along)
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
