"""Least-squares fits of an ellipsoid and of a quadric to weighted points of a surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares, lsq_linear

from foundation.base.checks import FloatArray, check_array, check_fields
from foundation.base.errors import InputError

#: Bounds on the coefficients e and b of a quadric [1/m]: e is 1/R of a sphere, b is its skewness.
_LARGEST_CURVATURE = 1.0 / 15e-3
_LARGEST_SKEW = 10.0
#: Bounds of the centre, in radii of the fitted sphere, and of the entries of the Cholesky factor of
#: A (logarithms on the diagonal), which a surface like a cylinder would let grow without end.
_FARTHEST, _LARGEST_STRETCH = 10.0, 2.0
#: Weight that keeps undetermined shape near the sphere of the fit [m]: half a micrometre for a
#: change of an axis by its own length.
_HOLD = 0.5e-6


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Convex surface (x - centre)·A (x - centre) = 1 in the frame of the femur.

    Parameters
    ----------
    centre : (3,) float64
        Centre [m].
    matrix : (3, 3) float64
        A, symmetric and positive definite [1/m²].

    Raises
    ------
    InputError
        If an array has another shape or is not finite, or A is not positive definite.
    """

    centre: FloatArray
    matrix: FloatArray

    def __post_init__(self) -> None:
        check_fields(self, centre=(3,), matrix=(3, 3))
        if not np.allclose(self.matrix, self.matrix.T, rtol=1e-9, atol=0.0):
            raise InputError(
                "ellipsoid matrix: expected a symmetric matrix, found an asymmetric matrix"
            )
        if np.linalg.eigvalsh(self.matrix)[0] <= 0.0:
            raise InputError(
                "ellipsoid matrix: expected a positive definite matrix, found eigenvalues "
                f"{np.linalg.eigvalsh(self.matrix).tolist()} 1/m²"
            )

    @property
    def semi_axes(self) -> FloatArray:
        """Semi-axes (3,), increasing [m]."""
        return 1.0 / np.sqrt(np.linalg.eigvalsh(self.matrix)[::-1])

    def distances(self, points: ArrayLike) -> FloatArray:
        """Return signed distances (N,) [m] of points (N, 3) [m], to first order, > 0 outside."""
        away = check_array("points", points, (None, 3)) - self.centre
        gradient = away @ self.matrix
        return 0.5 * ((away * gradient).sum(axis=1) - 1.0) / np.linalg.norm(gradient, axis=1)


@dataclass(frozen=True, eq=False)
class Quadric:
    """Graph of a quadric over a plane, in a frame of its own.

    The height w over the place u satisfies w = c + g·u + u·H u/2 + w b·u + e w²/2, which covers
    ellipsoids, inside or outside, paraboloids, saddles and planes.

    Parameters
    ----------
    origin : (3,) float64
        Origin of the frame of the quadric, tibial frame [m].
    axes : (3, 3) float64
        Columns: the axes u₁, u₂ and w, tibial frame [1]; w points out of the bone.
    coefficients : (9,) float64
        c [m]; g₁, g₂ [1]; H₁₁, H₁₂, H₂₂, b₁, b₂, e [1/m].

    Raises
    ------
    InputError
        If an array has another shape or is not finite, or the axes are not orthonormal.
    """

    origin: FloatArray
    axes: FloatArray
    coefficients: FloatArray

    def __post_init__(self) -> None:
        check_fields(self, origin=(3,), axes=(3, 3), coefficients=(9,))
        if not np.allclose(self.axes.T @ self.axes, np.eye(3), rtol=0.0, atol=1e-9):
            raise InputError(
                "quadric axes: expected orthonormal columns, found columns that are not orthonormal"
            )

    def distances(self, points: ArrayLike) -> FloatArray:
        """Return signed distances (N,) [m] of points (N, 3) [m], to first order, > 0 outside."""
        value, gradient = self._value_and_gradient(check_array("points", points, (None, 3)))
        return value / np.linalg.norm(gradient, axis=1)

    def normals_and_curvatures(self, points: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return outward normals (N, 3) [1] and curvatures (N, 3, 3) [1/m] at points (N, 3) [m].

        In the tibial frame; a curvature is positive where the surface is convex and has no
        component along the normal.
        """
        _, gradient = self._value_and_gradient(check_array("points", points, (None, 3)))
        steepness = np.linalg.norm(gradient, axis=1)
        normals = gradient / steepness[:, None]
        _, _, _, h11, h12, h22, b1, b2, e = self.coefficients
        hessian = np.array([[h11, h12, b1], [h12, h22, b2], [b1, b2, e]])
        flat = self.axes - normals[:, :, None] * (normals @ self.axes)[:, None, :]
        curvatures = -flat @ hessian @ flat.transpose(0, 2, 1)
        return normals, curvatures / steepness[:, None, None]

    def _value_and_gradient(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f (N,) [m] and its gradient (N, 3) [1], tibial frame, f = 0 on the surface."""
        c, g1, g2, h11, h12, h22, b1, b2, e = self.coefficients
        x, y, w = ((points - self.origin) @ self.axes).T
        slope_x, slope_y = g1 + h11 * x + h12 * y, g2 + h12 * x + h22 * y
        flat = c + 0.5 * ((g1 + slope_x) * x + (g2 + slope_y) * y)
        rise = 1.0 - b1 * x - b2 * y
        value = w * (rise - 0.5 * e * w) - flat
        gradient = np.column_stack([-slope_x - w * b1, -slope_y - w * b2, rise - e * w])
        return value, gradient @ self.axes.T


def fit_ellipsoid(
    points: ArrayLike,
    weights: ArrayLike,
    targets: ArrayLike | None = None,
) -> Ellipsoid:
    """Return the ellipsoid of least weighted squared distance from points.

    The distance is that to first order, f/|∇f| (Taubin 1991, IEEE Trans Pattern Anal Mach Intell
    13:1115-1138). A penalty far below the accuracy of a mesh keeps the axes that the points do not
    determine near those of the fitted sphere.

    Parameters
    ----------
    points : (N, 3) float64
        Points on a convex surface [m], N >= 9.
    weights : (N,) float64
        Weights, >= 0 [any unit].
    targets : (N,) float64, optional
        Wanted signed distances of the points from the ellipsoid [m]; by default 0.

    Raises
    ------
    InputError
        If the points are too few or lie in a plane.
    """
    at, root = _checked(points, weights)
    wanted = np.zeros(len(at)) if targets is None else check_array("targets", targets, (len(at),))
    middle = root**2 @ at
    columns = np.column_stack([2.0 * (at - middle), np.ones(len(at))]) * root[:, None]
    target = ((at - middle) ** 2).sum(axis=1) * root
    found = np.linalg.lstsq(columns, target, rcond=None)[0]
    squared = found[3] + found[:3] @ found[:3]
    if not 0.0 < squared < 1.0:
        raise InputError(
            "points: expected points of a curved surface to fit an ellipsoid, found a sphere of "
            f"squared radius {squared:g} m²"
        )
    radius = float(np.sqrt(squared))
    rows, cols = np.tril_indices(3)

    def shape_of(values: FloatArray) -> Ellipsoid:
        lower = np.zeros((3, 3))
        lower[rows, cols] = values[3:]
        np.fill_diagonal(lower, np.exp(np.diag(lower)))
        return Ellipsoid(middle + radius * values[:3], lower @ lower.T / radius**2)

    start = np.concatenate([found[:3] / radius, np.zeros(6)])

    def residuals(values: FloatArray) -> FloatArray:
        away = shape_of(values).distances(at) - wanted
        # In micrometres, so that the solver's tolerances mean little.
        return 1e6 * np.concatenate([away * root, _HOLD * values[3:]])

    limit = np.repeat([_FARTHEST, _LARGEST_STRETCH], [3, 6])
    solved = least_squares(
        residuals, start, bounds=(-limit, limit), x_scale="jac", xtol=1e-12, ftol=1e-12
    )
    return shape_of(solved.x)


def fit_quadric(points: ArrayLike, weights: ArrayLike, normal: ArrayLike) -> Quadric:
    """Return the quadric of least weighted squared height over points.

    The equation is linear in the coefficients. The plane of the graph is normal to `normal`,
    through the weighted mean of the points; e is at most 1/(15 mm) and b at most 1/(100 mm), since
    nearly plane points do not determine e, and b would follow the rise to the eminence.

    Parameters
    ----------
    points : (N, 3) float64
        Points on a surface [m], N >= 9.
    weights : (N,) float64
        Weights, >= 0 [any unit].
    normal : (3,) float64
        Outward direction, about the mean normal [1].

    Raises
    ------
    InputError
        If the points are too few.
    """
    at, root = _checked(points, weights)
    axes = _frame(check_array("normal", normal, (3,)))
    middle = root**2 @ at
    x, y, w = ((at - middle) @ axes).T
    columns = np.column_stack(
        [np.ones(len(x)), x, y, 0.5 * x**2, x * y, 0.5 * y**2, x * w, y * w, 0.5 * w**2]
    )
    # Lengths in the size of the region, so that the solver meets numbers near 1.
    size = float(np.sqrt(root**2 @ (x**2 + y**2)))
    scale = np.array([size, 1.0, 1.0, *[1.0 / size] * 6])
    limit = np.full(9, np.inf)
    limit[6:] = size * np.array([_LARGEST_SKEW, _LARGEST_SKEW, _LARGEST_CURVATURE])
    found = lsq_linear(
        columns * root[:, None] * (scale / size), root * w / size, (-limit, limit), method="bvls"
    )
    return Quadric(middle, axes, found.x * scale)


def _checked(points: ArrayLike, weights: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return points and the roots of weights that sum to 1."""
    at = check_array("points", points, (None, 3))
    given = check_array("weights", weights, (len(at),), at_least=0.0)
    if np.count_nonzero(given) < 9:
        raise InputError(
            f"points: expected at least 9 points of positive weight, found "
            f"{np.count_nonzero(given)}; use a finer mesh, more poses or a larger nearness"
        )
    return at, np.sqrt(given / given.sum())


def _frame(normal: FloatArray) -> FloatArray:
    """Return a right-handed frame (3, 3) with the third column along a vector."""
    w = normal / np.linalg.norm(normal)
    first = np.cross(w, [0.0, 0.0, 1.0] if abs(w[2]) < 0.9 else [1.0, 0.0, 0.0])
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(w, first), w])
