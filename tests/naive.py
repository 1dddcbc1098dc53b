"""Obvious, slow twins of the library in C."""

import numpy as np
from scipy.optimize import brentq


def confined_modulus(young, poisson):
    return (1 - poisson) * young / ((1 + poisson) * (1 - 2 * poisson))


def ray_depths(origins, directions, triangles, reach):
    """Nearest distances (S,) at which rays leave through triangles (T, 3, 3), or 0.

    A point of a triangle's plane is inside where it is left of all three edges.
    """
    depths = np.zeros(len(origins))
    for a, b, c in triangles:
        normal = np.cross(b - a, c - a)
        along = directions @ normal
        leaving = np.where(along > 0.0, along, np.nan)
        distance = (a - origins) @ normal / leaving
        points = origins + distance[:, None] * directions
        inside = (distance > 0.0) & (distance < reach)
        for p, q in ((a, b), (b, c), (c, a)):
            inside &= np.cross(q - p, points - p) @ normal >= 0.0
        nearer = inside & ((depths == 0.0) | (distance < depths))
        depths[nearer] = distance[nearer]
    return depths


def contact(femur, tibia, pose, pressure, reach=20e-3):
    """Wrench (6,), area and peak pressure; `pressure` maps depths (F,) to pressures (F,)."""
    placed = femur.vertices @ pose.rotation_matrix.T + pose.translation
    triangles = placed[femur.faces]
    depths = ray_depths(tibia.centroids, -tibia.normals, triangles, reach)
    pressures = pressure(depths)
    forces = (pressures * tibia.areas)[:, None] * tibia.normals
    moment = np.cross(tibia.centroids, forces).sum(axis=0)
    wrench = np.concatenate([forces.sum(axis=0), moment])
    return wrench, tibia.areas[pressures > 0].sum(), pressures.max()


def series_pressure(indentation, laws):
    """Pressure at which the layers' indentations, each law(p)'s inverse by root, add up."""
    if indentation <= 0.0:
        return 0.0

    def layer(pressure, law):
        top = indentation
        if law(top) <= pressure:
            return top
        return brentq(lambda d: law(d) - pressure, 0.0, top, xtol=1e-18, rtol=1e-14)

    high = min(law(indentation) for law in laws)
    return brentq(lambda p: sum(layer(p, law) for law in laws) - indentation, 0.0, high, rtol=1e-13)
