"""Knees that nobody has seen: smooth morphs of the two real ones, as their owners would give them.

Sizes, slopes, varus, proportions, radii of the condyles,
depths of the plateaus, sides, axes, origins, units and formats differ. Nothing of the real meshes
goes into this repository.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.originals.reference_path import plateau_starts
from tests.oracles.knees import load_knee

#: Knees that are tested.
COUNT = 20
MATERIALS = {"lenhart": "cartilage", "grand challenge": "polyethylene"}
_UNITS = {"mm": 1e3, "m": 1.0, "cm": 1e2}
#: Standard deviation [m] and length [m] of random warps of both bodies together, and of each alone.
_TOGETHER, _ALONE = (0.8e-3, 30e-3), (0.15e-3, 25e-3)
_WAVES = 12
#: How the bodies lie in their files.
PLACES = ("one scan", "one scan, turned", "body frames", "body frames, shifted", "unrelated")


class MorphedKnee(NamedTuple):
    """A morphed knee: femur and tibia in the frames of their files [unit], and what is known."""

    femur: TriangleMesh
    tibia: TriangleMesh
    known: dict[str, Any]


def morphed_knee(seed):
    """Return a knee that a seed determines."""
    rng = np.random.default_rng(seed)
    base = tuple(MATERIALS)[seed % 2]
    real = load_knee(base)
    if real is None:
        raise FileNotFoundError("the real knees are missing: set KNEE_DATA")
    femur, tibia = _morphed(*real, rng)
    side = ("right", "left")[int(rng.integers(2))]
    if side == "left":
        femur, tibia = femur.mirrored(), tibia.mirrored()
    place = PLACES[seed // 2 % len(PLACES)]
    moves = _moves(place, rng)
    unit = str(rng.choice(tuple(_UNITS)))
    files = [
        TriangleMesh(_UNITS[unit] * move(np.asarray(mesh.vertices)), mesh.faces, mesh.name)
        for mesh, move in zip((femur, tibia), moves, strict=True)
    ]
    ends = [move(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])) for move in moves]
    known = {
        "seed": seed,
        "base": base,
        "material": MATERIALS[base],
        "side": side,
        "place": place,
        "unit": unit,
        "anterior": [(end[1] - end[0]).round(6).tolist() for end in ends],
    }
    return MorphedKnee(*files, known)


def _morphed(femur, tibia, rng):
    """Return a right knee of another size and shape, its femur placed on the tibia."""
    start = plateau_starts(femur, tibia, 0.0)
    above = start[len(start) // 2].array[3:]
    size = rng.uniform(0.85, 1.15) * np.array([1.0, 1.0, rng.uniform(0.94, 1.06)])
    warp = smooth_warp(rng, *_TOGETHER)
    depth, radii = rng.uniform(0.75, 1.3), rng.uniform(-0.04, 0.04, 2)
    lean = Rotation.from_euler("xz", rng.uniform(-1.0, 1.0, 2) * [3.0, 5.0], degrees=True)
    upper = np.asarray(femur.vertices)
    lateral = 0.5 + 0.5 * np.tanh(upper[:, 2] / 10e-3)
    upper = upper * (1.0 + radii[0] + (radii[1] - radii[0]) * lateral)[:, None] ** [1, 1, 0]
    lower = np.asarray(tibia.vertices)
    middle = np.median(lower, axis=0)
    lower = middle + (lower - middle) * [1.0, depth, 1.0] @ lean.as_matrix().T
    placed = []
    for mesh, points in ((femur, upper + above), (tibia, lower)):
        points = size * points
        points = points + warp(points)
        points = points + smooth_warp(rng, *_ALONE)(points)
        placed.append(TriangleMesh(points - [0.0, above[1], 0.0], mesh.faces, mesh.name))
    return placed[0], placed[1]


def smooth_warp(rng, deviation, length):
    """Return a smooth random field of displacements of points (V, 3) [m]: few waves.

    `deviation` is the standard deviation of each component [m], `length` the length over which the
    displacement changes [m].
    """
    waves = rng.normal(size=(_WAVES, 3)) / length
    phases = rng.uniform(0.0, 2.0 * np.pi, _WAVES)
    arms = rng.normal(size=(_WAVES, 3)) * deviation * np.sqrt(2.0 / _WAVES)
    return lambda points: np.cos(points @ waves.T + phases) @ arms


def _moves(place, rng):
    """Return how femur and tibia come from the joint into the frames of their files."""

    def move(turn, shift):
        return lambda points: points @ turn.T + shift

    axes = _proper_permutation(rng)
    far = rng.uniform(-90e-3, 90e-3, 3)
    if place.startswith("one scan"):
        turn = Rotation.from_rotvec(rng.normal(size=3) * 0.25).as_matrix() @ axes
        both = move(turn if place.endswith("turned") else axes, far)
        return [both, both]
    if place == "unrelated":
        turns = Rotation.random(2, random_state=rng).as_matrix()
        return [move(turn, rng.uniform(-90e-3, 90e-3, 3)) for turn in turns]
    apart = 50e-3 if place.endswith("shifted") else 0.0
    return [move(axes, apart * rng.normal(size=3)) for _ in range(2)]


def _proper_permutation(rng):
    """Return a rotation that exchanges axes, (3, 3) [1]."""
    while True:
        matrix = np.eye(3)[rng.permutation(3)] * rng.choice([-1.0, 1.0], 3)
        if np.linalg.det(matrix) > 0.0:
            return matrix
