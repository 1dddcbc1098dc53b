"""Smooth surfaces fitted to one compartment, and how well they fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_fields, check_number
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose
from foundation.fitted_surfaces.fits import Ellipsoid, Quadric, fit_ellipsoid, fit_quadric
from foundation.fitted_surfaces.nearness import Nearness, SurfacePart
from foundation.surfaces.compartments import check_labels
from foundation.surfaces.triangle_mesh import TriangleMesh


@dataclass(frozen=True, eq=False)
class FitResidual:
    """Distances of the vertices of a surface from the fitted one.

    Parameters
    ----------
    rms : float
        Root of the weighted mean of the squared distance [m].
    largest : float
        Largest distance of the vertices that bear 99 % of the weight [m].
    low, high : (3,) float64
        Corners of the box around these vertices, frame of the body [m].
    """

    rms: float
    largest: float
    low: FloatArray
    high: FloatArray

    def __post_init__(self) -> None:
        check_fields(self, low=(3,), high=(3,))

    def reaches(self, point: FloatArray, margin: float) -> bool:
        """Return whether a point (3,) [m] lies in the box, widened by a margin [m]."""
        return bool((point >= self.low - margin).all() and (point <= self.high + margin).all())

    @classmethod
    def of(cls, distances: FloatArray, part: SurfacePart) -> Self:
        """Return the residual of signed distances (N,) [m] of the vertices of a surface."""
        # The lightest vertices, 1 % of the weight together, do not count.
        order = np.argsort(part.weights)
        light = np.cumsum(part.weights[order]) < 0.01 * part.weights.sum()
        counted = order[~light]
        points = part.points[counted]
        return cls(
            float(np.sqrt(part.weights @ distances**2 / part.weights.sum())),
            float(np.abs(distances[counted]).max()),
            points.min(axis=0),
            points.max(axis=0),
        )


@dataclass(frozen=True, eq=False)
class FittedCompartment:
    """Smooth surfaces of one compartment.

    Parameters
    ----------
    femur : Ellipsoid
        Condyle, femoral frame.
    tibia : Quadric
        Plateau, tibial frame.
    femur_residual, tibia_residual : FitResidual, optional
        How well the meshes are fitted; None for surfaces that are given.
    gap_residual : float, optional
        Root of the weighted mean of the squared error of the gap between both surfaces, over
        vertices and poses [m].
    """

    femur: Ellipsoid
    tibia: Quadric
    femur_residual: FitResidual | None = None
    tibia_residual: FitResidual | None = None
    gap_residual: float | None = None


def fit_compartments(
    femur: TriangleMesh,
    tibia: TriangleMesh,
    poses: Sequence[Pose],
    *,
    compartments: ArrayLike | None = None,
    compartment_names: Sequence[str] = COMPARTMENTS,
    nearness: float = 0.2e-3,
    margin: float = 2e-3,
) -> tuple[FittedCompartment, ...]:
    """Fit an ellipsoid to each condyle and a quadric to each plateau, where they can touch.

    Parameters
    ----------
    femur, tibia : TriangleMesh
        Articular surfaces [m], femoral and tibial frame.
    poses : sequence of Pose
        Poses over the range of motion and a little beyond, within 30 mm of the height of first
        contact; the heights do not matter otherwise.
    compartments : (F,) int8, optional
        Compartment of each tibial triangle, its place in `compartment_names`; by default 0
        everywhere for one compartment, and for two compartments from
        `foundation.surfaces.compartments.find_compartments`.
    compartment_names : sequence of str
        Names of the compartments.
    nearness : float
        Gap at which the weight of a vertex has fallen to 0.61 [m]; about the deepest indentation.
    margin : float
        Distance by which each pose is also moved forwards and backwards [m]. On a plateau of nearly
        the radius of the condyle, contact moves several times as far as the femur; the fits say
        nothing where they have seen no contact.

    Returns
    -------
    tuple of FittedCompartment
        Fitted surfaces of each compartment with their residuals.

    Raises
    ------
    InputError
        If there is no pose, the femur is not above the tibia at a pose, or too few vertices come
        near.
    """
    check_number("nearness", nearness, at_least=0.05e-3, at_most=10e-3, unit="m")
    if len(poses) == 0:
        raise InputError("poses: expected at least one pose, found none")
    check_number("margin", margin, at_least=0.0, at_most=20e-3, unit="m")
    labels, names = check_labels(tibia, compartments, compartment_names)
    steps = (-margin, 0.0, margin) if margin > 0.0 else (0.0,)
    moved = [replace(pose, anterior=pose.anterior + step) for pose in poses for step in steps]
    return tuple(
        _fitted(femur, tibia, labels == side, moved, nearness) for side in range(len(names))
    )


def _fitted(
    femur: TriangleMesh,
    tibia: TriangleMesh,
    inside: NDArray[np.bool_],
    poses: Sequence[Pose],
    nearness: float,
) -> FittedCompartment:
    near = Nearness(femur, tibia, inside, poses, nearness)
    below = near.tibia()
    plateau = fit_quadric(below.points, below.weights, below.normal)
    above = near.femur(plateau)
    # A condyle that lies beyond its ellipsoid by as much as the plateau lies short of its quadric
    # leaves the gap as it is.
    condyle = fit_ellipsoid(above.points, above.weights, -above.beyond)
    away = condyle.distances(above.points)
    gap = away**2 + 2.0 * away * above.beyond + above.beyond_squared
    return FittedCompartment(
        condyle,
        plateau,
        FitResidual.of(away, above),
        FitResidual.of(plateau.distances(below.points), below),
        float(np.sqrt(above.weights @ gap / above.weights.sum())),
    )
