"""Outlines of the built-in implant of a design, for pictures: sagittal and coronal sections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from foundation.implant.condylar_implant import CondylarImplant
from pipeline.config.schema import Config
from pipeline.originals.knee_surfaces import build_implant

#: Points of an outline.
_POINTS = 25


class Outline(NamedTuple):
    """Femur and insert in a section, as paths of SVG [mm], and their extent.

    `box` is least x and y, and largest x and y [mm], y down.
    """

    femur: str
    insert: str
    box: tuple[float, float, float, float]


class Profile(NamedTuple):
    """Outlines of a design in two sections, in extension.

    `sagittal` is the middle plane of the medial compartment, anterior to the right; `coronal` the
    planes of the lowest points, from the front, so that the lateral side of a right knee is to the
    left.
    """

    sagittal: Outline
    coronal: Outline

    @property
    def paths(self) -> dict[str, list[str]]:
        """Paths of femur and insert by the name of the section."""
        return {name: [each.femur, each.insert] for name, each in self._asdict().items()}


def profile(config: Config) -> Profile | None:
    """Return the outlines of the implant of a design, None for meshes."""
    if config.knee.source != "builtin":
        return None
    try:
        implant = build_implant(config.knee.implant)
        pose = implant.home_pose()
    except InputError:
        return None
    return Profile(_sagittal(implant, pose), _coronal(implant, pose))


def joint_boxes(profiles: Sequence[Profile | None]) -> dict[str, list[float]] | None:
    """Return the extent of all profiles by the name of the section [mm], None without profiles."""
    known = [each for each in profiles if each is not None]
    if not known:
        return None
    found = {}
    for name in Profile._fields:
        boxes = np.array([getattr(each, name).box for each in known])
        found[name] = [*boxes[:, :2].min(axis=0).tolist(), *boxes[:, 2:].max(axis=0).tolist()]
    return found


def _sagittal(implant: CondylarImplant, pose: Pose) -> Outline:
    condyle, dish = implant.medial, implant.medial_dish
    zeros = np.zeros(_POINTS)
    along = np.linspace(condyle.limits[0], condyle.limits[-1], _POINTS)
    femur, _ = implant.femur_surface("medial", along, zeros)
    along = np.linspace(dish.limits[0], dish.limits[1], _POINTS)
    insert, _ = implant.insert_surface("medial", along, zeros)
    return _outline([_placed(femur, pose)[:, :2]], [insert[:, :2]])


def _coronal(implant: CondylarImplant, pose: Pose) -> Outline:
    shapes = {
        "medial": (implant.medial, implant.medial_dish),
        "lateral": (implant.lateral, implant.lateral_dish),
    }
    femur, insert, zeros = [], [], np.zeros(_POINTS)
    for side, (condyle, dish) in shapes.items():
        across = np.linspace(-condyle.half_angle, condyle.half_angle, _POINTS)
        points, _ = implant.femur_surface(side, zeros, across)
        femur.append(_placed(points, pose)[:, [2, 1]] * (-1.0, 1.0))
        across = np.linspace(-dish.half_angle, dish.half_angle, _POINTS)
        points, _ = implant.insert_surface(side, zeros, across)
        insert.append(points[:, [2, 1]] * (-1.0, 1.0))
    return _outline(femur, insert)


def _placed(points: FloatArray, pose: Pose) -> FloatArray:
    """Return points (N, 3) [m] of the femoral frame in the tibial frame."""
    return np.asarray(points @ pose.rotation_matrix.T + pose.translation)


def _outline(femur: Sequence[FloatArray], insert: Sequence[FloatArray]) -> Outline:
    """Return the outline of surfaces (N, 2) [m], y up; the insert down to its underside, y = 0."""
    blocks = [np.concatenate([each, each[[-1, 0]] * (1.0, 0.0)]) for each in insert]
    points = 1e3 * np.concatenate([*femur, *blocks]) * (1.0, -1.0)
    (left, top), (right, foot) = points.min(axis=0), points.max(axis=0)
    box = float(left), float(top), float(right), float(foot)
    closed = "".join(f"{_path(block)}Z" for block in blocks)
    return Outline("".join(map(_path, femur)), closed, box)


def _path(points: FloatArray) -> str:
    """Return points (N, 2) [m], y up, as a path of SVG [mm]."""
    x, y = 1e3 * points[:, 0], -1e3 * points[:, 1]
    return "M" + "L".join(f"{a:.2f} {b:.2f}" for a, b in zip(x, y, strict=True))
