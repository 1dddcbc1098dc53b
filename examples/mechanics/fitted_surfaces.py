"""Hertz's law on fitted surfaces: `python examples/mechanics/fitted_surfaces.py`.

An ellipsoid is fitted to each condyle of the built-in implant and a quadratic height function to
each plateau, at the places that touch over flexion. The overlap along the common normal and the
relative curvatures there give force and peak pressure of Hertz's elliptic contact (Johnson 1985,
Contact Mechanics, ch. 4), with E* of the material or scaled to the forces of the springs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares, root

from foundation.base.pose import Pose
from foundation.contact_laws.hertz import EllipticContact, effective_modulus
from foundation.elastic_foundation.laws import LinearLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.implant.condylar_implant import CondylarImplant
from foundation.statics import pose_at_load

#: Polyethylene [Pa, 1], thickness of the insert [m], and loads of a compartment [N].
YOUNG, POISSON, THICKNESS = 463e6, 0.46, 8e-3
LOADS = (300.0, 1000.0)
FLEXIONS = np.radians(np.arange(0.0, 71.0, 10.0))
#: Weight [m] that keeps axes which the points do not determine near those of a sphere.
HOLD = 0.5e-6


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Surface (x - centre)·A (x - centre) = 1: `centre` (3,) [m], `matrix` A (3, 3) [1/m²]."""

    centre: np.ndarray
    matrix: np.ndarray

    @classmethod
    def through(cls, points: np.ndarray) -> Ellipsoid:
        """Fit points (N, 3) [m] by f/|∇f|, the distance to first order (Taubin 1991)."""
        middle = points.mean(axis=0)
        away = points - middle
        columns = np.column_stack([2.0 * away, np.ones(len(away))])
        sphere = np.linalg.lstsq(columns, (away**2).sum(axis=1), rcond=None)[0]
        radius = np.sqrt(sphere[3] + sphere[:3] @ sphere[:3])

        def shape(values: np.ndarray) -> Ellipsoid:
            factor = np.zeros((3, 3))
            factor[np.tril_indices(3)] = values[3:]
            np.fill_diagonal(factor, np.exp(np.diag(factor)))
            return cls(middle + radius * values[:3], factor @ factor.T / radius**2)

        def residuals(values: np.ndarray) -> np.ndarray:
            apart = shape(values).distances(points) / np.sqrt(len(points))
            return 1e6 * np.concatenate([apart, HOLD * values[3:]])

        start = np.concatenate([sphere[:3] / radius, np.zeros(6)])
        limit = np.repeat([10.0, 2.0], [3, 6])
        return shape(least_squares(residuals, start, bounds=(-limit, limit), x_scale="jac").x)

    def distances(self, points: np.ndarray) -> np.ndarray:
        """Return signed distances (N,) [m] of points (N, 3) [m], > 0 outside."""
        away = points - self.centre
        gradient = away @ self.matrix
        return 0.5 * ((away * gradient).sum(axis=1) - 1.0) / np.linalg.norm(gradient, axis=1)

    def moved(self, pose: Pose) -> Ellipsoid:
        """Return the ellipsoid of the femur in the tibial frame."""
        turn = pose.rotation_matrix
        return Ellipsoid(turn @ self.centre + pose.translation, turn @ self.matrix @ turn.T)


@dataclass(frozen=True, eq=False)
class Plateau:
    """Height y = c + g·u + u·H u/2 over u = (x, z): `coefficients` c; g₁, g₂; H₁₁, H₁₂, H₂₂."""

    coefficients: np.ndarray

    @classmethod
    def through(cls, points: np.ndarray) -> Plateau:
        """Fit points (N, 3) [m] of the tibial frame."""
        x, y, z = points.T
        columns = np.column_stack([np.ones(len(x)), x, z, 0.5 * x**2, x * z, 0.5 * z**2])
        return cls(np.linalg.lstsq(columns, y, rcond=None)[0])

    def at(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return point (3,) [m], tangents (2, 3) [1] and second derivatives (2, 2) [1/m]."""
        c, *rest = self.coefficients
        slope, hessian = np.array(rest[:2]), np.array([rest[2:4], rest[3:5]])
        height = c + slope @ u + 0.5 * u @ hessian @ u
        g = slope + hessian @ u
        return (
            np.array([u[0], height, u[1]]),
            np.array([[1.0, g[0], 0.0], [0.0, g[1], 1.0]]),
            hessian,
        )


@dataclass(frozen=True, eq=False)
class FittedContact:
    """Contact of one condyle with one plateau by Hertz's law."""

    condyle: Ellipsoid
    plateau: Plateau

    def meeting(self, pose: Pose) -> tuple[float, np.ndarray, tuple[float, float]]:
        """Return overlap [m], normal (3,) on the femur and relative curvatures [1/m], least first.

        The point of the ellipsoid whose normal opposes the normal n of the plateau is c - B n/s
        with B = A⁻¹ and s² = n·B n; the line between both points is the common normal where it
        is normal to both tangents.
        """
        femur = self.condyle.moved(pose)
        inverse = np.linalg.inv(femur.matrix)

        def state(u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
            point, tangents, _ = self.plateau.at(u)
            normal = np.cross(tangents[1], tangents[0])
            normal /= np.linalg.norm(normal)
            extent = float(np.sqrt(normal @ inverse @ normal))
            return tangents, femur.centre - inverse @ normal / extent - point, normal, extent

        found = root(lambda u: 1e3 * state(u)[0] @ state(u)[1], femur.centre[[0, 2]], tol=1e-12)
        tangents, between, normal, extent = state(found.x)
        steepness = np.linalg.norm(np.cross(tangents[1], tangents[0]))
        form = (
            extent * tangents @ femur.matrix @ tangents.T - self.plateau.at(found.x)[2] / steepness
        )
        least, most = np.sort(np.linalg.eigvals(np.linalg.solve(tangents @ tangents.T, form)).real)
        return -float(normal @ between), normal, (float(least), float(most))

    def loads(self, pose: Pose, modulus: float) -> tuple[float, float]:
        """Return force [N] and peak pressure [Pa] of Hertz's ellipse for E* [Pa].

        NaN where the surfaces do not touch in a point: apart, or the condyle flatter than its dish.
        """
        depth, _, (least, most) = self.meeting(pose)
        if depth <= 0.0 or least <= 0.0:
            return np.nan, np.nan
        contact = EllipticContact(1.0 / least, 1.0 / most, modulus)
        force = float(contact.force(depth))
        return force, float(contact.peak_pressure(force))


def touching(springs: ElasticFoundation, pose: Pose, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return opposite points (N, 3) [m] in contact: femoral frame, and tibial frame."""
    depth = springs.spring_state(pose).indentation
    pressed = (depth > 0.0) & (springs.compartments == side)
    tibia = springs.tibia.centroids[pressed]
    femur = tibia - depth[pressed, None] * springs.tibia.normals[pressed]
    return (femur - pose.translation) @ pose.rotation_matrix, tibia


def fit(springs: ElasticFoundation, poses: list[Pose], side: int) -> FittedContact:
    """Return the surfaces of one compartment, fitted where the springs touch at poses."""
    pairs = [touching(springs, pose, side) for pose in poses]
    femur, tibia = (np.concatenate(points) for points in zip(*pairs, strict=True))
    return FittedContact(Ellipsoid.through(femur), Plateau.through(tibia))


def main() -> dict[str, float]:
    """Compare Hertz's law with the springs it is fitted to; return the errors [%]."""
    implant = CondylarImplant()
    femur, insert, labels = implant.tessellate(2e-3)
    springs = ElasticFoundation(
        femur, insert, LinearLaw(YOUNG, POISSON, THICKNESS), compartments=labels
    )
    modulus = effective_modulus(np.inf, 0.3, YOUNG, POISSON)
    results = {}
    for side, name in enumerate(("medial", "lateral")):
        homes = [implant.home_pose(flexion) for flexion in FLEXIONS]
        poses = [pose_at_load(springs, p, name, load).pose for p in homes for load in LOADS]
        contact = fit(springs, poses, side)
        given = np.array([springs.compartment_loads(pose, name)[0] for pose in poses])
        force, pressure = np.linalg.norm(given[:, :3], axis=1), given[:, 7]
        own, peak = np.array([contact.loads(pose, modulus) for pose in poses]).T
        touch = np.isfinite(own)
        own, peak, force, pressure = own[touch], peak[touch], force[touch], pressure[touch]
        results[f"{name}, poses"] = float(touch.sum())
        print(f"{name}: the surfaces touch in a point at {touch.sum()} of {len(poses)} poses")
        factor = float(own @ force / (own @ own))
        for label, scale in (("E* of the material", 1.0), ("scaled to the springs", factor)):
            off = np.sqrt(np.mean((scale * own - force) ** 2)) / force.max()
            results[f"{name}, force, {label}"] = 100.0 * float(off)
            print(f"{name}, {label}: force off by {100.0 * off:.0f} % of the largest (RMS)")
        # The same force by an overlap of its own: Hertz's peak pressure grows with its cube root.
        off = np.sqrt(np.mean((peak * np.cbrt(force / own) / pressure - 1.0) ** 2))
        results[f"{name}, peak pressure"] = 100.0 * float(off)
        print(f"{name}: peak pressure under the force of the springs off by {100.0 * off:.0f} %")
    return results


if __name__ == "__main__":
    main()
